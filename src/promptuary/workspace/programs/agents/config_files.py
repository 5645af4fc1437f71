"""Settings files of other programs, in the person's home: read whole, replaced whole, and restored.

Before a file is changed, a record is written: the entries, the file without them, and a hash of the result. So an
interrupted change can be undone, a repeated one still knows the first state, and entries of the person can be told
apart from ours. Links are followed, as people keep settings in a repository; missing folders are created.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from promptuary.base import durable
from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.workspace.user_folders import make_folder, state_folder

_MAX_BYTES: Final = 32 << 20
_MAX_KNOWN: Final = 8
"""How many states of a file are recorded: each installation of this program in another place adds one."""


class WrittenEntry(Struct, frozen=True):
    """An entry that was written into a file: its kind, its place in the file, and the values that it has had."""

    kind: str
    path: tuple[str, ...]
    values: tuple[Any, ...]


class SettingsEdit(Struct, frozen=True):
    """A settings file before and after a change, ``None`` if there is none.

    ``without`` is the text without our entries, which undoing restores; ``entries`` are ours in it.
    """

    path: Path
    before: str | None
    after: str | None
    without: str | None = None
    entries: tuple[WrittenEntry, ...] = ()


class NotedSettings(Struct, frozen=True):
    """The record of a file: its text without our entries, the hashes of the results, and our entries.

    There are several hashes because a process may be killed after it writes the record and before it writes the file.
    ``folders`` were created for it.
    """

    path: Path
    without: str | None
    became: tuple[str, ...]
    folders: tuple[str, ...] = ()
    entries: tuple[WrittenEntry, ...] = ()

    def is_as_written(self, text: str | None) -> bool:
        """Return whether ``text`` is what was written, and nobody has changed it since."""
        return _hash(text) in self.became


def config_text(path: Path) -> str | None:
    """Return the text of a settings file; ``None`` if there is none. Raises ``PromptuaryError`` if it is unreadable."""
    found = _read(path)
    if found is None:
        return None
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PromptuaryError(f"{one_line(str(path))} is not UTF-8; save it as UTF-8 first") from error


def check_writable(path: Path) -> None:
    """Raise ``PromptuaryError`` if the permissions of a settings file forbid writing."""
    target = _target(path)
    with suppress(FileNotFoundError, NotADirectoryError):
        if not stat.S_IMODE(target.stat().st_mode) & 0o222 or not os.access(target, os.W_OK):
            raise PromptuaryError(f"{one_line(str(path))} is read-only; make it writable first (chmod u+w)")


def replace_config(path: Path, before: str | None, after: str) -> None:
    """Replace a settings file whose text is ``before``, or create it.

    Raises ``PromptuaryError`` if it was changed since it was read, or may not be written.
    """
    _check(SettingsEdit(path, before, after))
    if after != before:
        _write(path, after.encode())


def apply_edits(client: str, edits: Sequence[SettingsEdit]) -> None:
    """Write changes of settings files, after recording how to undo them.

    Raises ``PromptuaryError`` if a file was changed since it was read, or may not be written; then nothing is written.
    """
    with _lock(client):
        noted = {file.path: file for file in list_noted_files(client)}
        for edit in edits:
            _check(edit)
            noted[edit.path] = _build_note(edit, noted.get(edit.path))
        _note(client, list(noted.values()))
        for edit in edits:
            _replace(edit, noted[edit.path].folders)


def undo_edits(client: str, edits: Sequence[SettingsEdit]) -> Mapping[Path, str]:
    """Write settings files without our entries, and delete their records, except for the entries that stay.

    Return the reason for each file that could not be written.
    """
    failed: dict[Path, str] = {}
    with _lock(client):
        noted = {file.path: file for file in list_noted_files(client)}
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


def _check(edit: SettingsEdit) -> None:
    if config_text(edit.path) != edit.before:
        raise PromptuaryError(f"{one_line(str(edit.path))} has changed meanwhile; try again")
    if edit.after != edit.before:
        check_writable(edit.path)


def _build_note(edit: SettingsEdit, earlier: NotedSettings | None) -> NotedSettings:
    follows = earlier is not None and earlier.is_as_written(edit.before)
    became = (*(earlier.became if earlier and follows else ()), _hash(edit.after))
    made = tuple(_missing(_target(edit.path).parent)) if edit.before is None else ()
    folders = made or (earlier.folders if earlier is not None else ())
    return NotedSettings(edit.path, edit.without, became[-_MAX_KNOWN:], folders, edit.entries)


def _replace(edit: SettingsEdit, folders: Sequence[str]) -> None:
    if edit.after is not None:
        if edit.after != edit.before:
            _write(edit.path, edit.after.encode())
        return
    target = _target(edit.path)
    try:
        with suppress(FileNotFoundError), _open_folder(target.parent) as opened:
            os.unlink(target.name, dir_fd=opened)
            durable.sync_folder(opened)
    except OSError as error:
        raise PromptuaryError(f"{one_line(str(edit.path))} cannot be removed: {error.strerror}") from error
    for folder in folders:
        with suppress(OSError):  # others have put something there since
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
    if len(data) > _MAX_BYTES:
        raise PromptuaryError(f"{one_line(str(path))} is larger than {_MAX_BYTES:,} bytes")
    return data


def _all_of(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(_MAX_BYTES + 1)


def _write(path: Path, data: bytes) -> None:
    target = _target(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _open_folder(target.parent) as folder:
            durable.replace(target.name, data, dir_fd=folder)
    except OSError as error:
        raise PromptuaryError(f"{one_line(str(path))} cannot be written: {error.strerror}") from error


@contextmanager
def _open_folder(path: Path) -> Iterator[int]:
    """Yield an open folder: it may be in a workspace, where only this room opens anything."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def _target(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _missing(folder: Path) -> Iterator[str]:
    """Yield the missing folders, the innermost first."""
    while not folder.exists():
        yield str(folder)
        folder = folder.parent


def _record(client: str) -> Path:
    return state_folder() / "installed" / f"{client}.json"


@contextmanager
def _lock(client: str) -> Iterator[None]:
    folder = make_folder(_record(client).parent)
    with durable.locked(folder / f"{client}.lock"):
        yield


def _note(client: str, noted: Sequence[NotedSettings]) -> None:
    path = _record(client)
    if not noted:
        with suppress(FileNotFoundError):
            path.unlink()
            durable.sync_folder(path.parent)
        return
    # Not by msgspec.json, since a name in a path may not be UTF-8.
    durable.replace(path, json.dumps(msgspec.to_builtins(noted, enc_hook=str)).encode(), mode=0o600)


def list_noted_files(client: str) -> list[NotedSettings]:
    """Return the records of the files that were changed for a client."""
    path = _record(client)
    data = _read(path)
    if data is None:
        return []
    try:
        return msgspec.convert(json.loads(data), list[NotedSettings], dec_hook=lambda _, path: Path(path))
    except (ValueError, TypeError, msgspec.ValidationError) as error:
        raise PromptuaryError(f"{path} cannot be read; remove it, and remove the entries by hand") from error


def _hash(text: str | None) -> str:
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()
