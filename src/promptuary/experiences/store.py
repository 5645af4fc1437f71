"""The experiences of one owner in the database.

The owner is bound when a store is opened: no method takes one, so none can return another owner's. ``core.experiences``
decides what a change does; the store applies it in one transaction.
"""

import builtins
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from promptuary.base.principals import Owner
from promptuary.database.columns import from_body, from_column, row_checksum, to_body, to_column, to_text
from promptuary.database.errors import sound
from promptuary.database.feed import Follower
from promptuary.database.owners import Key, OwnedRows
from promptuary.database.port import Connection, Database, Row
from promptuary.database.queries import queries
from promptuary.experiences.values import Experience, ExperienceFilter, contradict, reinforce, strength_at

_QUERIES: Final = queries(__package__, "experiences.sql")
_NO_LIMIT: Final = 2**53
_MOST_NAMED: Final = 50
_ALL: Final = ExperienceFilter()

Change = Callable[[Experience], Experience]
"""Returns an experience as it is after a change. Pure: it may be called more than once."""

OnChange = Callable[[Collection[str]], object]
"""Called with the ids of experiences that were added, removed or changed, once that is persistent."""


class ExperienceStore(OwnedRows):
    """The experiences of one owner. Everything is persistent when a method returns, or when its transaction ends.

    Methods may be called from any thread; several processes may use one database at once.
    """

    _queries = _QUERIES

    def __init__(self, database: Database, owner: Owner, on_change: OnChange) -> None:
        super().__init__(database, owner)
        self._on_change = on_change

    def add(self, new: Experience) -> Experience:
        """Store an experience, and return it as it is stored.

        If there is one with its fingerprint, that is reinforced instead (``core.experiences.reinforced``). Those with
        its topic and another fingerprint are contradicted.
        """
        same = {"fingerprint": to_column(new.fingerprint), "topic": to_column(new.topic)}

        def add(connection: Connection, owner: Key) -> Experience:
            known = self._find(connection, "same_experience", owner | same)
            rivals = self._find(connection, "rivals", owner | same) if new.topic else ()
            stored = next((reinforce(old, new) for old in known), new)
            self._put(connection, owner, [stored, *map(contradict, rivals)])
            return stored

        return self._write(add, after_commit=lambda stored: self._on_change([stored.id]))

    def get(self, experience: str) -> Experience | None:
        """Return the experience with this id."""
        rows = self._rows("experience", {"experience": to_column(experience)})
        return next(iter(self._experiences(rows)), None)

    def some(self, ids: Collection[str]) -> Mapping[str, Experience]:
        """Return the experiences with these ids; unknown ids are skipped."""
        rows = self._rows("some_experiences", {"ids": _ids(ids)})
        return {experience.id: experience for experience in self._experiences(rows)}

    def beginning(self, prefix: str, limit: int) -> Sequence[str]:
        """Return ids that begin with ``prefix``, at most ``limit``, in order."""
        rows = self._rows("beginning", {"prefix": to_column(prefix), "limit": limit})
        return [from_column(experience) for (experience,) in rows]

    def revisions(self, now: str, least: float) -> Mapping[str, str]:
        """Return the revisions by id of those whose strength at a time is at least ``least``."""
        with sound(self._database.name):
            return {
                from_column(experience): from_column(rev)
                for experience, rev, base, used_at, half_life in self._rows("revisions")
                if strength_at(base, from_column(used_at), half_life, now) >= least
            }

    def list(self, wanted: ExperienceFilter) -> Sequence[Experience]:
        """Return experiences, the most recently used first."""
        return self._experiences(self._rows("experiences", _passing(wanted)))

    def count(self, wanted: ExperienceFilter) -> int:
        """Return how many match, ignoring the limit."""
        return int(self._rows("count_experiences", _passing(wanted))[0][0])

    def change(self, ids: Collection[str] | None, change: Change) -> Sequence[Experience]:
        """Change experiences in one transaction, all if ``ids`` is ``None``; return those that differ afterwards.

        The id, the owner and the fingerprint stay.
        """
        query = "experiences" if ids is None else "some_experiences"
        values = _passing(_ALL) if ids is None else {"ids": _ids(ids)}

        def write(connection: Connection, owner: Key) -> builtins.list[tuple[Experience, Experience]]:
            pairs = ((before, change(before)) for before in self._find(connection, query, owner | values))
            different = [(before, after) for before, after in pairs if after != before]
            self._put(connection, owner, [after for _, after in different])
            return different

        return [after for _, after in self._write(write, after_commit=self._tell)]

    def remove(self, ids: Collection[str]) -> int:
        """Remove experiences, and return how many there were."""

        def remove(connection: Connection, owner: Key) -> int:
            keys = (owner | {"experience": to_column(experience)} for experience in ids)
            count = sum(connection.execute(_QUERIES["remove_experience"], key).rowcount for key in keys)
            if count:
                self._notify(connection, owner, ids)
            return count

        return self._write(remove, after_commit=lambda count: self._on_change(tuple(ids)) if count else None)

    def follow(self) -> Follower:
        """Return what tells which experiences have changed, whoever changed them."""
        return Follower(self._database, self._owner, "experience")

    def purge(self) -> None:
        """Erase removed experiences from the files of the database."""
        self._database.purge()

    def _put(self, connection: Connection, owner: Key, experiences: Sequence[Experience]) -> None:
        connection.executemany(
            _QUERIES["put_experience"], [owner | experience_row(experience) for experience in experiences]
        )
        if experiences:
            self._notify(connection, owner, [experience.id for experience in experiences])

    def _notify(self, connection: Connection, owner: Key, ids: Collection[str]) -> None:
        """Tell once for each transaction what was changed: the experiences or, if they are many, that it may be any."""
        named = "\n".join(ids) if len(ids) <= _MOST_NAMED else ""
        self._database.notify(connection, owner["owner"], "experience", named)

    def _find(self, connection: Connection, query: str, values: Key) -> Sequence[Experience]:
        return self._experiences(connection.execute(_QUERIES[query], values).fetchall())

    def _tell(self, changed: Sequence[tuple[Experience, Experience]]) -> None:
        if said := [after.id for before, after in changed if after.rev != before.rev]:
            self._on_change(said)

    def _experiences(self, rows: Sequence[Row]) -> Sequence[Experience]:
        with sound(self._database.name):
            return [_experience(row) for row in rows]


