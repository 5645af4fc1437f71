"""What a turn took from its thread and added to it, apart from the history: stored, so that an undo restores it.

That is the references and documents that waited for its message, and the marks that layers make of their states before
and after it. It is stored as the state of a layer with this name, for the last turns. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from promptuary.base.values import Json
from promptuary.layers.layer import Layer, LayerState, StateKey

_LAYER: Final = "before_turn"
_VERSION: Final = 1
_TURNS: Final = 20
"""The number of turns whose undo restores what they took. Documents are kept only for the last of them."""


class BeforeTurn(Struct, frozen=True):
    """What the turn with the id ``turn`` took. ``marks`` are the marks of layers before and after it, by layer id."""

    turn: str
    queued: Sequence[Json] = ()
    documents: Sequence[Json] = ()
    marks: Mapping[str, tuple[Json, Json]] = field(default_factory=dict)


def key(thread: str) -> StateKey:
    """Return the key under which it is stored."""
    return StateKey(_LAYER, "thread", thread)


def added(stored: LayerState | None, thread: str, one: BeforeTurn) -> list[LayerState]:
    """Return the states to store after a turn: none if it took nothing."""
    if not (one.queued or one.documents or one.marks):
        return []
    earlier = [{**entry, "documents": []} for entry in _entries(stored)][-(_TURNS - 1) :]
    entry = {
        "turn": one.turn,
        "queued": list(one.queued),
        "documents": list(one.documents),
        "marks": {name: list(marks) for name, marks in one.marks.items()},
    }
    return [LayerState(key(thread), _VERSION, [*earlier, entry])]


def found(stored: LayerState | None, turn: str) -> BeforeTurn:
    """Return what the turn with this id took; an empty value if that is not known."""
    for entry in _entries(stored):
        if entry["turn"] == turn:
            marks = {name: (before, after) for name, (before, after) in entry["marks"].items()}
            return BeforeTurn(turn, entry["queued"], entry["documents"], marks)
    return BeforeTurn(turn)


def undone(layer: Layer, state: LayerState | None, before: BeforeTurn) -> LayerState | None:
    """Return the state of a layer without what the turn added to it; ``None`` if it added nothing."""
    if layer.id not in before.marks or state is None or state.version != layer.state_version:
        return None
    return LayerState(state.key, state.version, layer.undone(state.value, *before.marks[layer.id]))


def _entries(stored: LayerState | None) -> list[dict[str, Json]]:
    return list(stored.value) if stored and stored.version == _VERSION and isinstance(stored.value, list) else []
