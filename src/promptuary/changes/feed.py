"""The changes of one principal: read from the databases of the workspace and of the person's own notes.

The stores write the feed, each in the transaction of what it tells of (``Database.notify``); this only reads. Each list
has one owner, or is everybody's, and is asked for by its owner's number: what belongs to others is not even looked at.
"""

from __future__ import annotations

import heapq
import time
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.errors import CLOSED, PromptuaryError
from promptuary.changes.followers import Followed, Followers
from promptuary.changes.values import BEGINNING, Change, Changes, from_cursor, to_cursor
from promptuary.database.columns import from_column
from promptuary.database.errors import sound
from promptuary.database.feed import Mark, last_mark, mark_of
from promptuary.database.owners import EVERYBODY, NOBODY, find_owner
from promptuary.database.queries import queries
from promptuary.memory.persons import persons_database
from promptuary.memory.places import places
from promptuary.memory.store.journal import NoteJournal
from promptuary.workspace.state_file import has_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptuary.app import App
    from promptuary.base.principals import NoteScope
    from promptuary.database.port import Connection, Database, Row

_QUERIES: Final = queries(__package__, "feed.sql")

_SCOPES: Final[tuple[NoteScope, ...]] = ("project", "user")

MAX_AT_ONCE: Final = 1_000
MAX_WAIT: Final = 300.0
"""Seconds that a call may wait at most."""


class Feed:
    """The changes that the principal of ``app`` may see. ``followers`` wakes those who wait for the next one."""

    def __init__(self, app: App, followers: Followers) -> None:
        self._app, self.followers = app, followers
        self._owner = app.principal.owner
        self._persons: Database | None = None
        self._closed = False

    async def changes(self, after: str, *, limit: int, timeout: float) -> Changes:
        """Return the changes after a cursor; wait at most ``timeout`` seconds for the first."""
        end = time.monotonic() + min(max(0.0, timeout), MAX_WAIT)
        limit = min(max(1, limit), MAX_AT_ONCE)
        while True:
            found, followed = await concurrency.run(partial(self._read, after, limit))
            left = end - time.monotonic()
            if found.changes or found.missed or left <= 0:
                return found
            after = found.cursor
            await self.followers.wait(followed, partial(self._is_stale, followed), left)

    def close(self) -> None:
        """End every call that waits with an error."""
        self._closed = True
        self.followers.wake()
        with self._app.opening:
            if self._persons is not None:
                self._persons.close()

    def _read(self, after: str, limit: int) -> tuple[Changes, list[Followed]]:
        """Return the changes after a cursor, and what to follow for the next ones."""
        known = from_cursor(after)
        marks: Sequence[Mark | None] = (known or BEGINNING) if after else (None,) * len(BEGINNING)
        lists: list[_List] = []
        followed: list[Followed] = []
        for place, scope in enumerate(_SCOPES):
            given = marks[2 * place : 2 * place + 2]
            if (database := self._database(scope)) is None:
                lists += [_List([], Mark(), Mark(), is_missed=bool(mark and mark.seq)) for mark in given]
                continue
            found, seen = self._read_database(database, scope, given, limit)
            lists += found
            followed.append(Followed(database, self._owner, seen))
        is_missed = (after != "" and known is None) or any(one.is_missed for one in lists)
        return replace(_merge(lists, limit), missed=is_missed), followed

    def _read_database(
        self, database: Database, scope: NoteScope, given: Sequence[Mark | None], limit: int
    ) -> tuple[list[_List], tuple[int, ...]]:
        """Return what is in the lists of a database, all read at the same moment, and their last numbers."""
        spaces = "".join(f"|{space}|" for space in self._spaces())

        def read(connection: Connection) -> tuple[list[_List], tuple[int, ...]]:
            own = find_owner(connection, self._owner)
            owners = (NOBODY if own is None else own, EVERYBODY)
            readings = [
                _Reading(connection, owner, spaces, scope).run(mark, limit)
                for owner, mark in zip(owners, given, strict=True)
            ]
            return [one for one, _ in readings], tuple(last for _, last in readings)

        with sound(database.name):
            found, seen = database.read(read)
        return [one._replace(entries=[self._named(entry, database) for entry in one.entries]) for one in found], seen

    def _named(self, entry: _Entry, database: Database) -> _Entry:
        """Return the change of a note with what the note is called now, if it is visible."""
        if entry.change.kind != "note":
            return entry
        header = NoteJournal(database, entry.space).view(self._owner).header(entry.change.id)
        if header is None:
            return entry
        return entry._replace(change=replace(entry.change, path=header.path, title=header.title))

    def _spaces(self) -> Sequence[str]:
        """Return where the principal has notes."""

        def threads() -> Iterator[str]:  # read only if the settings isolate threads
            yield from (thread.id for thread in self._app.state(create=False).threads(self._app.principal).threads())

        return [
            place.space for place in places(self._app.principal, self._app.settings.memory_folder, threads()).values()
        ]

    def _database(self, scope: NoteScope) -> Database | None:
        """Return a database, if there is one: reading creates nothing."""
        with self._app.opening:
            if self._closed:
                raise PromptuaryError(CLOSED)
            if scope == "project":
                state = self._app.state(create=False)
                return state.database if state.persistent else None
            if self._persons is not None and not self._persons.is_current():
                self._persons.close()
                self._persons = None
            # A group does not see a person's own notes.
            if self._persons is None and self._app.principal.group is None:
                self._persons = persons_database(self._app, create=False)
            return self._persons

    def _is_stale(self, followed: Sequence[Followed]) -> bool:
        """Return whether a database has appeared, or is another one now: what is followed does not tell."""
        if self._closed or not all(one.database.is_current() for one in followed):
            return True
        if len(followed) == len(_SCOPES):
            return False
        has_own = bool(self._app.settings.database) or has_state(self._app.workspace)
        return len(followed) < has_own + (self._database("user") is not None)


