"""What ``expand`` answers: the message as sent, each reference's outcome, and the cost."""

from dataclasses import dataclass

from promptuary.core.blocks import Block, Detail
from promptuary.core.errors import Code, Status
from promptuary.core.messages import Attachment, Message
from promptuary.core.references import Reference


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one reference ended. ``tokens`` counts only what this reference added."""

    reference: Reference
    status: Status
    target: str
    tokens: int = 0
    lines: tuple[int, int] | None = None
    detail: Detail | None = None
    sha256: str | None = None
    code: Code | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Spend:
    """The cost of the injected context beside the limits that held."""

    injected: int
    window: int
    warn_at: int
    limit: int


@dataclass(frozen=True, slots=True)
class Expansion:
    """A message with everything it points at, ready to send.

    ``text`` is the person's own part of it, and starts at ``words_start`` of the message's content; ``attachments`` say
    where in the content the bodies of ``blocks`` are.
    """

    text: str
    messages: tuple[Message, ...]
    outcomes: tuple[Outcome, ...]
    blocks: tuple[Block, ...]
    spend: Spend
    warnings: tuple[str, ...] = ()
    blocked: bool = False
    named: tuple[str, ...] = ()
    """The files that were named outright, for whoever learns from use."""
    attachments: tuple[Attachment, ...] = ()
    words_start: int = 0
