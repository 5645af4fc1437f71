"""A run: one turn that a model answers, with calls of tools in between, and the lines that people read of it.

Values alone, no input or output: surfaces decide where the lines go.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, assert_never

from promptuary.core.expansion import Expansion
from promptuary.core.layers import Json
from promptuary.core.messages import Message, Prompt, ToolCall
from promptuary.core.ports.chat import ModelUsage, Retrying, StopReason, StreamingModel, TextPiece, ToolSpec
from promptuary.core.ports.models import ChatModel
from promptuary.core.receipts import Receipt
from promptuary.core.text import one_line
from promptuary.core.threads import turn_numbers

INTERRUPTED: Final = "[interrupted]"
"""What ends an answer in the history that was stopped before its end."""

BROKEN_OFF: Final = "[broken off]"
"""What ends an answer in the history that the service did not complete."""

OUT_OF_REQUESTS: Final = "[stopped: no more requests are allowed in this turn]"
"""What ends a turn in the history in which the model wanted to call tools again and again."""

MOST_REQUESTS: Final = 50
"""How many requests a run makes at most, unless it is told otherwise."""

UNRECORDED: Final = ""
"""The thread of a turn of which nothing is recorded. No thread can have this name."""

_ARGUMENT: Final = 60
_RESULT: Final = 100
LONGEST_ASKED: Final = 20_000
"""Characters of a call that a person can be asked about: it is shown to its end, and a longer one is refused."""
_NOTICED: Final = 1.0
"""Seconds of silence that a person notices."""
_KEPT: Final = "what had arrived of the answer is kept in the thread"
_NOT_KEPT: Final = "nothing of the answer is kept; --thread NAME keeps what is asked and answered"

NOTHING_ARRIVED: Final = "interrupted: nothing had arrived"
"""What is said of a run that was stopped before there was anything to keep."""

NOT_SENT: Final = "No model is configured: this is what would be sent. To get an answer:"
"""What is said where a message would be answered if there were a model; how to configure one stands below."""

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
        """The name of the thread; ``UNRECORDED`` if the turn is not recorded."""
        ...

    @property
    def number(self) -> int:
        """Its number in the thread."""
        ...

    @property
    def earlier(self) -> tuple[int, ...]:
        """The numbers of the requests before it, if tools were called."""
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

    ``reply`` is the text of the last request as the history has it. ``usage`` is what the service counted in all
    ``requests`` together, zeros if it counted nothing; ``cost`` is what they cost in dollars, if the service counts
    tokens and the price of the model is known.
    """

    turn: SentTurn
    reply: str
    receipt: Receipt
    usage: ModelUsage
    cost: float | None
    stop: RunStop
    requests: int

    @property
    def said(self) -> str:
        """What the model itself said last: ``reply`` without the mark of how it ended."""
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
        """What was counted here before it was sent."""
        return SentTokens(self.receipt.tokens, self.receipt.total, self.receipt.window)


