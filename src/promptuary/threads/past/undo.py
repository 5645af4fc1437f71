"""Taking the last turn of a thread back: which one that is, and what leaves the history with it.

Only decides. It knows neither layers nor learners: what a turn did beyond the history stays as it is.
"""

from dataclasses import dataclass, replace

from promptuary.core.errors import PromptuaryError
from promptuary.core.ports.threads import ThreadChange, ThreadStore, TurnRecord
from promptuary.core.threads import UndoneTurn


@dataclass(frozen=True, slots=True)
class Undoing:
    """What is to be written to take back the turn of the id ``turn``, and what the person is told."""

    turn: str
    change: ThreadChange
    undone: UndoneTurn


def plan_undo(store: ThreadStore, thread: str) -> Undoing:
    """Return how to take back the last finished turn. Raises ``PromptuaryError`` if that cannot be done. Blocks."""
    turn = next((one for one in reversed(store.turns(thread)) if one.status == "finished"), None)
    if turn is None:
        raise PromptuaryError(f"there is nothing to undo: no turn of thread {thread!r} has an answer")
    items = [item for item in store.history(thread) if item.turn == turn.id]
    standing = {one for item in items for one in (item.id, *item.stands_for)}
    if not all(item.id in standing for item in store.said(thread) if item.turn == turn.id):
        raise PromptuaryError(
            f"turn {turn.number} of thread {thread!r} cannot be undone any more: the history was compacted since"
        )
    gone = [item.id for item in items]
    pins = [(item.id, False) for item in items if item.pinned]
    reply = "\n\n".join(item.content for item in items if item.role == "assistant" and item.content)
    change = ThreadChange(thread, turn=_undone(turn), pinned=pins, removed=gone)
    return Undoing(
        turn.id, change, UndoneTurn(thread, turn.number, turn.text, reply, answered=True, messages=len(gone))
    )


def _undone(turn: TurnRecord) -> TurnRecord:
    return replace(turn, status="undone")
