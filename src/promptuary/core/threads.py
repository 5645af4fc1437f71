"""Values that describe threads: what is attached to them, how long their histories are, and past turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from promptuary.core.ports.threads import TurnRecord

FileState = Literal["ok", "empty", "missing", "deleted", "error"]
"""``missing``: it never existed; ``deleted``: it existed before."""


@dataclass(frozen=True, slots=True)
class HistoryStats:
    """A history in figures; ``share`` is the part of the window that it takes."""

    messages: int
    tokens: int
    window: int
    share: float
    needs_compaction: bool
    summaries: int


@dataclass(frozen=True, slots=True)
class TrackedFile:
    """A tracked file as it is listed; ``tokens`` is what all of it would cost."""

    path: str
    state: FileState
    code: str
    tokens: int
    score: int
    pinned: bool


@dataclass(frozen=True, slots=True)
class AttachmentList:
    """What is tracked in a thread, by priority, and the references that go with its next message."""

    tracked: Sequence[TrackedFile]
    queued: Sequence[str]


DriftKind = Literal["changed", "gone", "not readable"]
"""How a source differs from what the model saw."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A source that is no longer what the model saw."""

    path: str
    kind: DriftKind


@dataclass(frozen=True, slots=True)
class Replay:
    """A past turn, exactly as it was sent but for what was forgotten, and which of its sources have changed since."""

    turn: TurnRecord
    drift: Sequence[Drift]

    @property
    def forgotten(self) -> Sequence[str]:
        """The addresses of notes that were forgotten since; marks stand in their place."""
        return self.turn.forgotten
