"""The folders that an index lives in: one that is read, and at times the next, which is being made.

An index that is made anew is made beside the old one, which answers until the new one is whole; then a file of one line
is replaced, and from then on the new one answers. Also the lock of the one writer. Knows nothing of what is in them.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from promptuary import durable

_CURRENT: Final = "current"
_LOCK: Final = "lock"


class Generations:
    """The generations of one index, numbered from 1 on, in ``folder``, which must be there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def current(self) -> Path | None:
        """Return the one that is read; none if there is none yet, or what says so cannot be made out."""
        try:
            # Whatever lies there in a stranger's workspace, it is not waited for.
            descriptor = os.open(self.folder / _CURRENT, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                name = os.read(descriptor, 20).decode("ascii", "replace").strip()
            finally:
                os.close(descriptor)
        except OSError:
            return None
        path = self.folder / name
        return path if _is_number(name) and path.is_dir() and not path.is_symlink() else None

    def begin(self) -> Path:
        """Make the folder of the next; only the writer may."""
        taken = [int(path.name) for path in self.folder.iterdir() if _is_number(path.name)]
        path = self.folder / str(max(taken, default=0) + 1)
        path.mkdir(mode=0o700)
        return path

    def publish(self, path: Path) -> None:
        """Have ``path`` read from now on."""
        durable.replace(self.folder / _CURRENT, f"{path.name}\n".encode(), mode=0o600)

    def sweep(self) -> None:
        """Remove every folder but the one that is read; who still reads in one may go on. Only the writer may."""
        current = self.current()
        for path in self.folder.iterdir():
            if _is_number(path.name) and path != current and path.is_dir() and not path.is_symlink():
                _remove(path)
        durable.remove_leftovers(self.folder)

    @contextmanager
    def lock(self) -> Iterator[bool]:
        """Become the writer, if nobody is; tell whether that worked. It ends with the process, however that ends."""
        # Anybody may remove the whole index.
        with suppress(FileExistsError):
            self.folder.mkdir(mode=0o700)
        with ExitStack() as held:
            try:
                held.enter_context(durable.locked(self.folder / _LOCK, timeout=0))
            except durable.LockTimeoutError:
                yield False
                return
            yield True


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) < 19


def _remove(folder: Path) -> None:
    """Remove a folder with everything in it, or as much as can be: the next writer tries again."""
    with suppress(OSError):
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)
        folder.rmdir()