def _experience(row: Row) -> Experience:
    """Return the experience in a row. Raises ``ValueError`` if it is not what was written."""
    experience, body, checksum = row
    if row_checksum(experience, body) != checksum:
        raise ValueError("an experience is not what was written")
    return from_body(body, Experience)


def experience_row(experience: Experience) -> dict[str, Any]:
    """Return the row of an experience, without its owner."""
    name, body = to_column(experience.id), to_body(experience)
    return {
        "experience": name,
        "type": to_column(experience.type),
        "outcome": experience.outcome,
        "tags": to_column(to_text(list(experience.tags))),
        "fingerprint": to_column(experience.fingerprint),
        "topic": to_column(experience.topic),
        "rev": to_column(experience.rev),
        "last_used_at": to_column(experience.last_used_at),
        "base_weight": float(experience.base_weight),
        "half_life_days": float(experience.half_life_days),
        "body": body,
        "checksum": row_checksum(name, body),
    }


def _ids(ids: Collection[str]) -> str:
    # Text that cannot be stored in a column is not the id of anything, and not an error.
    return to_text(sorted(name for name in set(ids) if isinstance(to_column(name), str)))


def _passing(wanted: ExperienceFilter) -> dict[str, Any]:
    return {
        "types": to_text(list(wanted.types)),
        "outcomes": to_text(list(wanted.outcomes)),
        "tags": to_text(list(wanted.tags)),
        "limit": _NO_LIMIT if wanted.limit is None else max(0, wanted.limit),
    }
