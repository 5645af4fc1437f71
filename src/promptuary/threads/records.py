"""What threads store: turns, changes, the states of layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from promptuary.base.messages import SPEAKERS, Item, Message, Replacement, ToolCall

# Types only: many commands open the database for other purposes than threads.
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptuary.context.receipt import Receipt
    from promptuary.layers.layer import LayerState

TurnStatus = Literal["prepared", "continued", "finished", "failed", "abandoned", "undone", "superseded"]
"""A prepared turn has been shown to somebody; only a finished one has a reply in the history.

An undone turn was finished and then taken back by the person: its messages left the history.

A continued turn was answered with tool calls: the turn with the next number has their results.

A superseded turn is one of a conversation that a client keeps, which has its messages no longer.
"""


class TurnRecord(Struct, frozen=True):
    """A turn in the ledger: ``messages`` is exactly what was sent, ``number`` counts from 1 in its thread.

    ``user`` is who acted. The store sets it from its principal when the turn is added and ignores a given value.
    ``forgotten`` are the addresses of notes that were forgotten since, each replaced by a mark. The store sets it.
    ``reply_tokens`` is what the model answered; ``cost`` is what the person was charged, in their own currency.
    """

    id: str
    thread: str
    number: int
    created: str
    status: TurnStatus
    text: str
    messages: Sequence[Message]
    receipt: Receipt
    user: str = ""
    forgotten: tuple[str, ...] = ()
    reply_tokens: int = 0
    cost: float | None = None

    @property
    def root(self) -> str:
        """The id of the first turn of its message: the ids of turns that continue it begin with it and a full stop."""
        return self.id.partition(".")[0]

    @property
    def is_continuation(self) -> bool:
        """Whether it continues another turn of the same message."""
        return self.id != self.root


class TurnHead(Struct, frozen=True):
    """A turn in a listing. ``text`` is the beginning of what the person said.

    ``layers`` are the tokens of each layer, in the order of the prompt; ``omitted`` is how many things were left out,
    and ``shortened`` how many are in it, but not whole.
    """

    thread: str
    number: int
    created: str
    status: TurnStatus
    text: str
    tokens: int
    window: int
    reserve: int
    layers: Mapping[str, int]
    omitted: int
    reply_tokens: int = 0
    cost: float | None = None
    id: str = ""
    shortened: int = 0


class RecentTurns(Struct, frozen=True):
    """Turns, the newest first. ``following`` is the cursor of the next ones, empty if there are none."""

    turns: tuple[TurnHead, ...]
    following: str = ""


class SentMessage(Struct, frozen=True):
    """A message of a prompt without most of its text: its beginning. ``calls`` are the tools that it calls."""

    role: str
    beginning: str
    calls: tuple[ToolCall, ...] = ()


class SeenTurn(Struct, frozen=True):
    """A turn with its receipt, but of its texts only the beginnings; ``ThreadStore.sent_text`` returns the rest.

    ``earlier`` and ``later`` are the numbers of the turns before and after it in its thread, 0 if there are none. Of
    its history, ``summarised`` messages were sent as a summary, and ``shortened`` ones without a part of their text.
    """

    id: str
    thread: str
    number: int
    created: str
    status: TurnStatus
    text: str
    receipt: Receipt
    messages: tuple[SentMessage, ...]
    user: str = ""
    reply_tokens: int = 0
    cost: float | None = None
    earlier: int = 0
    later: int = 0
    summarised: int = 0
    shortened: int = 0


class Glance(Struct, frozen=True):
    """The beginnings of what was said and answered in a turn, and its receipt."""

    text: str
    answer: str
    receipt: Receipt


class SentText(Struct, frozen=True):
    """A part of the text of a message of a prompt, from the character ``start`` on; ``length`` is that of all of it."""

    role: str
    text: str
    start: int
    length: int


class Totals(Struct, frozen=True):
    """A thread in figures: what was sent to models in all its turns, what they answered, and what that cost.

    ``turns`` does not count those that were continued by another. ``messages`` counts what was said, compacted messages
    too. ``cost`` is ``None`` if no turn has one. ``recent`` is what each of the last turns sent, the oldest first.
    """

    turns: int = 0
    finished: int = 0
    messages: int = 0
    tokens: int = 0
    reply_tokens: int = 0
    cost: float | None = None
    recent: tuple[int, ...] = ()


USES_AT_ONCE: Final = 100
"""How many uses of a source are returned at once."""

RECENT_TURNS: Final = 60
"""How many turns ``Totals.recent`` has at most."""


class ThreadInfo(Struct, frozen=True):
    """A thread in a listing; ``items`` counts its current history, ``turns`` leaves out continued turns."""

    id: str
    created: str
    updated: str
    turns: int
    items: int


class ThreadChange(Struct, frozen=True):
    """Everything that one step of a turn changes. It is written as a whole or not at all.

    The parts are applied in this order. ``items`` are appended to the history. ``pinned`` sets and removes pins.
    ``replacements`` take items out of the history and put others in their place; the old ones stay in the ledger.
    ``removed`` are ids of items that leave the history with nothing in their place; they stay in the ledger, too.
    ``states`` overwrite what was stored. ``turn`` is added, or, if a turn with its id exists, its status,
    receipt, tokens of the reply and cost are updated. ``continued`` is the id of the prepared turn that it
    continues: only the status of that one changes. ``ended`` are further turns, each with all that continued it, by the
    id of the first: a status that only prepared ones get, or ``superseded``, which finished ones get, too.
    """

    thread: str
    turn: TurnRecord | None = None
    items: Sequence[Item] = ()
    replacements: Sequence[Replacement] = ()
    pinned: Sequence[tuple[str, bool]] = ()
    states: Sequence[LayerState] = ()
    continued: str = ""
    removed: Sequence[str] = ()
    ended: Sequence[tuple[str, TurnStatus]] = ()

    def __post_init__(self) -> None:
        if self.turn is not None and self.turn.thread != self.thread:
            raise ValueError(f"a change of thread {self.thread!r} cannot hold a turn of {self.turn.thread!r}")
        if self.turn is not None and self.turn.number < 1:
            raise ValueError(f"turns are numbered from 1, not {self.turn.number}")
        if not all(one.ids for one in self.replacements):
            raise ValueError("a replacement must name at least one item that it replaces")
        for item in (*self.items, *(one.item for one in self.replacements)):
            if item.role not in SPEAKERS:
                raise ValueError(f"an item of a history is of a user, an assistant or a tool, not of {item.role!r}")
