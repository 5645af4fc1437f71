"""Experiences in dictionaries: for tests, and to compare other stores with."""

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from promptuary.core.experiences import Experience, contradicted, reinforced, strength
from promptuary.core.ports.experiences import Change, ExperienceFilter, ExperienceStore, OnChange

ExperienceTable = dict[str, Experience]
"""The experiences of one owner by id, in the order in which they were added."""

Write = Callable[[Callable[[ExperienceTable], Collection[str]], OnChange], None]
"""Runs some work on a copy of the table, which then replaces the table, and returns the result."""


class InMemoryExperiences(ExperienceStore):
    """An ``ExperienceStore`` in memory. ``read`` returns the table, ``write`` changes it."""

    def __init__(self, read: Callable[[], ExperienceTable], write: Write, on_change: OnChange) -> None:
        self._read, self._write, self._on_change = read, write, on_change

    def add(self, new: Experience) -> Experience:
        """Store an experience, or reinforce an equal one."""
        stored: list[Experience] = []

        def work(table: ExperienceTable) -> Collection[str]:
            same = [one for one in table.values() if one.fingerprint == new.fingerprint]
            rivals = [one for one in table.values() if new.topic and one.topic == new.topic and one not in same]
            stored[:] = [reinforced(one, new) for one in same] or [new]
            _put(table, [*stored, *map(contradicted, rivals)])
            return [stored[0].id]

        self._write(work, self._on_change)
        return _own(stored[0])

    def get(self, experience: str) -> Experience | None:
        """Return the experience with this id."""
        found = self._read().get(experience)
        return None if found is None else _own(found)

    def some(self, ids: Collection[str]) -> Mapping[str, Experience]:
        """Return the experiences with these ids; unknown ids are skipped."""
        table = self._read()
        return {one: _own(table[one]) for one in ids if one in table}

    def beginning(self, prefix: str, limit: int) -> Sequence[str]:
        """Return ids that begin with ``prefix``."""
        return sorted(one for one in self._read() if one.startswith(prefix))[:limit]

    def revisions(self, now: str, least: float) -> Mapping[str, str]:
        """Return the revisions by id of those whose strength at a time is at least ``least``."""
        return {one.id: one.rev for one in self._read().values() if strength(one, now) >= least}

    def list(self, wanted: ExperienceFilter) -> Sequence[Experience]:
        """Return experiences, the most recently used first."""
        every = sorted(self._passing(wanted), key=lambda one: one.id)
        every.sort(key=lambda one: one.last_used_at, reverse=True)
        return [_own(one) for one in every[: None if wanted.limit is None else max(0, wanted.limit)]]

    def count(self, wanted: ExperienceFilter) -> int:
        """Return how many match, ignoring the limit."""
        return len(self._passing(wanted))

    def change(self, ids: Collection[str] | None, change: Change) -> Sequence[Experience]:
        """Change experiences atomically; return those that differ afterwards."""
        different: list[Experience] = []

        def work(table: ExperienceTable) -> Collection[str]:
            pairs = [(one, change(one)) for one in table.values() if ids is None or one.id in ids]
            different[:] = [after for before, after in pairs if after != before]
            _put(table, different)
            return [after.id for before, after in pairs if after.rev != before.rev]

        self._write(work, self._on_change)
        return list(map(_own, different))

    def remove(self, ids: Collection[str]) -> int:
        """Remove experiences, and return how many there were."""
        removed: set[str] = set()

        def work(table: ExperienceTable) -> Collection[str]:
            removed.update(one for one in ids if table.pop(one, None) is not None)
            return removed

        self._write(work, self._on_change)
        return len(removed)

    def purge(self) -> None:
        """Do nothing: what was removed is gone."""

    def _passing(self, wanted: ExperienceFilter) -> Sequence[Experience]:
        return [
            one
            for one in self._read().values()
            if (not wanted.types or one.type in wanted.types)
            and (not wanted.outcomes or one.outcome in wanted.outcomes)
            and set(wanted.tags) <= set(one.tags)
        ]


def _put(table: ExperienceTable, experiences: Sequence[Experience]) -> None:
    table.update((one.id, _own(one)) for one in experiences)


def _own(one: Experience) -> Experience:
    """Return a copy whose solution nobody else can change."""
    return replace(one, solution=copy.deepcopy(one.solution))
