"""Starts the person's editor on a copy of a text, outside of every workspace."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from promptuary.base.errors import PromptuaryError

_MAX_BYTES: Final = 1 << 20
_FALLBACKS: Final = ("nano", "vi")


@contextmanager
def edit_copy(data: bytes, name: str) -> Iterator[bytes]:
    """Open a copy of ``data`` in the person's editor, and yield its content when the editor has ended.

    The copy is removed, unless the block raises an error: then a note on the error says where it is, since what a
    person wrote must not be lost. Raises ``PromptuaryError`` if there is no editor, or it fails.
    """
    command = _editor()
    folder = Path(tempfile.mkdtemp(prefix="promptuary-edit-"))
    copy = folder / name
    copy.write_bytes(data)
    try:
        _start([*command, str(copy)])
        yield _read(copy)
    except PromptuaryError as error:
        if _differs(copy, data):
            error.add_note(f"what you wrote is kept in {copy}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    else:
        shutil.rmtree(folder, ignore_errors=True)


def _editor() -> list[str]:
    for variable in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(os.environ.get(variable, ""))
        except ValueError as error:
            raise PromptuaryError(f"${variable} is not a command ({error}); set it to that of your editor") from error
        if words:
            return words
    found = next((program for name in _FALLBACKS if (program := shutil.which(name)) is not None), None)
    if found is None:
        raise PromptuaryError("no editor is configured; set $EDITOR to the command of your editor")
    return [found]


def _start(command: list[str]) -> None:
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise PromptuaryError(
            f"the editor {command[0]} could not be started ({error.strerror}); set $EDITOR"
        ) from error
    if code != 0:
        raise PromptuaryError(f"the editor {command[0]} ended with the code {code}, so the note was not changed")


def _read(copy: Path) -> bytes:
    try:
        with copy.open("rb") as opened:
            data = opened.read(_MAX_BYTES + 1)
    except OSError as error:
        raise PromptuaryError(f"{copy} is gone after editing ({error.strerror}); nothing was changed") from error
    if len(data) > _MAX_BYTES:
        raise PromptuaryError(f"a note may have {_MAX_BYTES:,} bytes; write less")
    return data


def _differs(copy: Path, data: bytes) -> bool:
    try:
        return copy.read_bytes() != data
    except OSError:
        return False
