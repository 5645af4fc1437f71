"""Replaces a file only if nobody has changed it: compare and swap against editors, which do not take a lock.

The new file and the old one exchange their names in one step (``renameat2``), so the file that was in place at that
moment is available afterwards, and is put back if it is not the expected one: then an editor saved by renaming. An
editor that writes in place keeps the file open: while one does, the file is not replaced, and a lease reports one that
opens it during the exchange; then, too, the old file is put back, and the editor writes into it.

Remaining gaps: an editor whose call to open the file has started but is delayed in the kernel for longer than syncing a
folder takes. Where the file system has no exchange, a save within the microseconds between the last comparison and the
rename is lost; where it has no leases, so is what an editor writes in place into a file that it opened before.

A process that is killed during the exchange leaves the old file, or an editor's save, under the name of a temporary
file. That name contains the expected and the new hash, so ``recover`` knows which of the two it is.
"""

import ctypes
import errno
import fcntl
import hashlib
import os
import re
import signal
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Final

from promptuary.base import durable
from promptuary.base.errors import NoteFileError
from promptuary.memory.store.paths import MAX_SIZE

_EXCHANGE: Final = 2
_NO_REPLACE: Final = 1
_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})
_PATIENCE: Final = 2.0
"""Seconds to wait for an editor that is writing the file."""
_PAUSE: Final = 0.002
_TAKEN_OUT: Final = re.compile(r"\.promptuary-([0-9a-f]{16})-([0-9a-f]{16})\.tmp")

FileId = tuple[int, int]
"""The identity of a file: the numbers of its device and its inode."""


def open_regular(folder: int, name: str) -> int | None:
    """Return a descriptor of the regular file ``name``; ``None`` if there is none. Raises ``NoteFileError``."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO}:
            raise NoteFileError(f"{name} is a link or not a regular file, and is not used.") from error
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise NoteFileError(f"{name} is not a regular file, and is not used.")


def read_all(descriptor: int) -> bytes:
    """Return the content of an open file from its beginning, at most one byte more than a note may have."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    parts: list[bytes] = []
    left = MAX_SIZE + 1
    while left and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def swap(folder: int, name: str, content: bytes, *, expected: bytes) -> bool:
    """Replace the file ``name`` if its content is ``expected``; otherwise return False and change nothing.

    Raises ``NoteFileError`` if another program keeps the file open for writing.
    """
    before = open_regular(folder, name)
    if before is None:
        return False
    try:
        if read_all(before) != expected:
            return False
        mode = os.fstat(before).st_mode & 0o777
        with durable.temporary(folder, content, keep=mode) as temporary:
            is_leased = _lease(before, name)
            if read_all(before) != expected or _id_at(folder, name) != _id_of(before):
                return False
            taken_out = f".promptuary-{_short(content)}-{_short(expected)}.tmp"
            os.rename(temporary, taken_out, src_dir_fd=folder, dst_dir_fd=folder)
            return _exchange(folder, name, taken_out, before, expected=None if is_leased else expected)
    finally:
        os.close(before)  # ends the lease


def _exchange(folder: int, name: str, temporary: str, before: int, *, expected: bytes | None) -> bool:
    """Exchange the files, if the replaced one is still the open file ``before``, unchanged.

    ``expected`` is its content, to compare if there is no lease that reports changes. An error after the exchange
    leaves the temporary file to ``recover``: it may hold what somebody saved.
    """
    new = _id_at(folder, temporary)
    try:
        if not _rename(folder, temporary, name, _EXCHANGE):
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            durable.sync_folder(folder)
            return True
    except FileNotFoundError:  # somebody has removed the file
        os.unlink(temporary, dir_fd=folder)
        return False

    def is_as_expected() -> bool:
        if _id_at(folder, temporary) != _id_of(before):
            return False
        return _lease_holds(before) if expected is None else read_all(before) == expected

    as_expected = is_as_expected()
    if as_expected:
        # This takes so long that an editor that found the old file just before the exchange has opened it by now.
        durable.sync_folder(folder)
        as_expected = is_as_expected()
    if not as_expected:
        _put_back(folder, name, temporary, new)
    with suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=folder)
    return as_expected


