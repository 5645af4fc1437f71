"""The folders of an index: the current generation, and during a rebuild the next one.

A rebuild writes a new generation next to the old one, which is read until the new one is complete; then the file
``current``, which names the generation to read, is replaced. Also provides the writer lock. Does not know the content
of the folders.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from promptuary.base import durable
from promptuary.base.errors import LockTimeoutError, StorageError
from promptuary.base.files import Stamp

_CURRENT: Final = "current"
_LOCK: Final = "lock"
_TRIES: Final = 3
"""How often removing a folder is tried: a reader may just have put a file there."""


class Generations:
    """The generations of one index, numbered from 1 on, in the existing folder ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._current = str(folder / _CURRENT)
        self._last: tuple[Stamp, Path] | None = None

    def current(self) -> Path | None:
        """Return the folder of the current generation; ``None`` if there is none, or ``current`` is invalid."""
        try:
            # Every search asks several times: the file is read only when it was replaced.
            found = os.lstat(self._current)
            stamp = Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
            last = self._last
            if last is None or last[0] != stamp:
                self._last = last = stamp, self.folder / self._name()
            return last[1] if stat.S_ISDIR(os.lstat(last[1]).st_mode) else None
        except (OSError, ValueError):
            return None

    def _name(self) -> str:
        """Return the name of the current generation. Raises ``ValueError`` if ``current`` is invalid."""
        # A foreign workspace may have a pipe or a link in its place: neither block on it nor follow it.
        descriptor = os.open(self._current, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            name = os.read(descriptor, 20).decode("ascii", "replace").strip()
        finally:
            os.close(descriptor)
        if not _is_number(name):
            raise ValueError(f"{name!r} is not the number of a generation")
        return name

    def begin(self) -> Path:
        """Create the folder of the next generation. Only the writer may call this."""
        with _explained(self.folder):
            taken = [int(path.name) for path in self._numbered()]
            path = self.folder / str(max(taken, default=0) + 1)
            path.mkdir(mode=0o700)
        return path

    def publish(self, path: Path) -> None:
        """Make ``path`` the current generation."""
        with _explained(self.folder):
            durable.replace(self.folder / _CURRENT, f"{path.name}\n".encode(), mode=0o600)

    def sweep(self, *, whole: bool = False) -> None:
        """Remove all other generations. Readers that have one open can continue. Only the writer may call this.

        ``whole`` raises ``StorageError`` if anything of them is left; otherwise the next writer tries again.
        """
        current = self.current()
        with _explained(self.folder):
            _remove([path for path in self._numbered() if path != current], whole=whole)
            durable.remove_leftovers(self.folder)

    def _numbered(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if _is_number(path.name)]

    @contextmanager
    def lock(self) -> Iterator[bool]:
        """Try to become the writer; yield whether that worked. The lock is released when the process ends."""
        with ExitStack() as held:
            try:
                with _explained(self.folder / _LOCK):
                    # Somebody may have removed the whole index.
                    with suppress(FileExistsError):
                        self.folder.mkdir(mode=0o700)
                    held.enter_context(durable.locked(self.folder / _LOCK, timeout=0))
            except LockTimeoutError:
                yield False
                return
            yield True


def remove_indexes(folder: Path, prefix: str, *, but: str = "") -> None:
    """Remove the indexes in a folder whose names begin with ``prefix``, except ``but``; they are rebuilt when needed.

    Raises ``StorageError`` if anything of them is left.
    """
    _remove([path for path in folder.iterdir() if path.name.startswith(prefix) and path.name != but], whole=True)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Raise ``StorageError`` for an ``OSError``: the index may be removed at any moment, by `git clean` perhaps."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"The index cannot be written: {path} cannot be opened ({error.strerror}). "
            "If something else is in its place, remove it; if the folder was removed, start again."
        ) from error


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) < 19


def _remove(folders: Sequence[Path], *, whole: bool) -> None:
    """Remove folders with their content; other entries stay. ``whole`` raises if something is left."""
    for folder in folders:
        for left in reversed(range(_TRIES)):
            try:
                _remove_one(folder)
            except FileNotFoundError:  # another process removes it, too
                continue
            except OSError as error:
                if whole and not left:
                    raise StorageError(
                        f"An old index, {folder}, cannot be removed ({error.strerror}); check the disk, then try again."
                    ) from error
            else:
                break


def _remove_one(folder: Path) -> None:
    if not folder.is_dir() or folder.is_symlink():
        return
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
    folder.rmdir()
