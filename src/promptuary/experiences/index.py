"""The index of experiences: those of one principal that are strong enough to be found.

The intent is searched; tags and the problem are indexed as names, which are found by words but not by meaning.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from promptuary.base.clock import now
from promptuary.base.files import Folder, Stamp
from promptuary.experiences.decay import PRUNE_BELOW
from promptuary.experiences.search import ExperienceQuery, rank
from promptuary.experiences.store import ExperienceStore
from promptuary.experiences.values import Experience, ExperienceFilter, ExperienceResult, strength
from promptuary.search.indexes import open_records
from promptuary.search.kind_index import OpenBackend
from promptuary.search.records import PATIENCE, RecordEntry, RecordIndex, RecordPlace
from promptuary.search.values import Chunk, IndexedFile, SearchQuery

if TYPE_CHECKING:
    from promptuary.app import App

RECIPE: Final = "experiences 1"
"""The version of how experiences are indexed: an index with another version is rebuilt."""

_EVERY: Final = ExperienceFilter()
_FOLDER: Final = Folder("/experiences")
_MAX_PROBLEM: Final = 300


class ExperienceIndex(RecordIndex[str]):
    """The index of the experiences in ``store``. ``clock`` returns the time, ISO 8601 in UTC."""

    what = "experiences"

    def __init__(self, open_backend: OpenBackend, store: ExperienceStore, clock: Callable[[], str]) -> None:
        super().__init__(open_backend)
        self.store, self.clock = store, clock
        self._follower = store.follow()

    @classmethod
    def open(cls, app: "App", store: ExperienceStore) -> "ExperienceIndex":
        """Return the index of the experiences of the principal."""
        return cls(partial(open_records, app, "experiences", RECIPE, partial(store.count, _EVERY)), store, now)

    def find(self, query: ExperienceQuery, *, timeout: float = PATIENCE) -> ExperienceResult:
        """Return the experiences that match; waits up to ``timeout`` seconds for those being indexed."""
        has_experiences, missing = self.wait(timeout)
        found = self.search(query) if has_experiences else ExperienceResult()
        return replace(found, notes=(*found.notes, *missing))

    def search(self, query: ExperienceQuery) -> ExperienceResult:
        """Return the same, as far as they are indexed."""
        limit = max(query.limit, query.depth) if query.limit > 0 else 0
        found = self.ask(SearchQuery(query.text, limit, lexical_only=query.lexical_only))
        return rank(query, found, self.store.some([hit.path for hit in found.hits]), self.clock())

    def count(self) -> int:
        return self.store.count(_EVERY)

    def texts(self) -> Iterable[tuple[str, str]]:
        return ((one.id, " ".join((one.intent, one.problem, *one.tags))) for one in self.store.list(_EVERY))

    def news(self) -> set[str] | None:
        return self._follower.news()

    def folders(self) -> Sequence[Folder]:
        """Return the folder of the index: there is one."""
        return [_FOLDER]

    def places(self, keys: Collection[str]) -> Iterable[tuple[Folder, Sequence[str]]]:
        """Return the paths of these experiences: their ids."""
        return [(_FOLDER, list(keys))]

    def find_records(self, keys: Collection[str] | None = None) -> Iterable[RecordPlace[str]]:
        """Return what belongs in the index: the experiences that are strong enough, of ``keys`` or of all."""
        if keys is None:
            found = self.store.revisions(self.clock(), PRUNE_BELOW)
        else:
            found = {value.id: value.rev for value in self.store.some(keys).values() if self._is_strong(value)}
        return (RecordPlace(key, _FOLDER, key, rev) for key, rev in found.items())

    def entry(self, key: str) -> RecordEntry | None:
        """Return an experience as it is now; ``None`` if it is gone or too weak."""
        found = self.store.get(key)
        return None if found is None or not self._is_strong(found) else _entry(found)

    def _is_strong(self, one: Experience) -> bool:
        return strength(one, self.clock()) >= PRUNE_BELOW


def _entry(one: Experience) -> RecordEntry:
    text = " ".join(one.intent.split())
    names = (*one.tags, " ".join(one.problem[:_MAX_PROBLEM].split()))
    date = int(max(0.0, datetime.fromisoformat(one.created_at).timestamp()))
    file = IndexedFile(one.id, Stamp(len(text), 0, 0, 0), one.rev, "text", date)
    return RecordEntry(_FOLDER, file, text, [Chunk(1, 1, text, names=tuple(name for name in names if name))])
