"""The files of notes on disk: every step goes through the descriptor of the folder above, and no link is followed.

A workspace may come from somebody else: a link in place of a folder or a note could redirect reads and writes. A hard
link is read like any other file; writing a note replaces its name here, so the other name keeps its content. Knows
nothing of the content of notes, nor of their owners.
"""

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from promptuary.base import durable
from promptuary.base.errors import NoteFileError
from promptuary.memory.store.paths import FOLDERS, MAX_SIZE, check_size, is_hidden, is_index, names_of, why_skipped
from promptuary.memory.store.swap import open_regular, read_all, recover, rename, swap
from promptuary.memory.values import AUDIENCES, KINDS, NoteStamp

_NOT_A_FOLDER: Final = frozenset({errno.ELOOP, errno.ENOTDIR})
_OTHERS: Final = 0o077
"""The permission bits of other users."""
_LOCK: Final = ".lock"
_TRIES: Final = 20
_STRAY: Final = f"notes lie directly in the folders {', '.join(KINDS)}, and nowhere else"
_IGNORED: Final = b"# Made by Promptuary: private notes are not for git.\n*\n"


_Folders = dict[tuple[str, ...], int]
"""Open folders: their names below that of the agent, and their descriptors."""


class NoteFiles:
    """The files of one agent's notes in the folder ``space`` below ``base``, by paths with ``/`` between names.

    A path is an audience, the folder of a kind, and a name; or an audience and the name of its index page. Nothing else
    is ever touched: any other path, a path through a link, and a path to anything but a regular file raise
    ``NoteFileError``; so do a file that is too large for a note and a failing disk. Every write is atomic, and durable
    when it returns. The private audience has a ``.gitignore`` that excludes all of it before anything else is in it.
    Methods may be called from any thread.

    ``base`` must exist when something is written, and is trusted; missing folders below it are created with access for
    the user alone. The lock file is in the private folder, where git ignores it.
    """

    by_hand = True
    """Whether people edit these files, so that they may differ from what the journal knows."""

    def __init__(self, base: Path, space: str) -> None:
        self._base = base
        self._space = tuple(space.split("/"))
        if any(name in {"", ".", ".."} or "\x00" in name for name in self._space):
            raise NoteFileError(f"{space!r} is not a folder of notes.")
        self._kept = _Kept()

    @contextmanager
    def lock(self, timeout: float = 10.0) -> Iterator[None]:
        """Hold the lock of this folder. Raises ``LockTimeoutError``."""
        with self._make("private") as folder, ExitStack() as held:
            with _translated(_LOCK):
                held.enter_context(durable.locked(_LOCK, timeout=timeout, dir_fd=folder))
            with self._kept.starting_with(folder):
                yield

    def list(self) -> Mapping[str, NoteStamp]:
        """Return every Markdown file with its stamp."""
        return {path: found for path, found in self._entries() if isinstance(found, NoteStamp)}

    def skipped(self) -> Mapping[str, str]:
        """Return files that cannot be notes, each with the reason."""
        found = {path: reason for path, reason in self._entries() if isinstance(reason, str)}
        return dict(self._strays()) | found

    def stamp(self, path: str) -> NoteStamp | None:
        """Return the stamp of a file."""
        found = self._status(path)
        if found is None:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise NoteFileError(f"{path} is a link or not a regular file, and is not used.")
        return _stamp(found)

    def is_own(self, path: str) -> bool:
        """Return whether a file belongs to the person, or to root, and nobody else can have written it.

        A file with a second hard link may be somebody else's note, or be in a folder where others write.
        """
        found = self._status(path)
        if found is None or found.st_nlink > 1:
            return False
        return found.st_uid in {os.geteuid(), 0} and not found.st_mode & stat.S_IWOTH

    def read(self, path: str) -> bytes | None:
        """Return the content of a file."""
        *folders, name = names_of(path)
        with self._open(*folders) as folder:
            if folder is None:
                return None
            with _translated(path):
                descriptor = open_regular(folder, name)
                if descriptor is None:
                    return None
                try:
                    content = read_all(descriptor)
                finally:
                    os.close(descriptor)
        check_size(path, len(content))
        return content

    def create(self, path: str, content: bytes) -> bool:
        """Create a file with its folders; return False if there is one."""
        *folders, name = names_of(path)
        check_size(path, len(content))
        with self._make(*folders) as folder, _translated(path):
            return durable.create(name, content, dir_fd=folder)

    def replace(self, path: str, content: bytes, *, expected: bytes) -> bool:
        """Replace a file whose content is ``expected``; return False if it is not. ``notes.swap`` says how."""
        *folders, name = names_of(path)
        check_size(path, len(content))
        with self._open(*folders) as folder:
            if folder is None:
                return False
            with _translated(path):
                return swap(folder, name, content, expected=expected)

    def move(self, path: str, to: str) -> bool:
        """Give a file another path, in one step; return False if it is gone or the other is taken."""
        *folders, name = names_of(path)
        *others, new_name = names_of(to)
        with self._open(*folders) as folder:
            if folder is None:
                return False
            with self._make(*others) as other, _translated(to):
                return rename(folder, name, other, new_name)

    def remove(self, path: str) -> bool:
        """Remove a file; return False if it is not there."""
        *folders, name = names_of(path)
        with self._open(*folders) as folder:
            if folder is None:
                return False
            with _translated(path):
                try:
                    os.unlink(name, dir_fd=folder)
                except FileNotFoundError:
                    return False
                durable.sync_folder(folder)
        return True

    def clean(self) -> int:
        """Remove the temporary files of killed writers, and return how many there were."""
        return sum(self._in_each(recover))

    def leftovers(self) -> int:
        """Return how many temporary files there are."""
        return sum(self._in_each(lambda folder: len(durable.leftovers(folder))))

    def exposed(self) -> Sequence[str]:
        """Return the private folder if other users can access it; everything inside it is protected by it."""
        with self._open("private") as folder:
            return ["private"] if folder is not None and os.fstat(folder).st_mode & _OTHERS else []

    def protect(self) -> None:
        """Remove the access of other users to the private folder."""
        with self._open("private") as folder, _translated("private"):
            if folder is not None:
                os.fchmod(folder, 0o700)

    def _in_each(self, work: Callable[[int], int]) -> Iterator[int]:
        """Yield the result of ``work`` for the descriptor of each folder that holds notes or lists."""
        for audience in AUDIENCES:
            for inner in ((), *((name,) for name in FOLDERS)):
                try:
                    with self._open(audience, *inner) as folder:
                        if folder is not None:
                            with _translated(audience):
                                yield work(folder)
                except NoteFileError:
                    if not self._is_skipped(audience, *inner):
                        raise

    def _status(self, path: str) -> os.stat_result | None:
        *folders, name = names_of(path)
        with self._open(*folders) as folder:
            if folder is None:
                return None
            with _translated(path):
                try:
                    return os.stat(name, dir_fd=folder, follow_symlinks=False)
                except FileNotFoundError:
                    return None

    def _entries(self) -> Iterator[tuple[str, NoteStamp | str]]:
        """Yield everything that could be a note: with its stamp, or with the reason why it is not one."""
        for audience in AUDIENCES:
            if self._is_skipped(audience):
                yield audience, "it is a link or not a folder"
                continue
            for path, found in self._entries_in(audience):
                if is_index(path.rpartition("/")[2]):
                    yield path, found
            for inner in FOLDERS:
                if self._is_skipped(audience, inner):
                    yield f"{audience}/{inner}", "it is a link or not a folder"
                else:
                    yield from self._entries_in(audience, inner)

    def _strays(self) -> Iterator[tuple[str, str]]:
        """Yield files in places that are not searched for notes: they would be ignored silently."""
        for audience in AUDIENCES:
            if self._is_skipped(audience):
                continue
            yield from self._strays_in(audience)
            for inner in FOLDERS:
                if not self._is_skipped(audience, inner):
                    yield from self._strays_in(audience, inner)

    def _strays_in(self, *folders: str) -> Iterator[tuple[str, str]]:
        is_audience = len(folders) == 1
        with self._open(*folders) as folder:
            if folder is None:
                return
            with _translated("/".join(folders)), os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    if entry.is_dir(follow_symlinks=False):
                        is_stray = not name.startswith(".") and not (is_audience and name in FOLDERS)
                    else:
                        is_stray = is_audience and not is_hidden(name) and not is_index(name)
                    if is_stray:
                        yield _readable(f"{'/'.join(folders)}/{name}"), _STRAY

    def _entries_in(self, *folders: str) -> Iterator[tuple[str, NoteStamp | str]]:
        prefix = "/".join(folders)
        with self._open(*folders) as folder:
            if folder is None:
                return
            with _translated(prefix), os.scandir(folder) as entries:
                for entry in entries:
                    if is_hidden(entry.name):
                        continue
                    try:
                        found = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    yield _entry(prefix, entry.name, found)

    def _is_skipped(self, *folders: str) -> bool:
        """Return whether something other than a folder is in the place of one."""
        *above, name = folders
        with self._open(*above) as folder:
            if folder is None:
                return False
            with _translated("/".join(folders)):
                try:
                    return not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
                except FileNotFoundError:
                    return False

    @contextmanager
    def _open(self, *folders: str) -> Iterator[int | None]:
        """Yield the descriptor of a folder; ``None`` if it does not exist."""
        if self._kept.folders is not None:
            yield self._keep_folder(self._kept.folders, folders, create=False)
            return
        descriptor = self._descend(folders, create=False)
        try:
            yield descriptor
        finally:
            if descriptor is not None:
                os.close(descriptor)

    @contextmanager
    def _make(self, *folders: str) -> Iterator[int]:
        """Yield the descriptor of a folder, creating it if it does not exist."""
        kept = self._kept.folders
        descriptor = (
            self._descend(folders, create=True) if kept is None else self._keep_folder(kept, folders, create=True)
        )
        if descriptor is None:
            raise NoteFileError("The folder of the memory was removed while it was in use; repeat this step.")
        try:
            yield descriptor
        finally:
            if kept is None:
                os.close(descriptor)

    def _keep_folder(self, kept: _Folders, folders: tuple[str, ...], *, create: bool) -> int | None:
        """Return the descriptor of a folder, which stays open while the lock is held."""
        if folders not in kept:
            if not folders:
                found = self._descend((), create=create)
            else:
                above = self._keep_folder(kept, folders[:-1], create=create)
                with _translated("/".join((*self._space, *folders))):
                    found = None if above is None else _folder(above, folders[-1], create=create)
            if found is None:
                return None
            kept[folders] = found
        return kept[folders]

    def _descend(self, folders: tuple[str, ...], *, create: bool) -> int | None:
        names = (*self._space, *folders)
        with _translated("/".join(names)):
            try:
                above = os.open(self._base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                if create:
                    raise
                return None
            for place, name in enumerate(names, 1):
                try:
                    below = _folder(above, name, create=create)
                finally:
                    os.close(above)
                if below is None:
                    return None
                above = below
                if create and name == "private" and place == len(self._space) + 1:
                    _ignore(above)
            return above


class _Kept(threading.local):
    """The folders opened by the thread that holds the lock: a write uses the same one several times."""

    folders: _Folders | None = None

    @contextmanager
    def starting_with(self, private: int) -> Iterator[None]:
        """Cache open folders from now on; ``private`` is that of the lock, and its opener closes it."""
        self.folders = {("private",): private}
        try:
            yield
        finally:
            opened, self.folders = self.folders, None
            for name, descriptor in opened.items():
                if name != ("private",):
                    os.close(descriptor)


def _folder(above: int, name: str, *, create: bool) -> int | None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=above)
    except FileNotFoundError:
        if not create:
            return None
    durable.make_folder(name, dir_fd=above)
    return os.open(name, flags, dir_fd=above)


