"""Local sockets: a port on loopback for servers, and Unix sockets in a private folder of the person for hooks.

A process that has a workspace open listens on its own socket, in a folder that only the person may enter. Another
program of the person asks there and need not open the workspace itself. There is one message each way: its length in
four bytes, then JSON. Both sides check that the other runs as the same user.
"""

import hashlib
import json
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from promptuary.workspace.user_folders import make_folder, runtime_folder

MAX_BYTES: Final = 1 << 20
"""The most bytes of a message."""

_CONNECT_SECONDS: Final = 0.25
_SUFFIX: Final = ".sock"
_MAX_PATH: Final = 100
"""Bytes: the address of a socket has room for some 104."""
_LENGTH: Final = struct.Struct(">I")


def listening_port(port: int, host: str = "127.0.0.1", *, backlog: int = 128) -> socket.socket:
    """Return a socket that listens on an address; port 0 means any that is free. Raises ``OSError`` if it is taken."""
    # The protocol is explicit: only then does an event loop send small answers at once, not after 40 ms.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    one = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((host, port))
        one.listen(backlog)
    except OSError:
        one.close()
        raise
    return one


def own_streams() -> tuple[BinaryIO, BinaryIO]:
    """Reserve standard input and output for the caller.

    Programs that are started later read an empty input, and what they or libraries print goes to standard error.
    """
    source = os.fdopen(_take(sys.stdin.fileno(), os.open(os.devnull, os.O_RDONLY)), "rb")
    try:
        instead = os.dup(2)
    except OSError:  # standard error is closed
        instead = os.open(os.devnull, os.O_WRONLY)
    return source, os.fdopen(_take(sys.stdout.fileno(), instead), "wb")


def discard_output(stream: BinaryIO) -> None:
    """Discard what was not written to ``stream``: closing it would wait for its reader, or fail as the write did."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def _take(descriptor: int, instead: int) -> int:
    """Return a duplicate of a descriptor, after replacing the descriptor by ``instead``."""
    own = os.dup(descriptor)
    os.dup2(instead, descriptor)
    os.close(instead)
    return own


class LocalSocket:
    """A socket on which this process answers for one workspace, until ``close``."""

    def __init__(self, workspace: Path) -> None:
        folder = make_folder(runtime_folder())
        self.path = folder / f"{_mark(str(workspace))}.{os.getpid()}{_SUFFIX}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)  # nobody else may ever open the socket, not even for a moment
        try:
            with suppress(FileNotFoundError):
                self.path.unlink()  # left by a killed process with this id
            with _short(str(self.path)) as path:
                self.socket.bind(path)
            self.socket.listen(32)
        except OSError:
            self.socket.close()
            raise
        finally:
            os.umask(before)

    def close(self) -> None:
        """Stop listening, and remove the socket."""
        self.socket.close()
        with suppress(OSError):
            self.path.unlink()


def ask(folder: str, question: Mapping[str, Any], *, timeout: float) -> dict[str, Any] | None:
    """Ask the processes that have the workspace around ``folder`` open; ``None`` if none of them answers.

    ``timeout`` is how many seconds the answer may take.
    """
    payload = json.dumps(question).encode()
    if len(payload) > MAX_BYTES:
        return None
    for path in _candidates(folder):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
            one.settimeout(_CONNECT_SECONDS)
            try:
                with _short(path) as near:
                    one.connect(near)
            except (ConnectionRefusedError, FileNotFoundError):
                with suppress(OSError):
                    os.unlink(path)  # its process is gone  # noqa: PTH108
                continue
            except OSError:
                continue
            answer = _exchange(one, payload, time.monotonic() + timeout)
        if answer is not None:
            return answer
    return None


def peer_is_own(one: socket.socket) -> bool:
    """Return whether the process at the other end of a local socket runs as the same user."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:  # not Linux: the folder protects it, since nobody else may enter
        return True
    _, user, _ = struct.unpack("3i", one.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return bool(user == os.geteuid())


def frame(message: Mapping[str, Any]) -> bytes:
    payload = json.dumps(message).encode()
    return _LENGTH.pack(len(payload)) + payload


def frame_length(head: bytes) -> int:
    """Return the length of the message after ``head``. Raises ``ValueError`` if it is too long."""
    (length,) = _LENGTH.unpack(head)
    if length > MAX_BYTES:
        raise ValueError("the message is too long")
    return int(length)


HEAD: Final = _LENGTH.size
"""Bytes before a message."""


@contextmanager
def _short(path: str) -> Iterator[str]:
    """Yield a path for ``path`` that is short enough for a socket, if the system provides one."""
    if len(os.fsencode(path)) < _MAX_PATH or not os.path.isdir("/proc/self/fd"):  # noqa: PTH112  (light)
        yield path
        return
    folder, _, name = path.rpartition("/")
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{opened}/{name}"
    finally:
        os.close(opened)


def _exchange(one: socket.socket, payload: bytes, deadline: float) -> dict[str, Any] | None:
    try:
        if not peer_is_own(one):
            return None
        one.settimeout(max(0.01, deadline - time.monotonic()))
        one.sendall(_LENGTH.pack(len(payload)) + payload)
        length = frame_length(_receive(one, HEAD, deadline))
        answer = json.loads(_receive(one, length, deadline))
    except (OSError, ValueError, struct.error, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _receive(one: socket.socket, length: int, deadline: float) -> bytes:
    parts: list[bytes] = []
    while length > 0:
        one.settimeout(max(0.01, deadline - time.monotonic()))
        part = one.recv(min(length, 1 << 16))
        if not part:
            raise ConnectionError("the other end closed")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _candidates(folder: str) -> Iterator[str]:
    """Yield the sockets of workspaces around ``folder``, the nearest workspace first."""
    run = runtime_folder()
    try:
        found = os.stat(run, follow_symlinks=False)  # noqa: PTH116  (runs before every prompt, so it must be light)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            return
        names = [name for name in os.listdir(run) if name.endswith(_SUFFIX)]  # noqa: PTH208
    except OSError:
        return
    place = os.path.realpath(folder)
    while names:
        mark = _mark(place)
        yield from (f"{run}/{name}" for name in sorted(names) if name.startswith(f"{mark}."))
        above = os.path.dirname(place)  # noqa: PTH120
        if above == place:
            return
        place = above


def _mark(workspace: str) -> str:
    # Short: the path of a socket has at most 107 bytes.
    return hashlib.sha256(os.fsencode(os.path.realpath(workspace))).hexdigest()[:20]