@dataclass(frozen=True, slots=True)
class SentTokens:
    """What was counted here before it was sent, with the vocabulary of the settings; services may count otherwise.

    ``last_request`` is the ``tokens`` of the receipt, ``all_requests`` the sum over the requests of the turn.
    """

    last_request: int
    all_requests: int
    window: int


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The turn is recorded. The last event of a run, also of one that was interrupted or failed halfway."""

    result: RunResult


RunEvent = TurnPrepared | Retrying | TextPiece | CallBegun | CallEnded | TurnExtended | RunEnded
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


def took_line(result: RunResult, seconds: float) -> str:
    """Return what a run took, on one line: tokens, requests, money, its numbers in the thread, time."""
    sent, usage = result.tokens, result.usage
    parts = [f"{sent.last_request:,} tokens sent, {sent.last_request / max(sent.window, 1):.1%} of {sent.window:,}"]
    if result.requests > 1:
        parts.append(f"{result.requests} requests with {sent.all_requests:,} in all")
    if usage.is_known:
        cached = f" ({usage.cached_tokens:,} from the cache)" if usage.cached_tokens else ""
        parts.append(f"the service counts {usage.input_tokens:,} read{cached} and {usage.output_tokens:,} written")
    if result.cost is not None:
        parts.append(f"${result.cost:.4f}")
    if result.is_recorded:
        parts.append(turn_numbers((*result.turn.earlier, result.turn.number)))
    return "; ".join([*parts, f"{seconds:.1f} s"])


def ending_line(result: RunResult) -> str:
    """Return what the person has to know of how a run ended; nothing of one that ended as it should."""
    match result.stop:
        case "length":
            return "the answer is cut off: its length was used up (max_tokens of the model, or --reserve)"
        case "refused":
            return "the model, or its service, refuses to answer"
        case "tools":
            return "stopped: the model wanted to call more tools (--max-requests)"
        case "interrupted" | "failed":
            how = "interrupted" if result.stop == "interrupted" else "broken off"
            return f"{how}: {_KEPT if result.is_recorded else _NOT_KEPT}"
        case "end":
            return "" if result.reply.strip() else "the model ended without a word"
        case _:
            assert_never(result.stop)


def retry_line(retrying: Retrying) -> str:
    """Return what the person has to know while a busy service is waited for; nothing if that takes but a moment."""
    if retrying.seconds < _NOTICED:
        return ""
    return f"{one_line(retrying.reason)}; trying again in {retrying.seconds:.0f} s, Ctrl-C stops"


def tool_text(tool: Tool) -> str:
    """Return what a model is told of a tool, as a person reads it."""
    parameters = json.dumps(tool.spec.parameters, ensure_ascii=False)
    return f"[tool {tool.name}]\n{tool.spec.description}\n{parameters}\n"


def call_line(call: ToolCall) -> str:
    """Return a call as a person reads it: its name, and its arguments in short."""
    shown = [f"{name}={one_line(value)}" if name else one_line(value) for name, value in _arguments(call)]
    return one_line(" ".join([call.name, *(_short(one, _ARGUMENT) for one in shown)]))


def asked_lines(call: ToolCall) -> list[str]:
    """Return a call as a person reads it before agreeing to it: each argument to its end, line by line."""
    lines = [f"The model wants to call {one_line(call.name)}:"]
    for name, value in _arguments(call):
        first, *rest = map(one_line, value.splitlines() or [""])
        lines += [f"  {one_line(name)}: {first}", *(f"    {one}" for one in rest)]
    return lines


def _arguments(call: ToolCall) -> list[tuple[str, str]]:
    """Return the names and values of the arguments; what is no object has no name."""
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        given = call.arguments
    values = list(given.items()) if isinstance(given, dict) else [("", given)]
    return [(name, one if isinstance(one, str) else json.dumps(one)) for name, one in values]


def too_long_to_ask(call: ToolCall) -> str:
    """Return why a person cannot be asked about a call, if it is so long that nobody would read it to its end."""
    length = len(call.arguments)
    if length <= LONGEST_ASKED:
        return ""
    name = one_line(call.name)
    return f"refused: the model wants to call {name} with {length:,} characters; {LONGEST_ASKED:,} can be shown to you"


def result_line(ended: CallEnded) -> str:
    """Return what a call gave as a person reads it: how long it is, what was written, or what went wrong."""
    if ended.is_error:
        return _short(one_line(ended.result), _RESULT)
    return _written(ended.result) or f"{len(ended.result):,} characters"


def _written(result: str) -> str:
    """Return what became of a note that a tool of ours wrote; nothing if it wrote none."""
    try:
        told = json.loads(result) if '"written"' in result else None
    except (ValueError, RecursionError):
        return ""
    if not isinstance(told, dict) or not isinstance(told.get("written"), bool):
        return ""
    if told["written"]:
        return f"written: {one_line(str(told.get('memory_id', '')))}"
    return _short(f"not written: {one_line(str(told.get('why', '')))}", _RESULT)


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"
