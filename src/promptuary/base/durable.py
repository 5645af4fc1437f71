"""The one way to write a file: replaces or creates it atomically, so that a crash never leaves a partial file.

A write makes a temporary file in the same folder, writes it, syncs it, renames it to its name, and syncs the folder. A
reader sees the whole old content or the whole new content at every moment; after the call returns, the new content
survives ``kill -9`` and a power cut. ``locked`` is the lock to hold around reading, changing and replacing a file.

Every function that takes a path also takes ``dir_fd``, the descriptor of an open folder. Use it where somebody else may
swap a folder of the path for a link; the path is then a name in that folder. A link in place of the file itself is
never followed: it is replaced like a file.

Errors: every function raises ``OSError`` as the system reports it. A write that fails before the rename leaves the old
content and no temporary file. If only the sync of the folder fails, the new content is in place but may not survive a
power cut. ``locked`` raises ``LockTimeoutError`` as well. Translating these for a person is left to the caller.

A process that is killed may leave its temporary file behind; ``remove_leftovers`` clears them up.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from promptuary.base.errors import LockTimeoutError

_NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_NO_FOLDER_SYNC: Final = frozenset({errno.EINVAL, errno.EOPNOTSUPP})
_PREFIX: Final = ".promptuary-"
_SUFFIX: Final = ".tmp"
_FIRST_WAIT: Final = 0.001
_LONGEST_WAIT: Final = 0.05


def replace(
    path: str | Path, content: bytes, *, mode: int | None = None, dir_fd: int | None = None, sync: bool = True
) -> None:
    """Replace the file at ``path`` with one that holds ``content``, or create it.

    ``mode`` are the permissions, less the umask; without it an existing file keeps its own, and a new one gets 0600.
    Without ``sync`` the replacement is still atomic, but a power cut may undo it or leave an empty file: for caches.
    """
    with _folder_of(path, dir_fd) as (folder, name):
        kept = _permissions(folder, name) if mode is None else None
        with temporary(folder, content, 0o600 if mode is None else mode, keep=kept, sync=sync) as written:
            os.rename(written, name, src_dir_fd=folder, dst_dir_fd=folder)
        if sync:
            sync_folder(folder)


@contextmanager
def written(path: str | Path, *, mode: int = 0o600, dir_fd: int | None = None) -> Iterator[BinaryIO]:
    """Yield a file to write to; after the block it replaces the one at ``path``, unless the block failed."""
    with _folder_of(path, dir_fd) as (folder, final), temporary(folder, b"", mode, sync=False) as name:
        descriptor = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        with open(descriptor, "r+b") as file:  # noqa: PTH123  (it is open already)
            yield file
            file.flush()
            os.fsync(descriptor)
        os.rename(name, final, src_dir_fd=folder, dst_dir_fd=folder)
        sync_folder(folder)


def create(path: str | Path, content: bytes, *, mode: int = 0o600, dir_fd: int | None = None) -> bool:
    """Create the file at ``path``; return False, and change nothing, if anything has that name already.

    On a file system without hard links, a file that appears at the moment of renaming is replaced.
    """
    with _folder_of(path, dir_fd) as (folder, name):
        if _exists(folder, name):
            return False
        with temporary(folder, content, mode) as written:
            try:
                # Unlike a rename, a hard link never replaces another file.
                os.link(written, name, src_dir_fd=folder, dst_dir_fd=folder)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno not in _NO_HARD_LINKS:
                    raise
                os.rename(written, name, src_dir_fd=folder, dst_dir_fd=folder)
        sync_folder(folder)
    return True


def make_folder(path: str | Path, *, mode: int = 0o700, dir_fd: int | None = None) -> bool:
    """Create a folder and sync the one above; return False if anything has that name already."""
    with _folder_of(path, dir_fd) as (folder, name):
        try:
            os.mkdir(name, mode, dir_fd=folder)
        except FileExistsError:
            return False
        sync_folder(folder)
    return True


@contextmanager
def opened_folder(path: str | Path, *, dir_fd: int | None = None) -> Iterator[int]:
    """Open a folder and yield its descriptor, which closes at the end of the block.

    With ``dir_fd``, ``path`` is a name in that folder and a link is refused with ``ELOOP`` or ``ENOTDIR``.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    if dir_fd is not None:
        _check_name(path)
        flags |= os.O_NOFOLLOW
    descriptor = os.open(path, flags, dir_fd=dir_fd)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def sync_folder(folder: int | Path) -> None:
    """Sync a folder, given by descriptor or path, so that its names survive a power cut, if its file system can."""
    if isinstance(folder, Path):
        with opened_folder(folder) as descriptor:
            sync_folder(descriptor)
        return
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def write_synced(descriptor: int, content: bytes) -> None:
    """Write all of ``content`` at the position of an open file, and sync it: for a file that is appended to."""
    _write(descriptor, content)
    os.fsync(descriptor)


