"""Settings files of other programs, in the person's home: read whole, replaced whole, and put back as they were.

Before a file is changed, it is noted what is written, what the file is without that, and a hash of what it becomes. So
a change that was stopped half-way can be undone, one that is repeated still knows the first state, and an entry that
the person wrote is told from one of ours. A link is followed to the file that it names, as people keep settings in a
repository; folders that are missing are made.
"""

import base64
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from promptuary import durable
from promptuary.core.errors import PromptuaryError
from promptuary.core.text import one_line
from promptuary.workspace.user_folders import made, state_folder

_LARGEST: Final = 32 << 20
_MOST_KNOWN: Final = 8
"""How many states of a file are known: a program that is installed anew in another place writes one more."""


@dataclass(frozen=True, slots=True)
class WrittenEntry:
    """An entry that was written into a file: what it is, its place in the file, and the values that it has had."""

    kind: str
    path: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SettingsEdit:
    """A settings file as it is and as it is to be, ``None`` where there is none.

    ``without`` is the text without anything of ours, which undoing gives back; ``entries`` are what is ours in it.
    """

    path: Path
    before: str | None
    after: str | None
    without: str | None = None
    entries: tuple[WrittenEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class NotedSettings:
    """What a file is without what was written into it, the hashes of what it became, and what was written.

    There are several hashes because a process may be killed between the note and the file. ``folders`` were made for
    it.
    """

    path: Path
    without: str | None
    became: tuple[str, ...]
    folders: tuple[str, ...] = ()
    entries: tuple[WrittenEntry, ...] = ()

    def is_as_written(self, text: str | None) -> bool:
        """Tell whether ``text`` is what was written, and nobody has changed it since."""
        return _hash(text) in self.became


def config_text(path: Path) -> str | None:
    """Return the text of a settings file; ``None`` if there is none. Raises ``PromptuaryError``, which says why not."""
    found = _read(path)
    if found is None:
        return None
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PromptuaryError(f"{one_line(str(path))} is not UTF-8; save it as UTF-8 first") from error


def check_writable(path: Path) -> None:
    """Raise ``PromptuaryError`` if a settings file must not be written, which its permissions say."""
    target = _target(path)
    with suppress(FileNotFoundError, NotADirectoryError):
        if not stat.S_IMODE(target.stat().st_mode) & 0o222 or not os.access(target, os.W_OK):
            raise PromptuaryError(f"{one_line(str(path))} is read-only; make it writable first (chmod u+w)")


def apply_edits(client: str, edits: Sequence[SettingsEdit]) -> None:
    """Write changes of settings files, after noting how to undo them.

    Raises ``PromptuaryError`` if a file was changed since it was read, or may not be written; then nothing is written.
    """
    with _locked(client):
        noted = {one.path: one for one in _noted(client)}
        for edit in edits:
            _check(edit)
            noted[edit.path] = _noted_after(edit, noted.get(edit.path))
        _note(client, list(noted.values()))
        for edit in edits:
            _replace(edit, noted[edit.path].folders)


def undo_edits(client: str, edits: Sequence[SettingsEdit]) -> Mapping[Path, str]:
    """Write settings files without what is ours, and forget what was noted of them, but for the entries that stay.

    Return why a file could not be written, for each that could not.
    """
    failed: dict[Path, str] = {}
    with _locked(client):
        noted = {one.path: one for one in _noted(client)}
        for edit in edits:
            known = noted.get(edit.path)
            try:
                _check(edit)
                _replace(edit, known.folders if known else ())
            except PromptuaryError as error:
                failed[edit.path] = str(error)
                continue
            if known is not None and edit.entries:
                noted[edit.path] = replace(known, became=(), entries=edit.entries)
            else:
                noted.pop(edit.path, None)
        _note(client, list(noted.values()))
    return failed


def noted_files(client: str) -> Sequence[NotedSettings]:
    """Return which files were changed for a client, and what they are without that."""
    return _noted(client)


def _check(edit: SettingsEdit) -> None:
    if config_text(edit.path) != edit.before:
        raise PromptuaryError(f"{one_line(str(edit.path))} has changed meanwhile; try again")
    if edit.after != edit.before:
        check_writable(edit.path)


def _noted_after(edit: SettingsEdit, earlier: NotedSettings | None) -> NotedSettings:
    follows = earlier is not None and earlier.is_as_written(edit.before)
    became = (*(earlier.became if earlier and follows else ()), _hash(edit.after))
    made = tuple(_missing(_target(edit.path).parent)) if edit.before is None else ()
    folders = made or (earlier.folders if earlier is not None else ())
    return NotedSettings(edit.path, edit.without, became[-_MOST_KNOWN:], folders, edit.entries)


def _replace(edit: SettingsEdit, folders: Sequence[str]) -> None:
    if edit.after is not None:
        if edit.after != edit.before:
            _write(edit.path, edit.after.encode())
        return
    target = _target(edit.path)
    try:
        with suppress(FileNotFoundError):
            target.unlink()
            durable.sync_folder(target.parent)
    except OSError as error:
        raise PromptuaryError(f"{one_line(str(edit.path))} cannot be removed: {error.strerror}") from error
    for folder in folders:
        with suppress(OSError):  # others put something there since
            os.rmdir(folder)  # noqa: PTH106


def _read(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PromptuaryError(f"{one_line(str(path))} cannot be read: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PromptuaryError(f"{one_line(str(path))} is not a file; move it away first")
        data = _all_of(descriptor)
    except OSError as error:
        raise PromptuaryError(f"{one_line(str(path))} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if len(data) > _LARGEST:
        raise PromptuaryError(f"{one_line(str(path))} is larger than {_LARGEST:,} bytes")
    return data


def _all_of(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(_LARGEST + 1)


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


def _note(client: str, noted: Sequence[NotedSettings]) -> None:
    path = _record(client)
    if not noted:
        with suppress(FileNotFoundError):
            path.unlink()
            durable.sync_folder(path.parent)
        return
    stored = [
        {
            "path": str(one.path),
            "without": one.without,
            "became": one.became,
            "folders": one.folders,
            "entries": [{"kind": each.kind, "path": each.path, "values": each.values} for each in one.entries],
        }
        for one in noted
    ]
    durable.replace(path, json.dumps(stored).encode(), mode=0o600)


def _noted(client: str) -> list[NotedSettings]:
    path = _record(client)
    data = _read(path)
    if data is None:
        return []
    try:
        return [_noted_file(one) for one in json.loads(data)]
    except (ValueError, KeyError, TypeError) as error:
        raise PromptuaryError(f"{path} cannot be read; remove it, and take the entries out by hand") from error


def _noted_file(stored: Mapping[str, Any]) -> NotedSettings:
    if "before" in stored:  # as earlier versions noted it, which knew no entries
        before = stored["before"]
        text = None if before is None else base64.b64decode(before, validate=True).decode("utf-8")
        return NotedSettings(Path(stored["path"]), text, (str(stored["after"]),), tuple(map(str, stored["folders"])))
    entries = tuple(
        WrittenEntry(str(one["kind"]), tuple(map(str, one["path"])), tuple(one["values"])) for one in stored["entries"]
    )
    became, folders = tuple(map(str, stored["became"])), tuple(map(str, stored["folders"]))
    return NotedSettings(Path(stored["path"]), stored["without"], became, folders, entries)


def _hash(text: str | None) -> str:
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()
