"""A run: one turn that a model answers, with calls of tools in between. Values alone, no input or output."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from promptuary.core.expansion import Expansion
from promptuary.core.layers import Json
from promptuary.core.messages import Message, Prompt, ToolCall
from promptuary.core.ports.chat import ModelUsage, StopReason, StreamingModel, TextPiece, ToolSpec
from promptuary.core.ports.models import ChatModel
from promptuary.core.receipts import Receipt

INTERRUPTED: Final = "[interrupted]"
"""What ends an answer in the history that was stopped before its end."""

BROKEN_OFF: Final = "[broken off]"
"""What ends an answer in the history that the service did not complete."""

OUT_OF_REQUESTS: Final = "[stopped: no more requests are allowed in this turn]"
"""What ends a turn in the history in which the model wanted to call tools again and again."""

MOST_REQUESTS: Final = 50
"""How many requests a run makes at most, unless it is told otherwise."""

AnyModel = str | StreamingModel | ChatModel
"""A model to run a turn with: a name of the settings or of a provider, or a model itself."""


@dataclass(frozen=True, slots=True)
class Tool:
    """What a model may call in a run.

    ``call`` gets arguments that fit the schema of ``spec`` and returns what the model is told. A ``PromptuaryError``
    that it raises is told to the model, too; of any other error only the name is. It is called in a thread unless it is
    a coroutine function. One that ``writes`` is called only if the person agrees. ``timeout`` is in seconds.
    """

    spec: ToolSpec
    call: Callable[[Mapping[str, Json]], str | Awaitable[str]]
    writes: bool = False
    timeout: float = 60.0

    @property
    def name(self) -> str:
        """The name by which a model calls it."""
        return self.spec.name


class SentTurn(Protocol):
    """A turn as a run shows it: what was sent, and its receipt."""

    @property
    def id(self) -> str:
        """The id of the request."""
        ...

    @property
    def thread(self) -> str:
        """The name of the thread."""
        ...

    @property
    def number(self) -> int:
        """Its number in the thread."""
        ...

    @property
    def text(self) -> str:
        """What the person typed."""
        ...

    @property
    def prompt(self) -> Prompt:
        """What is sent, in its parts."""
        ...

    @property
    def messages(self) -> list[Message]:
        """What is sent."""
        ...

    @property
    def receipt(self) -> Receipt:
        """What went into it."""
        ...

    @property
    def expansion(self) -> Expansion:
        """What the message points at."""
        ...


@dataclass(frozen=True, slots=True)
class TurnPrepared:
    """The message and all that goes with it is ready, and is sent now."""

    turn: SentTurn


@dataclass(frozen=True, slots=True)
class CallBegun:
    """The model calls a tool. Whether the person agrees is asked after this."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class CallEnded:
    """What the model is told of a call; ``is_error``: the tool failed, was refused, or does not exist."""

    call: ToolCall
    result: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class TurnExtended:
    """The results of tools are ready, and are sent now: the next request of the turn."""

    turn: SentTurn


RunStop = StopReason | Literal["interrupted", "failed"]
"""Why a run ended. With ``tools``, the model wanted to call more of them than the run allows requests."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """One turn, answered and recorded.

    ``reply`` is the text of the last request as the history has it; ``usage`` is that of all ``requests`` together, and
    ``cost`` what they cost in dollars, if the service counts tokens and the price of the model is known.
    """

    turn: SentTurn
    reply: str
    receipt: Receipt
    usage: ModelUsage
    cost: float | None
    stop: RunStop
    requests: int


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The turn is recorded. The last event of a run, also of one that was interrupted or failed halfway."""

    result: RunResult


RunEvent = TurnPrepared | TextPiece | CallBegun | CallEnded | TurnExtended | RunEnded
"""What happens in a run, in the order in which it happens."""

OnEvent = Callable[[RunEvent], object]
"""Is told what happens. It is called on the event loop, and what it returns is awaited if it can be."""

Confirm = Callable[[ToolCall], bool | Awaitable[bool]]
"""Asks the person whether a tool that writes may be called. It is called in a thread unless it is a coroutine."""


def summed(usages: Sequence[ModelUsage]) -> ModelUsage:
    """Return the usage of several requests together."""
    return ModelUsage(
        sum(one.input_tokens for one in usages),
        sum(one.output_tokens for one in usages),
        sum(one.cached_tokens for one in usages),
    )
