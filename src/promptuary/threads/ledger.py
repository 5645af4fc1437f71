"""The ledger, read: which threads there are, what went into each turn, and which of its sources have changed since."""

from collections.abc import Sequence

from promptuary.core.errors import Code, SourceError
from promptuary.core.messages import Item
from promptuary.core.ports.threads import ThreadInfo, ThreadStore, TurnRecord
from promptuary.core.threads import Drift, DriftKind, Replay
from promptuary.workspace.workspace import Workspace


class Ledger:
    """What models were sent in the threads of one principal. Every method blocks."""

    def __init__(self, store: ThreadStore, workspace: Workspace) -> None:
        self._store = store
        self._workspace = workspace

    def threads(self) -> Sequence[ThreadInfo]:
        """Return every thread, the most recently used first."""
        return self._store.threads()

    def turns(self, thread: str) -> Sequence[TurnRecord]:
        """Return the turns of a thread in the order of their numbers."""
        return self._store.turns(thread)

    def history(self, thread: str, *, everything: bool = False) -> Sequence[Item]:
        """Return the history; ``everything`` shows compacted items in the place of their summary."""
        items = self._store.history(thread)
        return [one for item in items for one in self._behind(item)] if everything else items

    def _behind(self, item: Item) -> Sequence[Item]:
        originals = [one for one in self._store.items(item.stands_for) if not one.stands_for]
        return originals or [item]

    def replay(self, thread: str, number: int | None = None) -> Replay:
        """Return the turn of this number, the last if none is given; raise ``SourceError`` if it does not exist."""
        turn = self._store.turn(thread, number)
        if turn is None:
            raise SourceError(Code.NOT_FOUND, self._why_missing(thread, number))
        return Replay(turn, self._drift(turn))

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

    def _drift(self, turn: TurnRecord) -> list[Drift]:
        seen: dict[str, str] = {}
        for entry in turn.receipt.entries:
            path = entry.source.removeprefix("file:") if entry.source.startswith("file:") else ""
            if path and entry.revision:
                seen.setdefault(path, entry.revision)
        found = ((path, self._difference(path, revision)) for path, revision in sorted(seen.items()))
        return [Drift(path, kind) for path, kind in found if kind]

    def _difference(self, path: str, revision: str) -> DriftKind | None:
        try:
            return None if self._workspace.read(path).sha256 == revision else "changed"
        except SourceError as error:
            return "gone" if error.code is Code.NOT_FOUND else "not readable"
