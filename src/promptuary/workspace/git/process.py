"""Starting a program and reading what it says, within bounds.

A command is a fixed argument list, never a shell line; it gets the environment it is given and
nothing else, no input, and a process group of its own, so that whatever it started dies with it.
Output is read as it comes: a command that says too much or takes too long is stopped, and memory
stays bounded. What is run and what its words mean is the caller's business.
"""

import contextlib
import fcntl
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from promptuary.core.errors import Code, SourceError

_CHUNK = 1 << 20
_MAX_ERRORS = 8 << 10


@dataclass(frozen=True, slots=True)
class ProcessCommand:
    """What to run, where, with which environment, and for how many seconds at most."""

    arguments: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    deadline: float


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a command ended. ``status`` means nothing when the output was cut: we stopped it then."""

    status: int
    output: bytes
    errors: str
    truncated: bool


def find_program(name: str, outside: Path) -> str | None:
    """Return the absolute path of a program, never one that lies in the folder ``outside``.

    A relative entry of ``PATH``, or one inside the workspace, would let the workspace choose what runs.
    A workspace that holds the person's whole home is not a stranger's, and home may hold their tools.
    """
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 - Path.home() may raise
    allowed = [
        entry
        for entry in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if entry.startswith("/")
        and (home.is_relative_to(outside) or not Path(os.path.realpath(entry)).is_relative_to(outside))
    ]
    return shutil.which(name, path=os.pathsep.join(allowed)) if allowed else None


def stream(command: ProcessCommand) -> Iterator[bytes]:
    """Yield the output in large pieces as it comes; a failing command raises after its last piece."""
    with _Child(command) as child:
        yield from child.chunks()
        if child.wait() != 0:
            raise SourceError(Code.GIT_FAILED, child.complaint() or "the command failed without saying why")


def run(command: ProcessCommand, *, max_output: int) -> ProcessResult:
    """Return what a command said, at most ``max_output`` bytes of it; the command is stopped there."""
    output = bytearray()
    with _Child(command) as child:
        for chunk in child.chunks():
            output += chunk[: max_output + 1 - len(output)]
            if len(output) > max_output:
                return ProcessResult(0, bytes(output[:max_output]), child.complaint(), truncated=True)
        return ProcessResult(child.wait(), bytes(output), child.complaint(), truncated=False)


class _Child:
    """One running command; leaving the ``with`` block ends it and everything it started."""

    def __init__(self, command: ProcessCommand) -> None:
        self._name = Path(command.arguments[0]).name
        self._seconds = command.deadline
        self._until = time.monotonic() + command.deadline
        self._errors = bytearray()
        self._process = _start(command)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._kill()
        for pipe in self._pipes():
            pipe.close()

    def chunks(self) -> Iterator[bytes]:
        """Yield what is written to standard output; keep the beginning of standard error."""
        output, _ = self._pipes()
        with selectors.DefaultSelector() as ready:
            for pipe in self._pipes():
                ready.register(pipe, selectors.EVENT_READ)
            while ready.get_map():
                for key, _ in ready.select(self._remaining()):
                    data = os.read(key.fd, _CHUNK)
                    if not data:
                        ready.unregister(key.fileobj)
                    elif key.fileobj is output:
                        yield data
                    else:
                        self._errors += data[: _MAX_ERRORS - len(self._errors)]

    def wait(self) -> int:
        """Return the exit status."""
        try:
            return self._process.wait(self._remaining())
        except subprocess.TimeoutExpired:
            raise self._late() from None

    def complaint(self) -> str:
        """Return what was said on standard error."""
        return self._errors.decode("utf-8", "replace").strip()

    def _remaining(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise self._late()
        return left

    def _late(self) -> SourceError:
        self._kill()
        return SourceError(Code.TIMEOUT, f"{self._name} took longer than {self._seconds:g} s and was stopped")

    def _kill(self) -> None:
        # The group may be gone already; its leader still has to be reaped.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        output, errors = self._process.stdout, self._process.stderr
        if output is None or errors is None:
            raise AssertionError("both pipes are asked for when the command is started")
        return output, errors


def _start(command: ProcessCommand) -> "subprocess.Popen[bytes]":
    try:
        process = subprocess.Popen(
            command.arguments,
            cwd=command.folder,
            env=dict(command.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        name = Path(command.arguments[0]).name
        raise SourceError(Code.GIT_FAILED, f"{name} could not be started: {error.strerror}") from error
    # A larger pipe saves thousands of switches on a long listing; the limit of the host may forbid it.
    if process.stdout is not None and hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, _CHUNK)
    return process