def _put_back(folder: int, name: str, temporary: str, placed: FileId | None) -> None:
    """Put the file under ``temporary`` back in place of the one that we ``placed``.

    If yet another file is in place by now, it was saved even later and is put back: the last save wins.
    """
    while True:
        held = _id_at(folder, temporary)
        try:
            _rename(folder, temporary, name, _EXCHANGE)
        except FileNotFoundError:  # somebody has moved the file
            with suppress(FileExistsError):
                _rename(folder, temporary, name, _NO_REPLACE)
                break
            continue
        if _id_at(folder, temporary) == placed:
            break
        placed = held
    durable.sync_folder(folder)


def rename(folder: int, name: str, other: int, new_name: str) -> bool:
    """Move a file to another folder; return False, and change nothing, if it is gone or the name there is taken.

    If the file system cannot refuse to replace a file, one that appears at the moment of the move is replaced.
    """
    try:
        if not _rename(folder, name, new_name, _NO_REPLACE, other=other):
            if _id_at(other, new_name) is not None:
                return False
            os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=other)
    except (FileNotFoundError, FileExistsError):
        return False
    durable.sync_folder(other)
    durable.sync_folder(folder)
    return True


def recover(folder: int) -> int:
    """Remove the temporary files of killed writers, and return how many there were.

    One that holds an editor's save is put back in place of what was written over it, or, if that has changed since,
    becomes a separate file. Nobody else may be writing.
    """
    names = durable.leftovers(folder)
    for name in names:
        if (taken_out := _TAKEN_OUT.fullmatch(name)) and (saved := _hash_at(folder, name)) not in taken_out.groups():
            written = [note for note in os.listdir(folder) if _is_note(note)]
            over = next((note for note in written if _hash_at(folder, note) == taken_out[1]), f"recovered-{saved}.md")
            os.rename(name, over, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            with suppress(FileNotFoundError):  # that of a .gitignore, which is written without the lock
                os.unlink(name, dir_fd=folder)
    if names:
        durable.sync_folder(folder)
    return len(names)


def _is_note(name: str) -> bool:
    return name.endswith(".md") and not name.startswith(".")


def _hash_at(folder: int, name: str) -> str:
    """Return the short hash of a file; empty if it is not a regular file."""
    try:
        descriptor = open_regular(folder, name)
    except NoteFileError:
        return ""
    if descriptor is None:
        return ""
    try:
        return _short(read_all(descriptor))
    finally:
        os.close(descriptor)


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _lease(descriptor: int, name: str) -> bool:
    """Take a lease that reports when somebody opens the file for writing; return False if that is not supported.

    Waits for programs that have it open for writing. Programs that open it later wait until the lease ends.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # one that is ignored; the default would kill us
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise NoteFileError(f"{name} is being written by another program; try again.") from error
            time.sleep(_PAUSE)
        except (OSError, AttributeError):  # another system, a file system without leases, a file of another user
            return False
        else:
            return True


def _lease_holds(descriptor: int) -> bool:
    return fcntl.fcntl(descriptor, fcntl.F_GETLEASE) == fcntl.F_RDLCK


def _rename(folder: int, source: str, target: str, flags: int, *, other: int | None = None) -> bool:
    """Rename with flags, into the folder ``other`` if that is given; return False, and do nothing, if none can."""
    call = _renameat2()
    if call is None:
        return False
    if call(folder, os.fsencode(source), folder if other is None else other, os.fsencode(target), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), target)


@cache
def _renameat2() -> Callable[..., int] | None:
    try:
        call: Callable[..., int] = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return None
    return call


def _id_of(descriptor: int) -> FileId:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def _id_at(folder: int, name: str) -> FileId | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
