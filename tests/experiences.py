"""An experience store to test with: a real database and a real index in a folder, and a clock that can be set."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from promptuary.base.principals import LOCAL, Principal
from promptuary.experiences.experiences import Experiences
from promptuary.experiences.index import RECIPE, ExperienceIndex
from promptuary.experiences.values import ExperienceResult
from promptuary.models.protocols import Embedder
from promptuary.search.index.index import DiskIndex
from promptuary.search.kind_index import SearchBackend
from promptuary.state import StateDatabase
from promptuary.tokens.counting import Counter
from tests.in_memory_index import InMemoryVectorStore

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Clock:
    """A clock that shows what it is set to."""

    days: float = 0.0

    def __call__(self) -> str:
        return (START + timedelta(days=self.days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Laboratory:
    """The experiences of principals in one folder. Each is opened once, and closed with the others."""

    folder: Path
    embedder: Embedder | None = None
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.state = StateDatabase(self.folder / "state.db", clock=self.clock)
        self.opened: dict[Principal, Experiences] = {}

    def of(self, principal: Principal = LOCAL) -> Experiences:
        """Return the experiences of a principal."""
        if principal not in self.opened:
            self.opened[principal] = self._open(principal)
        return self.opened[principal]

    def _open(self, principal: Principal) -> Experiences:
        search: ExperienceIndex

        def changed(ids: Collection[str]) -> None:
            search.mark_changed(ids)

        store = self.state.experiences(principal, changed)

        def open_backend() -> SearchBackend:
            vectors = InMemoryVectorStore() if self.embedder else None
            folder = self.folder / f"index-{principal.owner.kind}-{principal.owner.name}-{principal.owner.agent}"
            folder.mkdir(exist_ok=True)
            disk = DiskIndex(folder, RECIPE, store=vectors, embedder=self.embedder)
            return SearchBackend(disk, vectors, self.embedder)

        search = ExperienceIndex(open_backend, store, self.clock)
        return Experiences(store, search, self.state.forgetting(principal), clock=self.clock, counter=Counter())

    def close(self) -> None:
        """Close everything."""
        for one in self.opened.values():
            one.close()
        self.state.close()


def intents(found: ExperienceResult) -> list[str]:
    """Return what the hits are about."""
    return [hit.experience.intent for hit in found.hits]
