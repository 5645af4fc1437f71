"""The notes that a thread has been shown: the state of recall, as JSON. Pure.

Recalled notes are not part of the history, but are treated as if they were attached to the message that they were
recalled for. They stay in the window as long as that message is in the history, so nothing is shown twice and nothing
that the model has seen disappears. When the message is compacted away, or memory takes more than its share, the note
leaves the window, and may be recalled again.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from promptuary.core.notes import NoteHeader, NoteScope
from promptuary.memory.recall.visible import NoteKey

_SHOWN: Final = "shown"
_PENDING: Final = "pending"


class ShownNote(Struct, frozen=True):
    """A note that was shown: its revision then, the first line that was shown of a long one, and in which turn.

    ``turn`` is empty until that turn has ended.
    """

    scope: NoteScope
    id: str
    rev: str
    line: int = 0
    turn: str = ""

    @property
    def key(self) -> NoteKey:
        """Which note it is."""
        return NoteKey(self.scope, self.id)

    @classmethod
    def of(cls, header: NoteHeader, line: int = 0) -> "ShownNote":
        """Return a note that is shown for the first time."""
        return cls(header.scope, header.id, header.rev, line)


def standing(state: Any, turns: Collection[str]) -> list[ShownNote]:
    """Return what was shown in the turns that are still in the history, in that order."""
    return [one for one in _read(state, _SHOWN) if one.turn in turns]


def prepared(state: Any, notes: Sequence[ShownNote]) -> dict[str, Any]:
    """Return the state of a turn that shows ``notes``. It is provisional until the turn has ended."""
    return {_SHOWN: _entries(_read(state, _SHOWN)), _PENDING: _entries(notes)}


def finished(state: Any, turn: str) -> dict[str, Any]:
    """Return the state after a turn has ended: the notes that it was prepared with are shown."""
    notes = [one if one.turn else replace(one, turn=turn) for one in _read(state, _PENDING)]
    return {_SHOWN: _entries(notes), _PENDING: []}


def abandoned(state: Any) -> dict[str, Any]:
    """Return the state after a turn that got no reply: nothing of it is in the history."""
    return {_SHOWN: _entries(_read(state, _SHOWN)), _PENDING: []}


def _entries(notes: Sequence[ShownNote]) -> list[dict[str, Any]]:
    return [asdict(one) for one in notes]


def _read(state: Any, name: str) -> list[ShownNote]:
    entries = state.get(name, []) if isinstance(state, Mapping) else []
    return [ShownNote(**one) for one in entries]
