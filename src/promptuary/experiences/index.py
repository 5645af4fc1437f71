"""The index of experiences: those of one principal that are strong enough to be found.

The intent is searched; tags and the problem are indexed as names, which are found by words but not by meaning.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

from promptuary.core.experiences import Experience, strength
from promptuary.core.fading import PRUNE_BELOW
from promptuary.core.search import Chunk, Folder, IndexedFile, Stamp
from promptuary.records.index import Listed, RecordEntry, RecordIndex
from promptuary.search.service import SearchBackend
from promptuary.storage.experiences import ExperienceStore

RECIPE: Final = "experiences 1"
"""The version of how experiences are indexed: an index with another version is rebuilt."""

_FOLDER: Final = Folder("/experiences")
_LONGEST_PROBLEM: Final = 300


class ExperienceIndex(RecordIndex[str]):
    """The index of the experiences in ``store``. ``clock`` returns the time, ISO 8601 in UTC."""

    def __init__(self, backend: SearchBackend, store: ExperienceStore, clock: Callable[[], str]) -> None:
        super().__init__(backend)
        self.store, self.clock = store, clock

    def folders(self) -> Sequence[Folder]:
        """Return the folder of the index: there is one."""
        return [_FOLDER]

    def places(self, keys: Collection[str]) -> Iterable[tuple[Folder, Sequence[str]]]:
        """Return the paths of these experiences: their ids."""
        return [(_FOLDER, list(keys))]

    def listed(self, keys: Collection[str] | None = None) -> Iterable[Listed[str]]:
        """Return what belongs in the index: the experiences that are strong enough, of ``keys`` or of all."""
        if keys is None:
            found = self.store.revisions(self.clock(), PRUNE_BELOW)
        else:
            found = {one.id: one.rev for one in self.store.some(keys).values() if self._is_strong(one)}
        return (Listed(one, _FOLDER, one, rev) for one, rev in found.items())

    def entry(self, key: str) -> RecordEntry | None:
        """Return an experience as it is now; ``None`` if it is gone or too weak."""
        found = self.store.get(key)
        return None if found is None or not self._is_strong(found) else _entry(found)

    def _is_strong(self, one: Experience) -> bool:
        return strength(one, self.clock()) >= PRUNE_BELOW


def _entry(one: Experience) -> RecordEntry:
    text = " ".join(one.intent.split())
    names = (*one.tags, " ".join(one.problem[:_LONGEST_PROBLEM].split()))
    date = int(max(0.0, datetime.fromisoformat(one.created_at).timestamp()))
    file = IndexedFile(one.id, Stamp(len(text), 0, 0, 0), one.rev, "text", date)
    return RecordEntry(_FOLDER, file, text, [Chunk(1, 1, text, names=tuple(name for name in names if name))])
