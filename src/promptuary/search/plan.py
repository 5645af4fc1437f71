"""Plans a sync: compares the files on disk with the index. Pure: nothing is read or written here.

A file whose stamp is unchanged is not opened. A file that is new or has another stamp is read, and its hash decides:
unchanged, moved from a path that is gone, or changed. If a folder is missing or empty, nothing is deleted: an unmounted
disk must not cost an index.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from promptuary.base.files import Stamp
from promptuary.search.values import UNREAD, HeldReason, IndexedFile

_CLOCK_TICK: Final = 50_000_000
"""Nanoseconds within which two changes of a file may get the same time: clocks of file systems tick slowly."""


_FEWEST_COPIED: Final = 10


class Plan(NamedTuple):
    """``read``: the files to read. ``gone``: files in the index but not on disk. ``held``: why none may be deleted."""

    read: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    held: HeldReason | None = None

    def __bool__(self) -> bool:
        return bool(self.read or self.gone)


def plan(
    disk: Mapping[str, Stamp],
    known: Mapping[str, IndexedFile],
    *,
    unavailable: HeldReason | None = None,
    others: bool = False,
) -> Plan:
    """Compare a whole folder. ``unavailable`` is why it cannot be listed, if so; then ``disk`` is ignored.

    ``others``: the folder has other files that are not indexed, so it is not empty.
    """
    if unavailable is not None:
        return Plan(held=unavailable) if known else Plan()
    read = tuple(sorted(path for path, stamp in disk.items() if _is_suspect(stamp, known.get(path))))
    gone = tuple(sorted(known.keys() - disk.keys()))
    return Plan(read, gone, "empty" if gone and not disk and not others else None)


def plan_some(looked: Mapping[str, Stamp | None], known: Mapping[str, IndexedFile], *, others: bool) -> Plan:
    """Compare only the paths of ``looked``; ``None`` is a path at which there is no file.

    ``known`` are the indexed files at and below these paths; ``others``: the folder has more indexed files.
    """
    read = sorted(path for path, stamp in looked.items() if stamp is not None and _is_suspect(stamp, known.get(path)))
    gone = tuple(sorted(path for path in known if looked.get(path) is None))
    left = others or any(stamp is not None for stamp in looked.values())
    return Plan(tuple(read), gone, None if left or not gone else "empty")


def clone_minute(disk: Mapping[str, Stamp]) -> int | None:
    """Return the minute in which most of the files were written: they were copied, so their times mean nothing.

    ``None`` if there is none, or if the files are too few to tell.
    """
    minutes = Counter(map(minute_of, disk.values()))
    minute, count = next(iter(minutes.most_common(1)), (0, 0))
    return minute if count >= _FEWEST_COPIED and count * 2 > len(disk) else None


def minute_of(stamp: Stamp) -> int:
    """Return the minute of the last change, counted from 1970."""
    return stamp.modified // 60_000_000_000


class Moves:
    """The files ``gone`` by their hashes: each may have moved to one new path."""

    def __init__(self, gone: Iterable[str], known: Mapping[str, IndexedFile]) -> None:
        self._by_hash: dict[str, list[str]] = defaultdict(list)
        for path in gone:
            if known[path].sha256 != UNREAD:
                self._by_hash[known[path].sha256].append(path)

    def take(self, sha256: str, name: str) -> str | None:
        """Remove and return a path that had this content, preferably with this file name; ``None`` if none had."""
        paths = self._by_hash.get(sha256)
        if not paths:
            return None
        best = next((path for path in paths if path.rpartition("/")[2] == name), paths[0])
        paths.remove(best)
        return best


def stamp_to_store(stamp: Stamp, read_at: int) -> Stamp:
    """Return the stamp to store for a file read at ``read_at``; a too recent one never compares as equal.

    A file that changes twice within one tick of the clock has the same stamp both times.
    """
    if read_at - max(stamp.changed, stamp.modified) > _CLOCK_TICK:
        return stamp
    return Stamp(stamp.size, stamp.modified, 0, stamp.inode)


def _is_suspect(stamp: Stamp, known: IndexedFile | None) -> bool:
    return known is None or known.stamp != stamp
