"""Past turns as they were sent, and which of their sources have changed since."""

from collections.abc import Iterator

from promptuary.base.blocks import path_of
from promptuary.threads.ledger_values import Origin
from promptuary.threads.records import TurnRecord
from promptuary.threads.sources_now import SourcesNow
from promptuary.threads.store.store import ThreadStore
from promptuary.threads.values import Drift, DriftKind, Replay


class Replays:
    """Replays of the turns in ``store``. Every method blocks."""

    def __init__(self, store: ThreadStore, now: SourcesNow) -> None:
        self._store, self._now = store, now

    def replay(self, turn: TurnRecord, *, fetch: bool = False) -> Replay:
        """Return a turn as it was sent; ``fetch`` fetches pages again to compare them."""
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
