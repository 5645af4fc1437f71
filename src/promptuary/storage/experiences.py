"""Experiences in ``state.db``: those of one owner."""

import json
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

from promptuary.core.experiences import Experience, contradicted, reinforced, strength_at
from promptuary.core.ports.experiences import Change, ExperienceFilter, ExperienceStore, OnChange
from promptuary.core.principals import Owner
from promptuary.database.columns import from_column, row_checksum, to_column
from promptuary.database.errors import sound
from promptuary.database.port import Connection, Database
from promptuary.database.queries import queries
from promptuary.storage.owners import OwnedRows
from promptuary.storage.values import to_text

_QUERIES: Final = queries(__package__, "experiences.sql")
_EVERY: Final = -1
_ALL: Final = ExperienceFilter()

_COLUMNS: Final = (
    *("id", "type", "intent", "solution", "created_at", "last_used_at", "rev", "fingerprint", "outcome", "problem"),
    *("success_score", "base_weight", "weight", "weighed_at", "half_life_days", "use_count", "confidence", "tags"),
    *("thread", "turn", "trust", "topic"),
)
"""The fields of an experience, in the order of the columns."""
_SOLUTION: Final = _COLUMNS.index("solution")
_TAGS: Final = _COLUMNS.index("tags")
_JSON: Final = frozenset({"solution", "tags"})
_NUMBERS: Final = frozenset({"success_score", "base_weight", "weight", "half_life_days", "confidence"})
_values_of: Final = attrgetter(*_COLUMNS)


class SqliteExperiences(OwnedRows, ExperienceStore):
    """An ``ExperienceStore`` over ``database``, for one owner."""

    _queries = _QUERIES

    def __init__(self, database: Database, owner: Owner, on_change: OnChange) -> None:
        super().__init__(database, owner)
        self._on_change = on_change

    def add(self, new: Experience) -> Experience:
        """Store an experience, or reinforce an equal one."""
        same = {"fingerprint": to_column(new.fingerprint), "topic": to_column(new.topic)}

        def added(connection: Connection, owner: int) -> Experience:
            known = self._found(connection, "same_experience", {"owner": owner, **same})
            rivals = self._found(connection, "rivals", {"owner": owner, **same}) if new.topic else ()
            stored = next((reinforced(old, new) for old in known), new)
            rows = (_to_row(owner, one) for one in (stored, *map(contradicted, rivals)))
            connection.executemany(_QUERIES["put_experience"], rows)
            return stored

        return self._write(added, after_commit=lambda stored: self._on_change([stored.id]))

    def get(self, experience: str) -> Experience | None:
        """Return the experience with this id."""
        rows = self._rows("experience", {"experience": to_column(experience)})
        return next(iter(self._experiences(rows)), None)

    def some(self, ids: Collection[str]) -> Mapping[str, Experience]:
        """Return the experiences with these ids; unknown ids are skipped."""
        rows = self._rows("some_experiences", {"ids": to_text(_sorted(ids))})
        return {one.id: one for one in self._experiences(rows)}

    def beginning(self, prefix: str, limit: int) -> Sequence[str]:
        """Return ids that begin with ``prefix``."""
        return [from_column(one) for (one,) in self._rows("beginning", {"prefix": to_column(prefix), "limit": limit})]

    def revisions(self, now: str, least: float) -> Mapping[str, str]:
        """Return the revisions by id of those whose strength at a time is at least ``least``."""
        with sound(self._database.name):
            return {
                from_column(one): from_column(rev)
                for one, rev, base, used_at, half_life in self._rows("revisions")
                if strength_at(base, from_column(used_at), half_life, now) >= least
            }

    def list(self, wanted: ExperienceFilter) -> Sequence[Experience]:
        """Return experiences, the most recently used first."""
        return self._experiences(self._rows("experiences", _passing(wanted)))

    def count(self, wanted: ExperienceFilter) -> int:
        """Return how many match, ignoring the limit."""
        return int(self._rows("count_experiences", _passing(wanted))[0][0])

    def change(self, ids: Collection[str] | None, change: Change) -> Sequence[Experience]:
        """Change experiences in one transaction; return those that differ afterwards."""
        query = "experiences" if ids is None else "some_experiences"
        values = _passing(_ALL) if ids is None else {"ids": to_text(_sorted(ids))}

        def changed(connection: Connection, owner: int) -> list[tuple[Experience, Experience]]:
            pairs = ((one, change(one)) for one in self._found(connection, query, {"owner": owner, **values}))
            different = [(before, after) for before, after in pairs if after != before]
            connection.executemany(_QUERIES["put_experience"], (_to_row(owner, after) for _, after in different))
            return different

        return [after for _, after in self._write(changed, after_commit=self._tell)]

    def remove(self, ids: Collection[str]) -> int:
        """Remove experiences, and return how many there were."""

        def removed(connection: Connection, owner: int) -> int:
            every = ({"owner": owner, "experience": to_column(one)} for one in ids)
            return sum(connection.execute(_QUERIES["remove_experience"], one).rowcount for one in every)

        return self._write(removed, after_commit=lambda count: self._on_change(tuple(ids)) if count else None)

    def purge(self) -> None:
        """Erase removed experiences from the file and its log."""
        self._database.purge()

    def _found(self, connection: Connection, query: str, values: Mapping[str, Any]) -> Sequence[Experience]:
        return self._experiences(connection.execute(_QUERIES[query], values).fetchall())

    def _tell(self, changed: Sequence[tuple[Experience, Experience]]) -> None:
        if said := [after.id for before, after in changed if after.rev != before.rev]:
            self._on_change(said)

    def _experiences(self, rows: Sequence[Sequence[Any]]) -> Sequence[Experience]:
        with sound(self._database.name):
            return list(map(_experience, rows))


def _experience(row: Sequence[Any]) -> Experience:
    """Return the experience in a row. Raises ``ValueError`` if it is not what was written."""
    *stored, checksum = row
    if row_checksum(*stored) != checksum:
        raise ValueError("an experience is not what was written")
    # Searches read many of them: nearly every column is a text already.
    if bytes in map(type, stored):
        stored = [from_column(one) if isinstance(one, bytes) else one for one in stored]
    stored[_SOLUTION] = json.loads(stored[_SOLUTION])
    stored[_TAGS] = tuple(json.loads(stored[_TAGS]))
    return Experience(*stored)


def _sorted(ids: Collection[str]) -> list[str]:
    # Text that cannot be stored in a column is not the id of anything, and not an error.
    return sorted(one for one in set(ids) if isinstance(to_column(one), str))


def _passing(wanted: ExperienceFilter) -> dict[str, Any]:
    return {
        "types": to_text(list(wanted.types)),
        "outcomes": to_text(list(wanted.outcomes)),
        "tags": to_text(list(wanted.tags)),
        "limit": _EVERY if wanted.limit is None else max(0, wanted.limit),
    }


def _to_row(owner: int, experience: Experience) -> tuple[Any, ...]:
    pairs = zip(_COLUMNS, _values_of(experience), strict=True)
    values = [_to_column(name, value) for name, value in pairs]
    return owner, *values, row_checksum(*values)


def _to_column(name: str, value: Any) -> Any:
    if name in _JSON:
        return to_column(to_text(list(value) if name == "tags" else value))
    if name in _NUMBERS:
        return float(value)
    return value if name == "use_count" else to_column(value)
