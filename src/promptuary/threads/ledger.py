"""The threads of one principal as the ledger has them: listed, read, pruned, removed, renamed.

Separate from ``Threads``, since none of it needs layers or a model.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from promptuary.base.errors import Code, ConflictError, PromptuaryError, SourceError
from promptuary.base.messages import Item
from promptuary.threads.ledger_values import Pruned
from promptuary.threads.records import RecentTurns, SeenTurn, SentText, ThreadInfo, Totals, TurnRecord
from promptuary.threads.values import thread_name

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.state import StateDatabase

_LONGEST_AGO: Final = 365_000
_AFTER_ALL: Final = "9999-12-31T23:59:59"
"""Later than every turn."""
_MOST_RECENT: Final = 200
_PART: Final = 64 << 10
"""The most characters of a text that are returned at once."""
_LARGEST: Final = 2**63 - 1
"""The largest number that a database can search for."""


class Ledger:
    """The ledger of one principal in ``state``. Every method blocks."""

    def __init__(self, app: "App", state: "StateDatabase") -> None:
        self._app, self._state = app, state
        self._store = state.threads(app.principal)

    def named(self, name: str) -> str:
        """Return the name of a thread as it is stored. Raises ``PromptuaryError`` if it is not valid."""
        return thread_name(name, lambda: {thread.id for thread in self._store.threads()})

    def list(self) -> Sequence[ThreadInfo]:
        """Return every thread, the most recently used first."""
        return self._store.threads()

    def recent(self, *, thread: str | None, limit: int, cursor: str) -> RecentTurns:
        """Return the newest turns of a thread or of all; ``cursor`` continues an earlier answer."""
        if cursor and not (cursor.isascii() and cursor.isdecimal() and int(cursor[:30]) <= _LARGEST):
            raise PromptuaryError(f"{cursor[:40]!r} is not a cursor of recent turns; begin without one")
        turns, following = self._store.recent(
            thread=None if thread is None else self.named(thread),
            limit=min(max(1, limit), _MOST_RECENT),
            before=int(cursor) if cursor else _LARGEST,
        )
        return RecentTurns(tuple(turns), str(following) if following else "")

    def turns(self, *, thread: str) -> Sequence[TurnRecord]:
        """Return the turns of a thread in the order of their numbers."""
        return self._store.turns(self.named(thread))

    def history(self, *, thread: str, everything: bool) -> Sequence[Item]:
        """Return the history; with ``everything``, compacted items instead of their summaries."""
        items = self._store.history(self.named(thread))
        return [one for item in items for one in self._behind(item)] if everything else items

    def _behind(self, item: Item) -> Sequence[Item]:
        originals = [one for one in self._store.items(item.stands_for) if not one.stands_for]
        return originals or [item]

    def totals(self, *, thread: str) -> Totals:
        """Return the totals of a thread: tokens sent, tokens answered, cost."""
        return self._store.totals(self.named(thread))

    def prune(self, older_than_days: float, *, thread: str | None, dry_run: bool) -> Pruned:
        """Remove old turns."""
        given: object = older_than_days
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= _LONGEST_AGO:
            raise PromptuaryError(f"older_than_days must be a number of days, 0 or more, not {given!r}")
        before = datetime.now(UTC) - timedelta(days=older_than_days)
        name = None if thread is None else self.named(thread)
        return self._store.prune(before.strftime("%Y-%m-%dT%H:%M:%S"), thread=name, dry_run=dry_run)

    def remove(self, *, thread: str) -> Pruned:
        """Remove a thread as a whole."""
        name = self.named(thread)
        if name not in {one.id for one in self._store.threads()}:
            raise PromptuaryError(f"there is no thread {name!r}")
        self._app.drop_thread(name)
        return self._store.prune(_AFTER_ALL, thread=name)

    def rename(self, *, thread: str, name: str) -> None:
        """Rename a thread, and update what refers to it."""
        before, after, principal = self.named(thread), self.named(name), self._app.principal
        if "{thread}" in self._app.settings.memory_folder:
            raise PromptuaryError(
                "notes are kept by thread here (memory_folder has {thread}): under another name it would lose its own"
            )
        with self._state.transaction():
            self._store.rename(before, after)
            if not self._state.sessions(principal).rename_thread(before, after):
                raise ConflictError(f"A session has a thread {after!r} already; choose another name.")
            self._state.writeback_queue(principal).rename_thread(before, after)
        for one in (before, after):
            self._app.drop_thread(one)

    def turn(self, *, thread: str, number: int | None) -> TurnRecord:
        """Return the turn of this number, the last if none is given; raise ``SourceError`` if it does not exist."""
        thread = self.named(thread)
        turn = self._store.turn(thread, number) if number is None or abs(number) <= _LARGEST else None
        if turn is None:
            raise SourceError(Code.NOT_FOUND, self._why_missing(thread, number))
        return turn

    def seen(self, *, thread: str, number: int | None) -> SeenTurn:
        """Return a turn without most of its texts; raise ``SourceError`` if it does not exist."""
        thread = self.named(thread)
        turn = self._store.seen_turn(thread, number) if number is None or abs(number) <= _LARGEST else None
        if turn is None:
            raise SourceError(Code.NOT_FOUND, self._why_missing(thread, number))
        return turn

    def sent(self, *, thread: str, number: int, message: int, start: int) -> SentText:
        """Return a part of a message of a prompt; raise ``SourceError`` if it does not exist."""
        thread = self.named(thread)
        fits = max(abs(number), abs(message), abs(start)) <= _LARGEST
        found = self._store.sent_text(thread, number, message, start, _PART) if fits else None
        if found is None:
            raise SourceError(Code.NOT_FOUND, f"there is no message {message} of turn {number} of thread {thread}")
        return found

    def _why_missing(self, thread: str, number: int | None) -> str:
        known = self._store.threads()
        turns = next((one.turns for one in known if one.id == thread), 0)
        if turns:
            last = self._store.last_number(thread)
            return f"there is no turn {number} of thread {thread}; its turns are numbered from 1 to {last}"
        names = ", ".join(one.id for one in known[:5])
        advice = f"the threads are {names}" if names else "no thread has been used yet"
        which = f"turn {number} of thread" if number is not None else "turn of thread"
        return f"there is no {which} {thread}; {advice}"
