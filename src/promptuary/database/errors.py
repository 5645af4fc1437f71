"""Translates errors of SQLite into errors that say what to do. No error of sqlite3 leaves this layer."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from promptuary.base.errors import DatabaseDamagedError, PromptuaryError, shortage

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

_VAGUE = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, *_BUSY})
"""Codes that SQLite also reports if something has run out."""
_NO_SHARED_MEMORY = frozenset({sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP})
_FILES = 8
_LONGEST_FOLDER = 480
_LITTLE = 65_536
"""The least bytes on a disk that SQLite needs even for reading."""

_ADVICE = {
    sqlite3.SQLITE_FULL: shortage(errno.ENOSPC),
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that its folder exists and that you may write there.",
    sqlite3.SQLITE_PERM: "it may not be used by this user; change its permissions.",
    sqlite3.SQLITE_READONLY: "it may not be written; change its permissions or those of its folder.",
    sqlite3.SQLITE_IOERR: "the disk reported an error; nothing of this step is certain. Check the disk and repeat.",
    sqlite3.SQLITE_TOOBIG: "a text is too long to be stored; shorten it.",
}


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another connection holds the lock, so that a retry makes sense."""
    return _code(error) in _BUSY


def lacks_shared_memory(error: sqlite3.Error) -> bool:
    """Return whether the file that connections share could not be made, as on a full disk."""
    return getattr(error, "sqlite_errorcode", None) in _NO_SHARED_MEMORY


def damaged(name: str, detail: str) -> DatabaseDamagedError:
    """Return the error for a database that cannot be read."""
    return DatabaseDamagedError(
        f"{name} is damaged ({detail}). It was left as it is. Restore a backup, or move away "
        "this file and those beside it whose names begin with its name: then a new one is created."
    )


@contextmanager
def translated(name: str, folder: Path) -> Iterator[None]:
    """Translate errors of SQLite into ones that say what to do about the database ``name`` in ``folder``."""
    try:
        yield
    except UnicodeDecodeError as error:
        # SQLite quotes the damaged part in its message, and that is not valid text.
        raise damaged(name, "it holds invalid text") from error
    except sqlite3.Error as error:
        code = _code(error)
        short = _what_is_short(folder) if code in _VAGUE else ""
        if code in _BUSY and not short:
            raise PromptuaryError(f"{name} is in use by another process for too long; try again.") from error
        # Invalid text is reported without a code.
        if code in _DAMAGED or (code is None and isinstance(error, sqlite3.OperationalError)):
            raise damaged(name, str(error)) from error
        advice = short or _ADVICE.get(code or 0, f"it could not be used ({error}).")
        raise PromptuaryError(f"{name}: {advice}") from error


def _what_is_short(folder: Path) -> str:
    """Return what has run out, if anything: SQLite does not say."""
    if len(os.fsencode(folder)) > _LONGEST_FOLDER:
        return (
            f"the path of its folder is too long: SQLite opens files below {_LONGEST_FOLDER} bytes; use a shorter one."
        )
    opened: list[int] = []
    try:
        # SQLite had several files open when it failed, and has closed them since.
        for _ in range(_FILES):
            opened.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))  # noqa: PERF401
        disk = os.statvfs(folder)
    except OSError as error:
        return shortage(error.errno)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return shortage(errno.ENOSPC) if disk.f_bavail * disk.f_frsize < _LITTLE else ""


def _code(error: sqlite3.Error) -> int | None:
    """Return the code without its details, which are in the higher bits."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


@contextmanager
def sound(name: str) -> Iterator[None]:
    """Report a row that cannot be converted to a value as damage: it differs from what was written."""
    try:
        yield
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise damaged(name, str(error)) from error
