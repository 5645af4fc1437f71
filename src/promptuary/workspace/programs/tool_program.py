"""A program that the person configured and that answers over its standard streams: started, fed, read and stopped.

It gets a few variables of the environment and those that the person names, its own process group, and never a program
of the workspace. What it writes is read line by line within bounds; standard error is thrown away but for its end. This
module does not know the protocol. Belongs to one event loop.
"""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.workspace.git.process import find_program

_INHERITED: Final = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)
"""Variables that programs need to run at all; keys of other services are not among them."""
_CHUNK: Final = 64 * 1024
_MOST_ERRORS: Final = 2_000
_MOST_NOISE: Final = 64 << 20
_PATIENCE: Final = 1.0
"""Seconds that a program gets to end by itself, and again after it was told to."""


class ToolProgram:
    """A running program."""

    def __init__(self, process: asyncio.subprocess.Process, longest_line: int) -> None:
        self._process, self._longest = process, longest_line
        self._rest = bytearray()
        self._errors = bytearray()
        self._reading_errors = asyncio.ensure_future(self._read_errors())

    @classmethod
    async def start(
        cls,
        command: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        *,
        workspace: Path,
        longest_line: int,
    ) -> "ToolProgram":
        """Start a program; ``folder`` is where it runs, empty for the person's home.

        It is found on ``PATH`` but never in ``workspace``, whose author would choose it. Raises ``PromptuaryError``.
        """
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        try:
            process = await asyncio.create_subprocess_exec(
                _found(command, workspace),
                *arguments,
                cwd=_at_home(folder or "~"),
                env={**inherited, **environment},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "its arguments cannot be passed on"
            raise PromptuaryError(f"{one_line(command)} could not be started: {why}") from error
        return cls(process, longest_line)

    async def read_line(self) -> bytes | None:
        """Return the next line without its end; ``None`` when there are no more. Raises ``PromptuaryError``."""
        output, searched = self._process.stdout, 0
        if output is None:
            raise AssertionError("the pipe is asked for when the program is started")
        while (end := self._rest.find(b"\n", searched)) < 0:
            searched = len(self._rest)
            if searched > self._longest:
                raise PromptuaryError(f"it sends a message of more than {self._longest:,} bytes")
            data = await output.read(_CHUNK)
            if not data:
                return None
            self._rest += data
        if end > self._longest:
            raise PromptuaryError(f"it sends a message of more than {self._longest:,} bytes")
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line

    async def write(self, data: bytes) -> None:
        """Write to its standard input. Raises ``PromptuaryError`` if it does not take any more."""
        given = self._process.stdin
        if given is None:
            raise AssertionError("the pipe is asked for when the program is started")
        try:
            given.write(data)
            await given.drain()
        except (OSError, RuntimeError) as error:
            raise PromptuaryError("it has ended") from error

    @property
    def last_words(self) -> str:
        """The end of what it wrote to standard error, on one line."""
        return one_line(" ".join(self._errors.decode("utf-8", "replace").split()))

    async def stop(self) -> None:
        """End the program and its children: it is asked first, then told, then killed."""
        if self._process.stdin is not None:
            with suppress(OSError, RuntimeError):
                self._process.stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await self._ends():
                break
            self._signal(number)
        await self._ends()
        self._signal(signal.SIGKILL)  # children may have stayed
        self._reading_errors.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading_errors
        # Whoever inherited its pipes would keep the transport open.
        self._process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001  (nothing public closes it)

    async def _ends(self) -> bool:
        """Wait a moment for its end; the method for that would wait for its children, too, if they have its pipes."""
        until = asyncio.get_running_loop().time() + _PATIENCE
        while self._process.returncode is None:
            if asyncio.get_running_loop().time() > until:
                return False
            await asyncio.sleep(0.01)
        return True

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read_errors(self) -> None:
        """Read standard error, so that the program can go on; one that writes without end has to wait at last."""
        errors, length = self._process.stderr, 0
        while errors is not None and length < _MOST_NOISE and (data := await errors.read(_CHUNK)):
            length += len(data)
            self._errors += data
            del self._errors[:-_MOST_ERRORS]


def _found(command: str, workspace: Path) -> str:
    """Return the path of a program. Raises ``PromptuaryError``."""
    command = _at_home(command)
    if command.startswith("/"):
        return command
    if "/" in command:
        raise PromptuaryError(f"{one_line(command)} is a relative path; write the full one, or a name on PATH")
    found = find_program(command, workspace)
    if found is None:
        raise PromptuaryError(f"there is no program {one_line(command)} on PATH; install it, or write its full path")
    return found


def _at_home(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111  (Path.home() may raise)
