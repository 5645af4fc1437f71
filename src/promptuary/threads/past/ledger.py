"""Reads the ledger: which threads exist, what went into each turn, and which of its sources have changed since."""

from collections.abc import Iterator, Sequence
from typing import Final

from promptuary.core.blocks import path_of
from promptuary.core.errors import Code, SourceError
from promptuary.core.ledger import Origin
from promptuary.core.messages import Item
from promptuary.core.ports.threads import ThreadInfo, TurnRecord
from promptuary.core.threads import Drift, DriftKind, Replay
from promptuary.storage.threads.store import ThreadStore
from promptuary.threads.past.sources_now import SourcesNow

_LARGEST: Final = 2**63 - 1
"""The largest number that a database can search for."""


class Ledger:
    """What was sent to models in the threads of one principal. Every method blocks."""

    def __init__(self, store: ThreadStore, now: SourcesNow) -> None:
        self._store, self._now = store, now

    def threads(self) -> Sequence[ThreadInfo]:
        """Return every thread, the most recently used first."""
        return self._store.threads()

    def turns(self, thread: str) -> Sequence[TurnRecord]:
        """Return the turns of a thread in the order of their numbers."""
        return self._store.turns(thread)

    def history(self, thread: str, *, everything: bool = False) -> Sequence[Item]:
        """Return the history; with ``everything``, compacted items instead of their summaries."""
        items = self._store.history(thread)
        return [one for item in items for one in self._behind(item)] if everything else items

    def _behind(self, item: Item) -> Sequence[Item]:
        originals = [one for one in self._store.items(item.stands_for) if not one.stands_for]
        return originals or [item]

    def replay(self, thread: str, number: int | None = None, *, fetch: bool = False) -> Replay:
        """Return the turn of this number, the last if none is given; raise ``SourceError`` if it does not exist.

        ``fetch`` fetches pages again to compare them.
        """
        turn = self.turn(thread, number)
        return Replay(turn, self._drift(turn, fetch=fetch), self._requests(turn))

    def _requests(self, turn: TurnRecord) -> tuple[int, ...]:
        """Return the numbers of all turns of the message of ``turn``: the earlier ones, itself, and the later ones."""

        def beside(step: int) -> Iterator[int]:
            there: TurnRecord | None = turn
            while there and (there.is_continuation if step < 0 else there.status == "continued"):
                there = self._store.turn(turn.thread, there.number + step)
                if there is None or there.root != turn.root:
                    return
                yield there.number

        return (*reversed(list(beside(-1))), turn.number, *beside(1))

    def turn(self, thread: str, number: int | None = None) -> TurnRecord:
        """Return the turn of this number, the last if none is given; raise ``SourceError`` if it does not exist."""
        turn = self._store.turn(thread, number) if number is None or abs(number) <= _LARGEST else None
        if turn is None:
            raise SourceError(Code.NOT_FOUND, self._why_missing(thread, number))
        return turn

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

    def _drift(self, turn: TurnRecord, *, fetch: bool) -> list[Drift]:
        """Return how each source of a turn has changed; the turn itself names what was forgotten."""
        sent = "\n".join(message["content"] for message in turn.messages)
        found: dict[str, DriftKind] = {}
        now = self._now.at_this_moment()
        for origin in self._seen_last(turn):
            name = path_of(origin.source) or origin.source
            kind = None if name in found else now.drift(origin, thread=turn.thread, sent=sent, fetch=fetch)
            if kind is not None:
                found[name] = kind
        return [Drift(path, kind) for path, kind in sorted(found.items())]

    def _seen_last(self, turn: TurnRecord) -> Iterator[Origin]:
        """Yield the sources that can have changed: of those in the history, too, only what the turn itself showed.

        If the turn showed a file twice, outdated and current, only the current version counts.
        """
        every = [use.origin for use in self._store.sources(turn.thread, turn.number) if use.origin.revision]
        direct = {one.source for one in every if one.how == "direct"}
        entries = [one for one in turn.receipt.entries if one.status != "out"]
        last = {(one.layer, one.source): one.revision for one in entries}
        for one in every:
            if one.source in turn.forgotten:
                continue
            if one.how == "direct" and last.get((one.layer, one.source), one.revision) != one.revision:
                continue
            if one.how == "direct" or one.source not in direct:
                yield one
