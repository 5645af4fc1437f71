"""Replaces a file only if nobody has changed it: compare and swap against editors, which ask for no lock.

The new file and the old one exchange their names in one step (``renameat2``), so that whatever was in place at that
very moment is in our hands afterwards, and goes back if it is not what was expected: the save of an editor that
renames. An editor that writes in place keeps a file open: while one has, the file is not replaced, and a lease tells us
of one that opens it while we are at it; then, too, the old file goes back, and the editor writes into it.

What remains: an editor whose call to open the file has begun but is held up in the kernel for longer than a folder
takes to sync. Where the file system has no exchange, a save within the microseconds between the last comparison and the
rename is lost; where it has no leases, so is what an editor writes in place into a file that it opened before.

A process that is killed between the exchange and its end leaves the old file, or the save of an editor, under the name
of a temporary file. That name says what was expected and what was new, so ``recover`` knows which of the two it is.
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

from promptuary import durable
from promptuary.core.errors import NoteFileError
from promptuary.storage.notes.paths import LARGEST

_EXCHANGE: Final = 2
_NO_REPLACE: Final = 1
_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})
_PATIENCE: Final = 2.0
"""Seconds to wait for an editor that is writing the file."""
_PAUSE: Final = 0.002
_TAKEN_OUT: Final = re.compile(r"\.promptuary-([0-9a-f]{16})-([0-9a-f]{16})\.tmp")

FileId = tuple[int, int]
"""What tells a file from any other: the numbers of its device and its inode."""


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
    left = LARGEST + 1
    while left and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def swap(folder: int, name: str, content: bytes, *, expected: bytes) -> bool:
    """Replace the file ``name``, whose content is ``expected``; return False, and change nothing, if it is not.

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
        os.close(before)  # which ends the lease


def _exchange(folder: int, name: str, temporary: str, before: int, *, expected: bytes | None) -> bool:
    """Exchange the files, if the one that comes out is still the open file ``before``, unchanged.

    ``expected`` is its content if no lease tells whether it has changed. An error after the exchange leaves the
    temporary file to ``recover``: it may hold what somebody saved.
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

    If something else is in place by now, it was saved even later and goes in again: the last save stays.
    """
    while True:
        held = _id_at(folder, temporary)
        try:
            _rename(folder, temporary, name, _EXCHANGE)
        except FileNotFoundError:  # somebody has moved the file away
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

    Where the file system cannot refuse to replace a file, one that appears at the very moment of the move is replaced.
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

    One that holds the save of an editor goes back in place of what was written over it, or, if that has changed since,
    becomes a file of its own. Nobody else may be writing.
    """
    names = durable.leftovers(folder)
    for name in names:
        if (taken_out := _TAKEN_OUT.fullmatch(name)) and (saved := _hash_at(folder, name)) not in taken_out.groups():
            written = [one for one in os.listdir(folder) if _is_note(one)]
            over = next((one for one in written if _hash_at(folder, one) == taken_out[1]), f"recovered-{saved}.md")
            os.rename(name, over, src_dir_fd=folder, dst_dir_fd=folder)
        else:
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
    """Have ourselves told when somebody opens the file for writing; return False if the file system cannot.

    Waits for those who have it open for writing. Whoever opens it later waits until the lease ends.
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