def _ignore(folder: int) -> None:
    """Write a ``.gitignore`` for a folder, unless a person has put something else in its place.

    The lock file is in this folder, so the lock is not held yet: the process that has it may remove our temporary file.
    """
    try:
        for tries in range(_TRIES, 0, -1):
            try:
                durable.create(".gitignore", _IGNORED, mode=0o644, dir_fd=folder)
            except FileNotFoundError:
                if tries == 1:
                    raise
            else:
                return
    except BaseException:
        os.close(folder)
        raise


def _readable(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()


def _entry(prefix: str, name: str, found: os.stat_result) -> tuple[str, NoteStamp | str]:
    path = f"{prefix}/{name}"
    reason = why_skipped(name)
    if reason is None and not stat.S_ISREG(found.st_mode):
        reason = "it is a link or not a regular file"
    if reason is None and found.st_size > MAX_SIZE:
        reason = f"it is larger than {MAX_SIZE >> 20} MiB"
    if reason is not None:
        return _readable(path), reason
    return path, _stamp(found)


def _stamp(found: os.stat_result) -> NoteStamp:
    return NoteStamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Translate system errors into errors with the path as a person knows it."""
    try:
        yield
    except OSError as error:
        if error.errno in _NOT_A_FOLDER:
            raise NoteFileError(f"A folder of {path} is a link or not a folder, and is not used.") from error
        if error.errno == errno.ENOSPC:
            raise NoteFileError(f"{path} cannot be written: the disk is full. Make room and repeat.") from error
        raise NoteFileError(f"{path} cannot be used ({error.strerror}).") from error
