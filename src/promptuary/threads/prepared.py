"""A turn that is ready to be sent: its prompt, what went into it, and the results of tools so far.

Each request of a turn is a turn of the ledger, with its own number: the first is *continued* by the next.
"""

from typing import Any, Literal

from msgspec import Struct

from promptuary.base.blocks import Block
from promptuary.base.messages import Item, Message, Prompt
from promptuary.base.values import shown_without
from promptuary.context.receipt import Receipt
from promptuary.context.receipt_entries import PromptPart
from promptuary.models import render
from promptuary.references.expansion import Expansion

Keep = Literal["full", "receipt", "off"]
"""What is stored of a conversation: all of it, only receipts and what was attached here, or nothing at all."""


class Given(Struct, frozen=True):
    """What is known of a request of a conversation that somebody else keeps.

    ``link`` identifies its last message (see ``threads.chain``). ``keep`` is what is stored of it. ``learn``: notes and
    experiences are learnt from it.
    """

    link: str
    keep: Keep = "full"
    learn: bool = True

    @property
    def stored(self) -> bool:
        """Whether it is in the ledger."""
        return self.keep != "off"


class Turn(Struct, frozen=True):
    """One turn, ready to be sent."""

    id: str
    thread: str
    number: int
    text: str
    prompt: Prompt
    receipt: Receipt
    expansion: Expansion
    parts: tuple[PromptPart, ...] = ()
    """What each layer, the history and the message have in the prompt; empty for a turn that was restored."""
    layers: tuple[str, ...] = ()
    """The layer of each message of the stable part, then of the live part."""
    said: tuple[Item, ...] = ()
    """What the model and its tools have said since the message, as it was received."""
    loop: tuple[Item, ...] = ()
    """The same as it is sent: shortened where it does not fit."""
    earlier: tuple[int, ...] = ()
    """The numbers of the requests before this one."""
    noted: bool = False
    """Whether the message wrote a note explicitly: then nothing is left to learn from it."""
    given: Given | None = None
    """Set if somebody else keeps the conversation: see ``Promptuary.threads.record``."""

    def __repr__(self) -> str:
        return shown_without(self, "expansion", "parts", "layers", "said", "loop")

    @property
    def messages(self) -> list[Message]:
        """The messages for any chat API."""
        return self.prompt.messages

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Everything in the prompt, in order; the history is one block."""
        return tuple(block for part in self.parts for block in part.blocks)

    @property
    def root(self) -> str:
        """The id of its first request."""
        return self.id.partition(".")[0]

    def render(self, provider: render.Provider) -> Any:
        """Return the prompt in the format of a provider."""
        return render.FORMS[provider](self.prompt)


SentTurn = Turn
"""The turn of a run, in its events and its result."""


def wrote_a_note(expansion: Expansion) -> bool:
    """Return whether a message wrote a note explicitly."""
    return any(one.reference.kind == "remember" and one.code is None for one in expansion.outcomes)
