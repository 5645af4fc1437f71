"""Starts a program and reads its output, with limits on time and size.

A command is a fixed argument list, never a shell line. The process gets only the environment of the command, no input
but a file, and its own process group, so that its children are killed with it. Output is read as it arrives: a command
that writes too much or takes too long is killed, and memory stays bounded. This module does not know what it runs.
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
from pathlib import Path
from typing import IO, Self

from msgspec import Struct

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.git.confine import Confinement

_CHUNK = 1 << 20
_MAX_ERRORS = 8 << 10


class ProcessCommand(Struct, frozen=True):
    """A program with its arguments, its working folder, its environment, and its time limit in seconds.

    ``confinement`` says what it may open, ``stdin`` which file is its input.
    """

    arguments: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    timeout: float
    confinement: Confinement | None = None
    stdin: Path = Path(os.devnull)


class ProcessResult(Struct, frozen=True):
    """The result of a command. ``status`` means nothing if ``truncated``: the process was killed then."""

    status: int
    output: bytes
    errors: str
    truncated: bool


def find_program(name: str, outside: Path) -> str | None:
    """Return the absolute path of a program, never one in the folder ``outside``; ``None`` if there is none.

    A relative entry of ``PATH``, or one inside the workspace, would let the workspace choose the program. A workspace
    that contains the person's home folder is the person's own, and the home folder may contain the person's tools.
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
    """Yield the output in large pieces as it arrives. Raises ``SourceError`` after the last piece if it failed."""
    with _Child(command) as child:
        yield from child.chunks()
        if child.wait() != 0:
            raise SourceError(Code.GIT_FAILED, child.error_output() or "the command failed without a message")


def run(command: ProcessCommand, *, max_output: int) -> ProcessResult:
    """Return the output of a command; after ``max_output`` bytes the process is killed."""
    output = bytearray()
    with _Child(command) as child:
        for chunk in child.chunks():
            output += chunk[: max_output + 1 - len(output)]
            if len(output) > max_output:
                return ProcessResult(0, bytes(output[:max_output]), child.error_output(), truncated=True)
        return ProcessResult(child.wait(), bytes(output), child.error_output(), truncated=False)


class _Child:
    """One running process; leaving the ``with`` block kills it and its children."""

    def __init__(self, command: ProcessCommand) -> None:
        self._name = Path(command.arguments[0]).name
        self._seconds = command.timeout
        self._until = time.monotonic() + command.timeout
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
        """Yield standard output as it arrives, and collect the beginning of standard error."""
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
            raise self._timeout() from None

    def error_output(self) -> str:
        """Return the beginning of standard error."""
        return self._errors.decode("utf-8", "replace").strip()

    def _remaining(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise self._timeout()
        return left

    def _timeout(self) -> SourceError:
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
            raise AssertionError("both pipes are requested when the process is started")
        return output, errors


def _start(command: ProcessCommand) -> "subprocess.Popen[bytes]":
    try:
        with command.stdin.open("rb") as given:

            def popen() -> "subprocess.Popen[bytes]":
                return subprocess.Popen(
                    command.arguments,
                    cwd=command.folder,
                    env=dict(command.environment),
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    start_new_session=True,
                )

            process = command.confinement.start(popen) if command.confinement else popen()
    except OSError as error:
        name = Path(command.arguments[0]).name
        raise SourceError(Code.GIT_FAILED, f"{name} could not be started: {error.strerror}") from error
    # A larger pipe saves thousands of switches on a long listing; the limit of the host may forbid it.
    if process.stdout is not None and hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, _CHUNK)
    return process
