"""Paths that git tracks, looked up in any spelling; and when the answer of git can have changed.

A file that is tracked may be changed by a pull, so what is in it may be somebody else's. Starts no process.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Self

from promptuary.workspace.disk.comparable import comparable

IndexStamp = tuple[str, int, int, int, int]
"""The place, size, times and number of git's index: as long as it is the same, git tracks the same."""


@dataclass(frozen=True, slots=True)
class TrackedPaths:
    """Some of the paths that git tracks. False if there are none."""

    _comparable: frozenset[str] = frozenset()

    @classmethod
    def of(cls, names: list[str]) -> Self:
        """Return the paths with these names."""
        return cls(frozenset("/".join(comparable(name)) for name in names))

    def __contains__(self, path: str) -> bool:
        """Return whether git tracks ``path``, or a folder above it as a submodule."""
        names = comparable(path)
        return any("/".join(names[:count]) in self._comparable for count in range(1, len(names) + 1))

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
    return str(git_folder), status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
