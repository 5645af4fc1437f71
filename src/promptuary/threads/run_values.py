"""A run: one turn that a model answers, including its tool calls."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from promptuary.base.messages import ToolCall
from promptuary.base.values import Json
from promptuary.context.receipt import Receipt
from promptuary.models.chat_model import ModelUsage, Retrying, StopReason, StreamingModel, TextPiece, ToolSpec
from promptuary.models.protocols import ChatModel
from promptuary.threads.consent import ToolConsent

if TYPE_CHECKING:
    from promptuary.threads.prepared import Turn

INTERRUPTED: Final = "[interrupted]"
"""The mark in the history at the end of an answer that was interrupted."""

BROKEN_OFF: Final = "[broken off]"
"""The mark in the history at the end of an answer that the service did not complete."""

OUT_OF_REQUESTS: Final = "[stopped: no more requests are allowed in this turn]"
"""The mark in the history at the end of a turn in which the model wanted more tool calls than allowed."""

UNRECORDED: Final = ""
"""The thread name of a turn that is not recorded. No thread can have this name."""


AnyModel = str | StreamingModel | ChatModel
"""A model to run a turn with: a name from the settings or of a provider, or a model object."""


class Tool(Struct, frozen=True):
    """What a model may call in a run.

    ``call`` gets arguments that fit the schema of ``spec`` and returns the result for the model. The model also sees
    the text of a ``PromptuaryError`` that it raises; of any other error it sees only the name. It is called in a thread
    unless it is a coroutine function. A tool that ``writes`` is called only if the person agrees; that to a tool of
    another server may be kept (``consent.keep()``), and then nobody is asked. ``timeout`` is in seconds.
    """

    spec: ToolSpec
    call: Callable[[Mapping[str, Json]], str | Awaitable[str]]
    writes: bool = False
    timeout: float = 60.0
    consent: ToolConsent | None = None
    """Of a tool of another server."""

    @property
    def name(self) -> str:
        """The name by which a model calls it."""
        return self.spec.name


class TurnPrepared(Struct, frozen=True):
    """The message and its context are ready, and are sent now."""

    turn: "Turn"


class CallBegun(Struct, frozen=True):
    """The model calls a tool. The person is asked for consent after this."""

    call: ToolCall


class CallEnded(Struct, frozen=True):
    """The result of a call for the model; ``is_error``: the tool failed, was refused, or does not exist."""

    call: ToolCall
    result: str
    is_error: bool = False


class TurnExtended(Struct, frozen=True):
    """The results of tools are ready, and are sent now, in the next request of the turn."""

    turn: "Turn"


RunStop = StopReason | Literal["interrupted", "failed"]
"""Why a run ended. With ``tools``, the model wanted to call more of them than the run allows requests."""


class RunResult(Struct, frozen=True):
    """One turn, answered and recorded.

    ``reply`` is the last answer as it is in the history. ``usage`` is what the service counted in all
    ``requests`` together, zeros if it counted nothing; ``cost`` is what they cost in dollars, if the service counts
    tokens and the price of the model is known.
    """

    turn: "Turn"
    reply: str
    receipt: Receipt
    usage: ModelUsage
    cost: float | None
    stop: RunStop
    requests: int

    @property
    def said(self) -> str:
        """The model's own last words: ``reply`` without the mark of how it ended."""
        for mark in (INTERRUPTED, BROKEN_OFF, OUT_OF_REQUESTS):
            if self.stop != "end" and self.reply.endswith(mark):
                return self.reply.removesuffix(mark).rstrip("\n")
        return self.reply

    @property
    def is_recorded(self) -> bool:
        """Whether the turn is in a thread."""
        return self.turn.thread != UNRECORDED

    @property
    def tokens(self) -> "SentTokens":
        """The tokens as counted here before sending."""
        return SentTokens(self.receipt.tokens, self.receipt.total, self.receipt.window)


class SentTokens(Struct, frozen=True):
    """The tokens as counted here before sending, with the vocabulary of the settings; services may count differently.

    ``last_request`` is the ``tokens`` of the receipt, ``all_requests`` the sum over the requests of the turn.
    """

    last_request: int
    all_requests: int
    window: int


class RunEnded(Struct, frozen=True):
    """The turn is recorded. The last event of a run, even of one that was interrupted or failed halfway."""

    result: RunResult


RunEvent = TurnPrepared | Retrying | TextPiece | CallBegun | CallEnded | TurnExtended | RunEnded
"""The events of a run, in order."""

OnEvent = Callable[[RunEvent], object]
"""Receives the events. It is called on the event loop, and its result is awaited if it is awaitable."""

Confirm = Callable[[ToolCall], bool | Awaitable[bool]]
"""Asks the person whether a tool that writes may be called. It is called in a thread unless it is a coroutine."""


def summed(usages: Sequence[ModelUsage]) -> ModelUsage:
    """Return the sum of the usage of several requests."""
    return ModelUsage(
        sum(one.input_tokens for one in usages),
        sum(one.output_tokens for one in usages),
        sum(one.cached_tokens for one in usages),
    )
