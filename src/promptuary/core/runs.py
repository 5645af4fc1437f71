"""A run: one turn that a model answers, including its tool calls, and the lines that are shown to people about it.

Values only, no input or output: surfaces decide where the lines go.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, assert_never

from msgspec import Struct

from promptuary.core.layers import Json
from promptuary.core.messages import ToolCall
from promptuary.core.ports.chat import ModelUsage, Retrying, StopReason, StreamingModel, TextPiece, ToolSpec
from promptuary.core.ports.models import ChatModel
from promptuary.core.receipts import Receipt
from promptuary.core.text import beginning, one_line
from promptuary.core.threads import turn_numbers

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

_ARGUMENT: Final = 60
_RESULT: Final = 100
LONGEST_ASKED: Final = 20_000
"""The most characters of a call that a person is asked about: it is shown in full, and a longer one is refused."""
_NOTICED: Final = 1.0
"""Seconds of silence that a person notices."""
_KEPT: Final = "what had arrived of the answer is kept in the thread"
_NOT_KEPT: Final = "nothing of the answer is kept; --thread NAME keeps what is asked and answered"

NOTHING_ARRIVED: Final = "interrupted: nothing had arrived"
"""The message for a run that was interrupted before anything arrived."""

NOT_SENT: Final = "No model is configured: this is what would be sent. To get an answer:"
"""The message when no model can answer; it is followed by how to configure one."""

AnyModel = str | StreamingModel | ChatModel
"""A model to run a turn with: a name from the settings or of a provider, or a model object."""


class Tool(Struct, frozen=True):
    """What a model may call in a run.

    ``call`` gets arguments that fit the schema of ``spec`` and returns the result for the model. The model also sees
    the text of a ``PromptuaryError`` that it raises; of any other error it sees only the name. It is called in a thread
    unless it is a coroutine function. A tool that ``writes`` is called only if the person agrees. ``timeout`` is in
    seconds.
    """

    spec: ToolSpec
    call: Callable[[Mapping[str, Json]], str | Awaitable[str]]
    writes: bool = False
    timeout: float = 60.0

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


def took_line(result: RunResult, seconds: float) -> str:
    """Return what a run took, on one line: tokens, requests, cost, turn numbers, time."""
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
    """Return what the person has to know about how a run ended; empty if it ended normally."""
    match result.stop:
        case "length":
            return "the answer is cut off: it reached its length limit (max_tokens of the model, or --reserve)"
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
    """Return the line to show during a wait for a busy service; empty if the wait is too short to notice."""
    if retrying.seconds < _NOTICED:
        return ""
    return f"{one_line(retrying.reason)}; trying again in {retrying.seconds:.0f} s, Ctrl-C stops"


def tool_text(tool: Tool) -> str:
    """Return the description of a tool for models, in a form for people."""
    parameters = json.dumps(tool.spec.parameters, ensure_ascii=False)
    return f"[tool {tool.name}]\n{tool.spec.description}\n{parameters}\n"


def call_line(call: ToolCall) -> str:
    """Return a call in a form for people: its name, and its arguments shortened."""
    shown = [f"{name}={one_line(value)}" if name else one_line(value) for name, value in _arguments(call)]
    return one_line(" ".join([call.name, *(beginning(one, _ARGUMENT) for one in shown)]))


def asked_lines(call: ToolCall) -> list[str]:
    """Return a call in the form in which a person is asked to agree to it: each argument in full, line by line."""
    lines = [f"The model wants to call {one_line(call.name)}:"]
    for name, value in _arguments(call):
        first, *rest = map(one_line, value.splitlines() or [""])
        lines += [f"  {one_line(name)}: {first}", *(f"    {one}" for one in rest)]
    return lines


def _arguments(call: ToolCall) -> list[tuple[str, str]]:
    """Return the names and values of the arguments; if they are not an object, there is one without a name."""
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        given = call.arguments
    values = list(given.items()) if isinstance(given, dict) else [("", given)]
    return [(name, one if isinstance(one, str) else json.dumps(one)) for name, one in values]


def too_long_to_ask(call: ToolCall) -> str:
    """Return why a person cannot be asked about a call; empty unless it is too long to be read in full."""
    length = len(call.arguments)
    if length <= LONGEST_ASKED:
        return ""
    name = one_line(call.name)
    return f"refused: the model wants to call {name} with {length:,} characters; {LONGEST_ASKED:,} can be shown to you"


def result_line(ended: CallEnded) -> str:
    """Return the result of a call in a form for people: its length, what was written, or what went wrong."""
    if ended.is_error:
        return beginning(one_line(ended.result), _RESULT)
    return _written(ended.result) or f"{len(ended.result):,} characters"


def _written(result: str) -> str:
    """Return what a built-in tool did with a note; empty if it wrote none."""
    try:
        told = json.loads(result) if '"written"' in result else None
    except (ValueError, RecursionError):
        return ""
    if not isinstance(told, dict) or not isinstance(told.get("written"), bool):
        return ""
    if told["written"]:
        return f"written: {one_line(str(told.get('memory_id', '')))}"
    return beginning(f"not written: {one_line(str(told.get('why', '')))}", _RESULT)
