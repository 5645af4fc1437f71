"""Plans the undo of the last turn of a thread: which turn, what it removes from the history, what the thread gets back.

Only plans. What a turn changed outside of its thread stays: notes, experiences.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError
from promptuary.base.values import Json
from promptuary.layers.layer import LayerState, StateKey
from promptuary.threads import before_turn
from promptuary.threads.attachments import documents_key, queue_key
from promptuary.threads.options import ThreadOptions
from promptuary.threads.records import ThreadChange, TurnRecord
from promptuary.threads.store.store import ThreadStore
from promptuary.threads.values import UndoneTurn


class Undoing(Struct, frozen=True):
    """What to write to undo the turn with the id ``turn``, and what to report to the person.

    ``root`` is the id of its first request.
    """

    turn: str
    root: str
    change: ThreadChange
    undone: UndoneTurn


def plan_undo(store: ThreadStore, thread: str) -> Undoing:
    """Return how to undo the last finished turn. Raises ``PromptuaryError`` if it cannot be undone. Blocks."""
    turns = store.turns(thread)
    turn = next((one for one in reversed(turns) if one.status == "finished"), None)
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
    requests = tuple(one.number for one in turns if one.root == turn.root)
    undone = UndoneTurn(thread, turn.number, turn.text, reply, answered=True, messages=len(gone), requests=requests)
    return Undoing(turn.id, turn.root, change, undone)


def plan_restore(options: ThreadOptions, undone: UndoneTurn, root: str) -> tuple[ThreadChange, UndoneTurn]:
    """Return the change that gives a thread back what a turn took, and the report for the person. Blocks.

    The references and documents that were sent with it wait for the next message again, before those added since; files
    that were tracked because of its message are no longer tracked.
    """
    store, thread = options.store, undone.thread
    layers = [layer for layer in options.layers if layer.scope == "thread"]
    keys = [StateKey(layer.id, "thread", thread) for layer in layers]
    record, queued, documents, *states = store.states(
        [before_turn.key(thread), queue_key(thread), documents_key(thread), *keys]
    )
    before = before_turn.found(record, root)
    changed = [
        LayerState(key, 1, [*took, *(one for one in _waiting(now) if one not in took)])
        for key, took, now in (
            (queue_key(thread), before.queued, queued),
            (documents_key(thread), before.documents, documents),
        )
        if took
    ]
    for layer, state in zip(layers, states, strict=True):
        if (without := before_turn.undone(layer, state, before)) is not None:
            changed.append(without)
    names = [str(one) for one in before.queued] + [str(one["name"]) for one in before.documents]
    gone = [str(one) for had, has in before.marks.values() if isinstance(has, list) for one in has if one not in had]
    return ThreadChange(thread, states=changed), replace(undone, queued=tuple(names), untracked=tuple(gone))


def _waiting(state: LayerState | None) -> Sequence[Json]:
    return state.value if state and isinstance(state.value, list) else ()


def _undone(turn: TurnRecord) -> TurnRecord:
    return replace(turn, status="undone")