@contextmanager
def temporary(
    folder: int, content: bytes, mode: int = 0o600, *, keep: int | None = None, sync: bool = True
) -> Iterator[str]:
    """Write a temporary file into an open folder and yield its name; remove it afterwards unless it was renamed.

    ``keep`` are permissions that it gets regardless of the umask.
    """
    name = f"{_PREFIX}{os.urandom(8).hex()}{_SUFFIX}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, mode, dir_fd=folder)
    try:
        try:
            if keep is not None:
                os.fchmod(descriptor, keep)
            _write(descriptor, content)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield name
    finally:
        with suppress(OSError):  # it was renamed, or cannot be removed: neither may hide an earlier error
            os.unlink(name, dir_fd=folder)


@contextmanager
def locked(path: str | Path, *, timeout: float | None = 10.0, dir_fd: int | None = None) -> Iterator[None]:
    """Hold the lock of the lock file at ``path``, which is created if it is missing and never removed.

    The lock excludes other processes and other threads, and the same thread too: it is not reentrant. It is released
    when the process ends, in any way. ``timeout`` is in seconds: 0 tries once, None waits forever.
    """
    if dir_fd is not None:
        _check_name(path)
    descriptor = _locked_descriptor(path, None if timeout is None else time.monotonic() + timeout, dir_fd)
    try:
        yield
    finally:
        # Not by closing alone: a child that was forked meanwhile shares the lock.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def remove_leftovers(folder: int | Path, *, older_than: float = 3600.0) -> None:
    """Remove temporary files that killed processes left in ``folder``, once they are ``older_than`` seconds old."""
    if isinstance(folder, Path):
        with suppress(OSError), opened_folder(folder) as descriptor:
            remove_leftovers(descriptor, older_than=older_than)
        return
    for name in leftovers(folder):
        with suppress(OSError):
            age = time.time() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime
            if age >= older_than:
                os.unlink(name, dir_fd=folder)


def leftovers(folder: int) -> list[str]:
    """Return the names of the temporary files in an open folder; a running process may be writing one of them."""
    every = os.listdir(folder)
    return [name for name in every if name.startswith(_PREFIX) and name.endswith(_SUFFIX)]


def _locked_descriptor(path: str | Path, deadline: float | None, dir_fd: int | None) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600, dir_fd=dir_fd)
        try:
            _flock(descriptor, path, deadline)
            if _is_at(descriptor, path, dir_fd):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the lock file was removed while we waited: the next process would lock another


def _flock(descriptor: int, path: str | Path, deadline: float | None) -> None:
    """Lock an open file. The system has no timeout for this, so it is retried."""
    if deadline is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    wait = _FIRST_WAIT
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0:
                raise LockTimeoutError(f"{Path(path).name} is locked by another process; try again.") from None
            time.sleep(min(wait, left))
            wait = min(2 * wait, _LONGEST_WAIT)
        else:
            return


def _is_at(descriptor: int, path: str | Path, dir_fd: int | None) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, dir_fd=dir_fd, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _write(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def _folder_of(path: str | Path, dir_fd: int | None) -> Iterator[tuple[int, str]]:
    """Yield the descriptor of the folder that ``path`` is in, and its name there."""
    if dir_fd is not None:
        yield dir_fd, _check_name(path)
        return
    above, name = os.path.split(path)
    with opened_folder(above or os.curdir) as folder:
        yield folder, name


def _check_name(path: str | Path) -> str:
    name = os.fspath(path)
    if os.sep in name:
        raise ValueError(f"{name!r} is not a name in a folder")  # a folder on the way could be a link
    return name


def _permissions(folder: int, name: str) -> int | None:
    """Return the permissions of the file that is replaced; None if there is none, or it is not a regular file."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_mode & 0o777 if stat.S_ISREG(found.st_mode) else None


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
