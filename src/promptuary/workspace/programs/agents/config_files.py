"""Settings files of other programs, in the person's home: read whole, replaced whole, and put back as they were.

Before a file is changed, what it was is noted, with a hash of what it becomes. So a change that was stopped half-way
can be undone, and one that is repeated still knows the first state. A link is followed to the file that it names, as
people keep settings in a repository; folders that are missing are made.
"""

import base64
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from promptuary import durable
from promptuary.core.errors import PromptuaryError
from promptuary.core.text import one_line
from promptuary.workspace.user_folders import made, state_folder

_LARGEST: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class Edit:
    """A settings file as it is, ``None`` if there is none, and as it is to be."""

    path: Path
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class Noted:
    """What a file was before it was changed, and the hash of what it became; ``folders`` were made for it."""

    path: Path
    before: bytes | None
    after: str
    folders: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        """Whether nobody changed the file since."""
        return _hash(_read(self.path)) == self.after


def config_text(path: Path) -> str | None:
    """Return the text of a settings file; ``None`` if there is none. Raises ``PromptuaryError``, which says why not."""
    found = _read(path)
    if found is None:
        return None
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PromptuaryError(f"{one_line(str(path))} is not UTF-8, and nothing was written") from error


def apply_edits(client: str, edits: Sequence[Edit]) -> None:
    """Write changes of settings files, after noting how to undo them.

    Raises ``PromptuaryError`` if a file was changed since it was read; then nothing more is written.
    """
    with _locked(client):
        known = {one.path: one for one in _noted(client)}
        noted = dict(known)
        for edit in edits:
            current, earlier = _read(edit.path), known.get(edit.path)
            if (None if current is None else current.decode("utf-8", "replace")) != edit.before:
                raise PromptuaryError(f"{one_line(str(edit.path))} has changed meanwhile; try again")
            is_ours = earlier is not None and earlier.after == _hash(current)
            first = earlier.before if earlier is not None and is_ours else current
            folders = earlier.folders if earlier is not None and is_ours else tuple(_missing(edit.path.parent))
            noted[edit.path] = Noted(edit.path, first, _hash(edit.after.encode()), folders)
        _note(client, list(noted.values()))
        for edit in edits:
            _write(edit.path, edit.after.encode())


def noted_files(client: str) -> Sequence[Noted]:
    """Return which files were changed for a client, and what they were before."""
    return _noted(client)


def restored(one: Noted) -> bool:
    """Put a file back as it was, if nobody changed it since; return whether it is as it was."""
    current = _read(one.path)
    if current == one.before:
        return True
    if _hash(current) != one.after:
        return False
    if one.before is not None:
        _write(one.path, one.before)
        return True
    target = _target(one.path)
    with suppress(FileNotFoundError):
        target.unlink()
    durable.sync_folder(target.parent)
    for folder in one.folders:
        with suppress(OSError):  # others put something there since
            os.rmdir(folder)  # noqa: PTH106
    return True


def write_config(path: Path, text: str) -> None:
    """Replace a settings file."""
    _write(path, text.encode())


def forget_noted(client: str) -> None:
    """Forget what was changed for a client: it is undone."""
    with suppress(FileNotFoundError):
        _record(client).unlink()
        durable.sync_folder(_record(client).parent)


def _read(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PromptuaryError(f"{one_line(str(path))} cannot be read: {error.strerror}") from error
    with open(descriptor, "rb") as file:  # noqa: PTH123  (it is open already)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PromptuaryError(f"{one_line(str(path))} is no file")
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise PromptuaryError(f"{one_line(str(path))} is larger than {_LARGEST:,} bytes")
    return data


def _write(path: Path, data: bytes) -> None:
    target = _target(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        durable.replace(target, data)
    except OSError as error:
        raise PromptuaryError(f"{one_line(str(path))} cannot be written: {error.strerror}") from error


def _target(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _missing(folder: Path) -> Iterator[str]:
    """Yield the folders that are to be made, the innermost first."""
    while not folder.exists():
        yield str(folder)
        folder = folder.parent


def _record(client: str) -> Path:
    return state_folder() / "installed" / f"{client}.json"


@contextmanager
def _locked(client: str) -> Iterator[None]:
    folder = made(_record(client).parent)
    with durable.locked(folder / f"{client}.lock"):
        yield


def _note(client: str, noted: Sequence[Noted]) -> None:
    stored = [
        {
            "path": str(one.path),
            "before": None if one.before is None else base64.b64encode(one.before).decode(),
            "after": one.after,
            "folders": list(one.folders),
        }
        for one in noted
    ]
    durable.replace(_record(client), json.dumps(stored).encode(), mode=0o600)


def _noted(client: str) -> list[Noted]:
    path = _record(client)
    data = _read(path)
    if data is None:
        return []
    try:
        stored: Any = json.loads(data)
        return [
            Noted(
                Path(one["path"]),
                None if one["before"] is None else base64.b64decode(one["before"], validate=True),
                str(one["after"]),
                tuple(map(str, one["folders"])),
            )
            for one in stored
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise PromptuaryError(f"{path} cannot be read; remove it, and take the entries out by hand") from error


def _hash(data: bytes | None) -> str:
    return "" if data is None else hashlib.sha256(data).hexdigest()
