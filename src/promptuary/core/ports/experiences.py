"""What the experience store needs from a database: the experiences of one owner.

The owner is bound when a store is opened: no method takes one, so none can return another owner's. ``core.experiences``
decides what a change does; a store applies it in one transaction.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from promptuary.core.experiences import Experience, ExperienceOutcome


class ExperienceFilter(Struct, frozen=True):
    """A filter; empty matches all. A match has every one of ``tags``. A ``limit`` of ``None`` means no limit."""

    types: Sequence[str] = ()
    outcomes: Sequence[ExperienceOutcome] = ()
    tags: Sequence[str] = ()
    limit: int | None = None


Change = Callable[[Experience], Experience]
"""Returns an experience as it is after a change. Pure: it may be called more than once."""

OnChange = Callable[[Collection[str]], object]
"""Called with the ids of experiences that were added, removed or changed, once that is persistent."""


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
        """Return the experience with this id."""
        ...

    def some(self, ids: Collection[str]) -> Mapping[str, Experience]:
        """Return the experiences with these ids; unknown ids are skipped."""
        ...

    def beginning(self, prefix: str, limit: int) -> Sequence[str]:
        """Return ids that begin with ``prefix``, at most ``limit``, in order."""
        ...

    def revisions(self, now: str, least: float) -> Mapping[str, str]:
        """Return the revisions by id of those whose strength at a time is at least ``least``."""
        ...

    def list(self, wanted: ExperienceFilter) -> Sequence[Experience]:
        """Return experiences, the most recently used first."""
        ...

    def count(self, wanted: ExperienceFilter) -> int:
        """Return how many match, ignoring the limit."""
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
        """Erase removed content from the files of the database."""
        ...
