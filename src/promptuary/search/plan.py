"""What a sync has to do: what is on disk beside what is indexed. Pure: nothing is read or written here.

A file whose stamp is as it was is not opened. One that is new or looks different is read, and its hash decides: the
same as before, moved here from a path that is gone, or changed. A folder that vanished or was emptied deletes nothing:
a disk that is not mounted must not cost an index.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from promptuary.core.search import IndexedFile, Stamp

UNREAD: Final = "0" * 64
"""The hash of a file that is known and holds nothing for us: binary, too large, not allowed."""

_SETTLED: Final = 50_000_000
"""Nanoseconds after which a change shows in a file's stamp: clocks of file systems tick slowly."""

Action = Literal["same", "moved", "changed", "added"]


@dataclass(frozen=True, slots=True)
class Plan:
    """``read``: what to look into. ``gone``: what is indexed and not there. ``held``: why nothing may be deleted."""

    read: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    held: str = ""

    def __bool__(self) -> bool:
        return bool(self.read or self.gone)


def plan(disk: Mapping[str, Stamp], known: Mapping[str, IndexedFile], *, alive: bool = True, reason: str = "") -> Plan:
    """Compare a whole folder. ``alive`` says whether it is there at all, ``reason`` why not."""
    if not alive:
        return Plan(held=reason or "the folder is not there") if known else Plan()
    read = tuple(sorted(path for path, stamp in disk.items() if _is_suspect(stamp, known.get(path))))
    gone = tuple(sorted(known.keys() - disk.keys()))
    return Plan(read, gone, "the folder has no files left" if gone and not disk else "")


def plan_some(looked: Mapping[str, Stamp | None], known: Mapping[str, IndexedFile], *, others: bool) -> Plan:
    """Compare only what was looked at; ``None`` is a path at which there is no file.

    ``known`` holds what is indexed at these paths and below them; ``others`` says whether more of the folder is.
    """
    read = sorted(path for path, stamp in looked.items() if stamp is not None and _is_suspect(stamp, known.get(path)))
    gone = tuple(sorted(path for path in known if looked.get(path) is None))
    left = others or any(stamp is not None for stamp in looked.values())
    return Plan(tuple(read), gone, "" if left or not gone else "the folder has no files left")


@dataclass(slots=True)
class Moves:
    """Which of the files that are gone may have gone to a new path. Each is given away once."""

    _by_hash: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def among(cls, gone: Iterable[str], known: Mapping[str, IndexedFile]) -> "Moves":
        """Return the moves that are possible if ``gone`` are gone."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in gone:
            if known[path].sha256 != UNREAD:
                found[known[path].sha256].append(path)
        return cls(dict(found))

    def take(self, sha256: str, name: str) -> str | None:
        """Return a path that held the same, one with the same file name first; it cannot be taken again."""
        paths = self._by_hash.get(sha256)
        if not paths:
            return None
        best = next((path for path in paths if path.rpartition("/")[2] == name), paths[0])
        paths.remove(best)
        return best


def settled(stamp: Stamp, read_at: int) -> Stamp:
    """Return the stamp to keep for a file read at ``read_at``: one too fresh to be relied on will look different.

    A file that changes twice within one tick of the clock has the same stamp both times.
    """
    if read_at - max(stamp.changed, stamp.modified) > _SETTLED:
        return stamp
    return Stamp(stamp.size, stamp.modified, 0, stamp.inode)


def _is_suspect(stamp: Stamp, known: IndexedFile | None) -> bool:
    return known is None or known.stamp != stamp
