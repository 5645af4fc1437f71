"""The clipboard, through the desktop's own program for it.

The program is looked up in the absolute folders of ``PATH`` that are not in the workspace: a workspace must not choose
what runs.
"""

import base64
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from promptuary.base.errors import Code, SourceError

MAX_BYTES: Final = 1 << 20
_SECONDS: Final = 3.0
_CHUNK: Final = 64 * 1024
_MAX_FOR_TERMINAL: Final = 74_994
"""The bytes that terminals accept in one sequence, before encoding."""


class _Tool(NamedTuple):
    """A program with the arguments to read and to write; ``display``: the variable that names its display."""

    program: str
    reads: tuple[str, ...]
    writer: tuple[str, ...]
    display: str = ""


_TOOLS: Final = (
    _Tool("wl-paste", ("--no-newline", "--type", "text"), ("wl-copy",), "WAYLAND_DISPLAY"),
    _Tool("xclip", ("-selection", "clipboard", "-o"), ("xclip", "-selection", "clipboard"), "DISPLAY"),
    _Tool("xsel", ("--clipboard", "--output"), ("xsel", "--clipboard", "--input"), "DISPLAY"),
    _Tool("pbpaste", (), ("pbcopy",)),
)
_INSTALL: Final = "install wl-clipboard (Wayland), xclip or xsel (X11); macOS has pbcopy and pbpaste"


def read_clipboard(workspace: Path) -> str:
    """Return the text in the clipboard. Raises ``SourceError`` if there is none, or no program for it."""
    for tool in _usable():
        if program := _find_program(tool.program, workspace):
            return _decode(_output([program, *tool.reads]))
    raise _no_program("read")


def write_clipboard(text: str, workspace: Path) -> bool:
    """Put ``text`` into the clipboard, and return whether that is certain: a terminal does not confirm it.

    Raises ``SourceError`` if it cannot be done.
    """
    data = text.encode("utf-8", "replace")
    for tool in _usable():
        if program := _find_program(tool.writer[0], workspace):
            _start([program, *tool.writer[1:]], data)
            return True
    if os.environ.get("TMUX") and (program := _find_program("tmux", workspace)):
        _start([program, "load-buffer", "-w", "-"], data)  # tmux forwards it to the terminal, if configured
        return False
    if not _by_terminal(data):
        raise _no_program("written")
    return False


def _usable() -> list[_Tool]:
    """Return the programs that have a display, or need none."""
    return [tool for tool in _TOOLS if not tool.display or os.environ.get(tool.display)]


def _find_program(program: str, workspace: Path) -> str | None:
    """Return the path of ``program``, unless a folder of the workspace provides it."""
    inside = workspace.resolve()
    folders = [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    safe = [folder for folder in folders if folder.is_absolute() and not folder.resolve().is_relative_to(inside)]
    found = shutil.which(program, path=os.pathsep.join(map(str, safe)))
    return None if found is None or Path(found).resolve().is_relative_to(inside) else found


def _output(command: list[str]) -> bytes:
    """Return the output of a program, at most ``MAX_BYTES``."""
    try:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment()
        ) as process:
            data = _read_within(process)
            code = process.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        raise SourceError(Code.TIMEOUT, f"{Path(command[0]).name} did not return what was copied.") from None
    except OSError as error:
        raise _failure(command, error.strerror or "it could not be started") from error
    if len(data) > MAX_BYTES:
        raise SourceError(Code.FILE_TOO_LARGE, f"the clipboard holds more than {MAX_BYTES:,} bytes; save it as a file")
    if code != 0 or not data:
        raise SourceError(Code.NOT_FOUND, "there is no text in the clipboard; copy some, and try again")
    return data


def _read_within(process: "subprocess.Popen[bytes]") -> bytes:
    """Return the output of ``process``, up to just over the limit; it is killed at the timeout."""
    until = time.monotonic() + _SECONDS
    parts: list[bytes] = []
    total = 0
    stdout = process.stdout
    while stdout is not None and total <= MAX_BYTES:
        ready, _, _ = select.select([stdout], [], [], max(until - time.monotonic(), 0))
        if not ready:
            process.kill()
            raise subprocess.TimeoutExpired(process.args, _SECONDS)
        if not (part := os.read(stdout.fileno(), _CHUNK)):
            return b"".join(parts)
        parts.append(part)
        total += len(part)
    process.kill()
    return b"".join(parts)


def _start(command: list[str], data: bytes) -> None:
    try:
        # These programs keep running to serve what was copied: do not wait for their output.
        done = subprocess.run(
            command,
            input=data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            env=_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SourceError(Code.TIMEOUT, f"{Path(command[0]).name} did not accept the text to copy.") from None
    except OSError as error:
        raise _failure(command, error.strerror or "it could not be started") from error
    if done.returncode != 0:
        raise _failure(command, f"it ended with the code {done.returncode}")


def _environment() -> Mapping[str, str]:
    """Return the environment that these programs need to find the display, without keys or tokens."""
    names = ("PATH", "HOME", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XAUTHORITY", "LANG", "LC_ALL", "TMPDIR")
    return {name: os.environ[name] for name in names if name in os.environ}


def _by_terminal(data: bytes) -> bool:
    """Ask the terminal to copy ``data``, also over ssh; return whether there is one and it accepts that much."""
    if not sys.stderr.isatty() or len(data) > _MAX_FOR_TERMINAL:
        return False
    sys.stderr.write(f"\x1b]52;c;{base64.b64encode(data).decode('ascii')}\a")
    sys.stderr.flush()
    return True


def _decode(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise SourceError(Code.BINARY, "what is in the clipboard is not text") from None
    if "\0" in text:
        raise SourceError(Code.BINARY, "what is in the clipboard is not text")
    return text


def _no_program(done: str) -> SourceError:
    if sys.platform != "darwin" and not any(os.environ.get(tool.display) for tool in _TOOLS):
        reason = (
            f"the clipboard cannot be {done}: neither WAYLAND_DISPLAY nor DISPLAY is set, so there is no desktop here"
        )
        return SourceError(Code.NEEDS_EXTRA, reason)
    return SourceError(Code.NEEDS_EXTRA, f"no program is installed by which the clipboard can be {done}; {_INSTALL}")


def _failure(command: list[str], why: str) -> SourceError:
    return SourceError(Code.READ_FAILED, f"{Path(command[0]).name} could not reach the clipboard: {why}")
