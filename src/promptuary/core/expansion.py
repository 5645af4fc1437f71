"""What ``expand`` returns: the message as sent, the outcome of each reference, and the cost."""

from dataclasses import dataclass

from promptuary.core.blocks import Block, Detail
from promptuary.core.errors import Code, Status
from promptuary.core.messages import Attachment, Message
from promptuary.core.references import WRITING_KINDS, Reference


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one reference ended.

    ``target`` is the path that the reference leads to, or its value, without a range. ``lines`` is the range that was
    attached. ``tokens`` counts only what this reference added.
    """

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
    """The tokens of the attached context, and the limits that applied."""

    injected: int
    window: int
    warn_at: int
    limit: int


@dataclass(frozen=True, slots=True)
class Expansion:
    """A message with everything it refers to, ready to send.

    ``text`` is the person's own part of it, and starts at ``words_start`` of the message's content; ``attachments`` say
    where in the content the bodies of ``blocks`` are.
    """

    text: str
    messages: tuple[Message, ...]
    outcomes: tuple[Outcome, ...]
    blocks: tuple[Block, ...]
    spend: Spend
    general_warnings: tuple[str, ...] = ()
    """What concerns the message as a whole; why a single reference failed is in its outcome."""
    blocked: bool = False
    named: tuple[str, ...] = ()
    """The files that were named outright: completion prefers them later."""
    attachments: tuple[Attachment, ...] = ()
    words_start: int = 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """The general warnings, then one for each reference that failed, or wrote something."""
        told = [one for one in self.outcomes if one.code or one.reference.kind in WRITING_KINDS]
        return tuple(dict.fromkeys((*self.general_warnings, *(f"{one.reference.raw}: {one.reason}" for one in told))))