class _Entry(NamedTuple):
    """A change of a list, the mark after it, and the space of a note."""

    at: str
    mark: Mark
    change: Change
    space: str


class _List(NamedTuple):
    """What was found in a list after ``start``; ``end`` is up to where it was read."""

    entries: list[_Entry]
    start: Mark
    end: Mark
    is_missed: bool = False


class _Reading:
    """Reads the list of one owner, within one snapshot."""

    def __init__(self, connection: Connection, owner: int, spaces: str, scope: NoteScope) -> None:
        self._connection, self._spaces, self._scope = connection, spaces, scope
        self._key = {"tenant": connection.tenant, "owner": owner}

    def run(self, given: Mark | None, limit: int) -> tuple[_List, int]:
        """Return what is in the list after a mark, or after the last change, and the last number."""
        last = last_mark(self._connection, self._key["owner"])
        if given is None:
            return _List([], last, last), last.seq
        is_there = self._has(given, last)
        start = given if is_there else Mark(max(0, self._first() - 1))
        entries = self._entries(start, limit)
        end = entries[-1].mark if len(entries) == limit else last
        return _List(entries, start, end, is_missed=not is_there), last.seq

    def _has(self, mark: Mark, last: Mark) -> bool:
        """Return whether everything after a mark is kept, and is what followed it when it was made."""
        if mark.is_beginning:
            return self._first() <= mark.seq + 1 and mark.seq <= last.seq
        row = self._row("change", seq=mark.seq)
        return row is not None and mark_of(mark.seq, from_column(row[0]), row[1]) == mark

    def _first(self) -> int:
        row = self._row("first")
        return 0 if row is None else int(row[0])

    def _entries(self, start: Mark, limit: int) -> list[_Entry]:
        values = self._key | {"after": start.seq, "limit": limit, "places": self._spaces}
        return [self._entry(row) for row in self._connection.execute(_QUERIES["changes"], values)]

    def _entry(self, row: Row) -> _Entry:
        seq, noun, *texts, thread, number = row
        key, event, at, actor, space = map(from_column, texts)
        change = Change("", noun, key, event, at, actor)
        if noun == "note":
            change = replace(change, scope=self._scope)
        elif thread is not None:
            change = replace(change, thread=from_column(thread), number=number)
        return _Entry(at, mark_of(seq, key, at), change, space)

    def _row(self, query: str, **values: int) -> Row | None:
        found: Row | None = self._connection.execute(_QUERIES[query], self._key | values).fetchone()
        return found


def _merge(lists: Sequence[_List], limit: int) -> Changes:
    """Return the oldest changes of all lists, each with the cursor after it."""
    marks = [one.start for one in lists]
    numbered = ([(entry, number) for entry in one.entries] for number, one in enumerate(lists))
    changes: list[Change] = []
    for entry, number in islice(heapq.merge(*numbered, key=lambda one: one[0].at), limit):
        marks[number] = entry.mark
        changes.append(replace(entry.change, cursor=to_cursor(marks)))
    if len(changes) == sum(len(one.entries) for one in lists):
        marks = [one.end for one in lists]
    return Changes(tuple(changes), to_cursor(marks))
