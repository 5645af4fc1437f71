"""Looking back: which threads there are, what went into each turn, and whether its sources have changed since."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from promptuary.core.errors import Code, SourceError
from promptuary.core.messages import Item
from promptuary.core.ports.threads import Recorded, StateStore, ThreadLine
from promptuary.workspace.workspace import Workspace

Since = Literal["changed", "gone", "not readable"]
"""What became of a source after it was shown to a model."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A source that is no longer what the model saw."""

    path: str
    since: Since


@dataclass(frozen=True, slots=True)
class Replay:
    """A past turn, exactly as it was sent, and which of its sources are different by now."""

    turn: Recorded
    drift: Sequence[Drift]


class Sessions:
    """The ledger, to be read."""

    def __init__(self, store: StateStore, workspace: Workspace) -> None:
        self._store = store
        self._workspace = workspace

    def threads(self) -> Sequence[ThreadLine]:
        """Return every thread, the last used first."""
        return self._store.threads()

    def turns(self, thread: str) -> Sequence[Recorded]:
        """Return the turns of a thread, the first first."""
        return self._store.turns(thread)

    def history(self, thread: str, *, everything: bool = False) -> Sequence[Item]:
        """Return what was said, as it stands in the history; ``everything`` brings back what was compacted."""
        items = self._store.history(thread)
        return [one for item in items for one in self._behind(item)] if everything else items

    def _behind(self, item: Item) -> Sequence[Item]:
        originals = [one for one in self._store.items(item.stands_for) if not one.stands_for]
        return originals or [item]

    def replay(self, thread: str, number: int | None = None) -> Replay:
        """Return a turn by its number, the last if none is given; raise ``SourceError`` if there is no such turn."""
        turn = self._store.turn(thread, number)
        if turn is None:
            known = ", ".join(line.id for line in self._store.threads()[:5])
            which = f"turn {number} of thread" if number is not None else "turn of thread"
            advice = f"there are the threads {known}" if known else "no thread has been used yet"
            raise SourceError(Code.NOT_FOUND, f"there is no {which} {thread}; {advice}")
        return Replay(turn, self._drift(turn))

    def _drift(self, turn: Recorded) -> list[Drift]:
        seen: dict[str, str] = {}
        for entry in turn.receipt.entries:
            path = entry.source.removeprefix("file:") if entry.source.startswith("file:") else ""
            if path and entry.revision:
                seen.setdefault(path, entry.revision)
        found = ((path, self._since(path, revision)) for path, revision in sorted(seen.items()))
        return [Drift(path, since) for path, since in found if since]

    def _since(self, path: str, revision: str) -> Since | None:
        try:
            return None if self._workspace.read(path).sha256 == revision else "changed"
        except SourceError as error:
            return "gone" if error.code is Code.NOT_FOUND else "not readable"
