"""The result of ``expand``: the message as sent, the outcome of each reference, and the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from promptuary.base.budget import most_tokens
from promptuary.base.references import WRITING_KINDS

if TYPE_CHECKING:
    from promptuary.base.blocks import Attachment, Block, Detail, Omitted
    from promptuary.base.errors import Code, Status
    from promptuary.base.messages import Message
    from promptuary.base.references import Reference


_MARKS: Final = ("@", "#", "[[")
"""Every reference begins with one of these, and so does everything that only looks like one."""


class Outcome(Struct, frozen=True):
    """How one reference ended.

    ``target`` is the path that the reference leads to, or its value, without a range. ``lines`` is the range that was
    attached. ``tokens`` counts only what this reference added; ``whole_tokens`` is what it would have added whole, 0 if
    that is the same.
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
    whole_tokens: int = 0


class Typo(Struct, frozen=True):
    """Text that is not a reference but was probably meant as one; ``meant`` is the correct spelling, if it is known.

    It is sent unchanged and without a remark to the model: only the person knows what was meant.
    """

    raw: str
    start: int
    end: int
    meant: str
    reason: str

    def __str__(self) -> str:
        advice = f" Did you mean {self.meant}?" if self.meant else ""
        return f"{self.raw} is sent as text: {self.reason}.{advice}"


class TokenUse(Struct, frozen=True):
    """The tokens of the attached context, and the limits that applied."""

    injected: int
    window: int
    warn_at: int
    limit: int


class Measured(Struct, frozen=True):
    """The cost of a message: its own words, and what it points at.

    ``uncounted`` are references that are fetched, or do something, only when the message is sent. ``waiting`` are the
    attachments that are queued in the thread for the next message, each with its tokens.
    """

    words: int
    spend: TokenUse
    uncounted: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    waiting: tuple[tuple[str, int], ...] = ()


class Expansion(Struct, frozen=True):
    """A message with everything it refers to, ready to send.

    ``text`` is the part that the person wrote; it starts at ``words_start`` of the message's content; ``attachments``
    say where in the content the bodies of ``blocks`` are. ``left_out`` is what did not fit at all: the largest by name,
    and how many others there are.
    """

    text: str
    messages: tuple[Message, ...]
    outcomes: tuple[Outcome, ...]
    blocks: tuple[Block, ...]
    spend: TokenUse
    general_warnings: tuple[str, ...] = ()
    """Warnings about the message as a whole; why a single reference failed is in its outcome."""
    blocked: bool = False
    named: tuple[str, ...] = ()
    """The files that were named outright: completion prefers them later."""
    attachments: tuple[Attachment, ...] = ()
    words_start: int = 0
    left_out: tuple[Omitted, ...] = ()
    slips: tuple[Typo, ...] = ()

    @property
    def incomplete(self) -> bool:
        """Whether a reference failed, or there is text that was probably meant as one."""
        return self.blocked or bool(self.slips) or any(one.code for one in self.outcomes)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The general warnings, then one for each slip and each reference that failed, or wrote something."""
        told = [one for one in self.outcomes if one.code or one.reference.kind in WRITING_KINDS]
        failed = (f"{one.reference.raw}: {one.reason}" for one in told)
        return tuple(dict.fromkeys((*self.general_warnings, *map(str, self.slips), *failed)))


def may_refer(text: str) -> bool:
    """Return whether a text may refer to something, or look as if it did."""
    return any(mark in text for mark in _MARKS)


def sent_alone(text: str, spend: TokenUse) -> Expansion | None:
    """Return ``text`` as it is sent; ``None`` if it may refer to something, or may be too long for the window."""
    if may_refer(text) or most_tokens(text) > spend.window - spend.limit:
        return None
    return Expansion(text, ({"role": "user", "content": text},), outcomes=(), blocks=(), spend=spend)
