"""Paths that git tracks, looked up in any spelling, and a stamp that shows when git's answer may have changed.

A pull may change a tracked file, so its content may be somebody else's. Starts no process.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple, Self

from msgspec import Struct

from promptuary.workspace.disk.comparable import comparable


class IndexStamp(NamedTuple):
    """The place, size, times and number of git's index: while it is the same, git tracks the same files."""

    folder: str
    size: int
    modified: int
    changed: int
    number: int


class TrackedPaths(Struct, frozen=True):
    """The paths below one folder that git tracks, relative to it; False if there are none.

    If the folder is in a submodule, that is every path below it.
    """

    _comparable: frozenset[str] = frozenset()

    @classmethod
    def below(cls, folder: str, names: Iterable[str]) -> Self:
        """Return those among ``names``, which are at or below ``folder`` or submodules around it."""
        depth = len(comparable(folder))
        return cls(frozenset("/".join(comparable(name)[depth:]) for name in names))

    def __contains__(self, path: object) -> bool:
        """Return whether git tracks ``path``, relative to the folder, in this or another spelling."""
        names = comparable(path) if isinstance(path, str) else []
        return any("/".join(names[:count]) in self._comparable for count in range(len(names) + 1))

    def __bool__(self) -> bool:
        return bool(self._comparable)


def index_stamp(git_folder: Path) -> IndexStamp | None:
    """Return the stamp of the index in ``git_folder``; ``None`` if it has no index that can be stamped."""
    try:
        status = os.lstat(git_folder / "index")
    except OSError:
        return None
    if not S_ISREG(status.st_mode):
        return None
    return IndexStamp(str(git_folder), status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
