"""What the experience store needs of a database: the experiences of one owner.

The owner is bound when a store is opened: no method takes one, so none can be asked for another's. What a change means
is decided by ``core.experiences``; a store applies it in one transaction.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from promptuary.core.experiences import Experience, ExperienceOutcome


@dataclass(frozen=True, slots=True)
class ExperienceFilter:
    """Which experiences are wanted; empty means all. One has every one of ``tags``. ``limit`` is ``None`` for all."""

    types: Sequence[str] = ()
    outcomes: Sequence[ExperienceOutcome] = ()
    tags: Sequence[str] = ()
    limit: int | None = None


Change = Callable[[Experience], Experience]
"""Returns an experience as it is after a change. Pure: it may be called more than once."""

OnChange = Callable[[Collection[str]], object]
"""Called with the ids of experiences that were added or removed, or say something else, when that is persistent."""


class ExperienceStore(Protocol):
    """The experiences of one owner. Everything is persistent when a method returns, or when its transaction ends.

    Methods may be called from any thread; several processes may use one database at once.
    """

    def add(self, new: Experience) -> Experience:
        """Store an experience, and return it as it is stored.

        If there is one with its fingerprint, that is reinforced instead (``core.experiences.reinforced``). Those with
        its topic and another fingerprint are contradicted.
        """
        ...

    def get(self, experience: str) -> Experience | None:
        """Return the experience of this id."""
        ...

    def some(self, ids: Collection[str]) -> Mapping[str, Experience]:
        """Return those of these ids that there are."""
        ...

    def beginning(self, prefix: str, limit: int) -> Sequence[str]:
        """Return ids that begin with ``prefix``, at most ``limit``, in order."""
        ...

    def revisions(self, now: str, least: float) -> Mapping[str, str]:
        """Return the revisions by id of those whose strength at a time is at least ``least``."""
        ...

    def list(self, wanted: ExperienceFilter) -> Sequence[Experience]:
        """Return experiences, the ones used last first."""
        ...

    def count(self, wanted: ExperienceFilter) -> int:
        """Return how many there are, whatever the limit."""
        ...

    def change(self, ids: Collection[str] | None, change: Change) -> Sequence[Experience]:
        """Change experiences in one transaction, all if ``ids`` is ``None``; return those that differ afterwards.

        The id, the owner and the fingerprint stay.
        """
        ...

    def remove(self, ids: Collection[str]) -> int:
        """Remove experiences, and return how many there were."""
        ...

    def purge(self) -> None:
        """Leave nothing of what was removed in the files of the database."""
        ...
