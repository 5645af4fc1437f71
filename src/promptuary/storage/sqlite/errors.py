"""Translates errors of SQLite into errors that say what to do. No error of sqlite3 leaves this layer."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from promptuary.core.errors import DatabaseDamagedError, PromptuaryError

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full, and nothing was added to it. Make room and repeat.",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that its folder exists and that you may write there.",
    sqlite3.SQLITE_PERM: "it may not be used by this user; change its permissions.",
    sqlite3.SQLITE_READONLY: "it may not be written; change its permissions or those of its folder.",
    sqlite3.SQLITE_IOERR: "the disk reported an error; nothing of this step is certain. Check the disk and repeat.",
    sqlite3.SQLITE_TOOBIG: "a text is too long to be stored; shorten it.",
}


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another connection holds the lock, so that a retry makes sense."""
    return _code(error) in _BUSY


def damaged(name: str, detail: str) -> DatabaseDamagedError:
    """Return the error for a database that cannot be read."""
    return DatabaseDamagedError(
        f"{name} is damaged ({detail}). It was left as it is. Restore a backup, or move away "
        "this file and those beside it whose names begin with its name: then a new one is created."
    )


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Translate errors of SQLite into ones that say what to do about the database ``name``."""
    try:
        yield
    except UnicodeDecodeError as error:
        # SQLite quotes the damaged part in its message, and that is not valid text.
        raise damaged(name, "it holds invalid text") from error
    except sqlite3.Error as error:
        code = _code(error)
        if code in _BUSY:
            raise PromptuaryError(f"{name} is in use by another process for too long; try again.") from error
        # Invalid text is reported without a code.
        if code in _DAMAGED or (code is None and isinstance(error, sqlite3.OperationalError)):
            raise damaged(name, str(error)) from error
        raise PromptuaryError(f"{name}: {_ADVICE.get(code or 0, f'it could not be used ({error}).')}") from error


def _code(error: sqlite3.Error) -> int | None:
    """Return the code without its details, which are in the higher bits."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


@contextmanager
def sound(name: str) -> Iterator[None]:
    """Report a row that cannot be converted to a value as damage: it differs from what was written."""
    try:
        yield
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise damaged(name, str(error)) from error
