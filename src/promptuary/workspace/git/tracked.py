"""Paths that git tracks, looked up in any spelling, and a stamp that shows when git's answer may have changed.

A pull may change a tracked file, so its content may be somebody else's. Git's index is read here: starting git takes
longer than most turns. Starts no process.
"""

import hashlib
import os
import re
import struct
from collections.abc import Iterable
from pathlib import Path
from stat import S_ISREG
from typing import Final, NamedTuple, Self

from msgspec import Struct

from promptuary.base.errors import SourceError
from promptuary.workspace.disk.root import comparable
from promptuary.workspace.git.locate import GitFolder, read_inside

_MAX_INDEX: Final = 512 << 20
_MAX_NAME: Final = 4096
_MAX_NAMES: Final = 256 << 20
"""Bytes of a path, and of all: names that share their start take more room here than in the index."""
_MAX_CONFIG: Final = 1 << 20
_ANY_CASE: Final = re.compile(rb"ignorecase\s*(?:=\s*\"?(?:true|yes|on|1)|$)", re.IGNORECASE | re.MULTILINE)
"""What git notes of a file system that does not distinguish upper and lower case."""


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


def tracked_in_index(git: GitFolder, workspace: Path, path: str) -> list[str] | None:
    """Return what ``Repository.tracked_below`` does; ``None`` if only git itself can tell.

    ``workspace`` is the folder that the names are relative to, without links on the way.
    """
    if not git.proven:
        return None
    try:
        names = _index_names(git.own)
        any_case = _ANY_CASE.search(read_inside(git.common, "config", _MAX_CONFIG) or b"") is not None
    except (SourceError, ValueError, IndexError, struct.error):
        return None
    if names is None:
        return None
    start, above = comparable(path), workspace.relative_to(git.top).as_posix()
    prefix = "" if above == "." else f"{above}/"
    first = path.partition("/")[0]
    below = (name[len(prefix) :] for name in map(os.fsdecode, names) if name.startswith(prefix))
    # As git does: the first folder counts in other spellings only where the file system does not tell them apart.
    likely = ((name, comparable(name)) for name in below if any_case or name.partition("/")[0] == first)
    return [name for name, parts in likely if parts[: len(start)] == start[: len(parts)]]


def _index_names(git_folder: Path) -> list[bytes] | None:
    """Return the names in git's index; ``None`` if parts of it are elsewhere, or it is of a kind that is not known.

    Raises an error if it is damaged.
    """
    data = read_inside(git_folder, "index", _MAX_INDEX)
    if data is None:
        return None if os.path.lexists(git_folder / "index") else []
    mark, version, count = struct.unpack(">4sII", data[:12])
    if (
        mark != b"DIRC"
        or version not in {2, 3, 4}
        or hashlib.sha1(data[:-20], usedforsecurity=False).digest() != data[-20:]
    ):
        return None
    names, position, name, room = [], 12, b"", _MAX_NAMES
    for _ in range(count):
        (flags,) = struct.unpack(">H", data[position + 60 : position + 62])
        start = position + (64 if flags & 0x4000 else 62)  # two bytes more of flags
        if version == 4:
            shared, start = _varint(data, start)
            if shared > len(name):
                raise ValueError("a name shares more than the one before has")
            kept = name[: len(name) - shared]
        else:
            kept = b""
        end = data.index(b"\0", start)
        name = kept + data[start:end]
        room -= len(name)
        if len(name) > _MAX_NAME or room < 0 or flags & 0xFFF != min(len(name), 0xFFF):
            raise ValueError("a name is too long, or not as long as it says")
        names.append(name)
        position = end + 1 if version == 4 else position + ((end - position + 8) & ~7)
    while position < len(data) - 20:
        kind, size = struct.unpack(">4sI", data[position : position + 8])
        if not kind[:1].isupper():  # it changes what the entries mean: a shared index, or folders instead of files
            return None
        position += 8 + size
    if position != len(data) - 20:
        raise ValueError("the index is longer than its parts")
    return names


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number as git writes it in names that share their start with the one before, and where it ends."""
    byte = data[position]
    value, position = byte & 0x7F, position + 1
    while byte & 0x80:
        byte = data[position]
        value, position = ((value + 1) << 7) | (byte & 0x7F), position + 1
        if value > _MAX_NAME:  # and so that a long one does not take quadratic time
            raise ValueError("a name shares more than a name can have")
    return value, position
