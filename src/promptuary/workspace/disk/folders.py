"""Lists the folders of a workspace: names, kinds and status, without following a link.

For very many paths: a folder is opened once for consecutive queries. A link that replaces a folder meanwhile is not
followed. Opens no file, and does not know which names may be read or listed.
"""

import errno
import os
from pathlib import Path
from typing import Literal, Self

from promptuary.workspace.disk.openers import LIST, PEEK, best_opener

EntryKind = Literal["file", "folder", "link", "special"]
"""The kind of an entry in a folder."""

_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
_DOTS = frozenset({".", ".."})


class Folders:
    """The folders below ``root``; use it in a ``with`` block. It is empty if ``root`` cannot be opened."""

    def __init__(self, root: Path) -> None:
        try:
            self._root = os.open(root, (PEEK & ~os.O_NONBLOCK) | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            self._root = -1
        self._open = best_opener(self._root)
        self._folder: str | None = None
        self._descriptor: int | OSError = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()
        if self._root >= 0:
            os.close(self._root)

    def entries(self, folder: str) -> list[tuple[str, EntryKind]] | None:
        """Return the names in ``folder``, empty or ending in a slash; ``None`` if it cannot be listed."""
        try:
            descriptor = self._open(self._root, folder[:-1] or ".", LIST)
        except OSError:
            return None
        try:
            with os.scandir(descriptor) as entries:
                return [(entry.name, _kind(entry)) for entry in entries]
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of ``path``, of a link itself; ``None`` if it is not there, or not plainly below the root.

        A path through a link or up, or one that begins with a slash, is not. Raises ``OSError`` or ``ValueError`` if it
        cannot be examined.
        """
        folder, _, name = path.rpartition("/")
        if name in _DOTS:
            return None
        if folder != self._folder:
            self._enter(folder)
        try:
            if isinstance(self._descriptor, OSError):
                raise self._descriptor
            return os.stat(name or ".", dir_fd=self._descriptor, follow_symlinks=False)
        except OSError as error:
            if error.errno in _NOT_THERE:
                return None
            raise

    def _enter(self, folder: str) -> None:
        self._leave()
        try:
            if folder and not all(name and name not in _DOTS for name in folder.split("/")):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            self._descriptor = self._open(self._root, folder or ".", PEEK | os.O_DIRECTORY)
        except OSError as error:
            self._descriptor = error
        self._folder = folder

    def _leave(self) -> None:
        if isinstance(self._descriptor, int) and self._descriptor >= 0:
            os.close(self._descriptor)
        self._folder, self._descriptor = None, -1


def _kind(entry: os.DirEntry[str]) -> EntryKind:
    if entry.is_file(follow_symlinks=False):
        return "file"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "link" if entry.is_symlink() else "special"
