"""A run as the lines that people see during it and after it, and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, assert_never

from msgspec import to_builtins

from promptuary.base.text import beginning, one_line
from promptuary.context.receipt import Receipt, receipt_json
from promptuary.present.expansions import turn_json
from promptuary.threads.values import turn_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptuary.base.messages import Message, ToolCall
    from promptuary.models.chat_model import Retrying
    from promptuary.references.expansion import Expansion
    from promptuary.threads.run_values import CallEnded, RunResult, Tool

_MAX_ARGUMENT: Final = 60
_MAX_RESULT: Final = 100
_MAX_ASKED: Final = 20_000
"""The most characters of a call that a person is asked about: it is shown in full, and a longer one is refused."""
_MIN_WAIT: Final = 1.0
"""Seconds of silence that a person notices."""
_IN_THREAD: Final = "what had arrived of the answer is kept in the thread"
_NOT_IN_THREAD: Final = "nothing of the answer is kept; --thread NAME keeps what is asked and answered"
NOTHING_ARRIVED: Final = "interrupted: nothing had arrived"
"""The message for a run that was interrupted before anything arrived."""
ASKED_FOR_GOOD: Final = "Let it? [y/N, a: always this tool]"
"""The question before a call of another server's tool."""
FOR_GOOD: Final = frozenset({"a", "always"})
"""The answers to it that are kept."""
NOT_SENT: Final = "No model is configured: this is what would be sent. To get an answer:"
"""The message when no model can answer; it is followed by how to configure one."""


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
            return f"{how}: {_IN_THREAD if result.is_recorded else _NOT_IN_THREAD}"
        case "end":
            return "" if result.reply.strip() else "the model ended without a word"
        case _:
            assert_never(result.stop)


def retry_line(retrying: Retrying) -> str:
    """Return the line to show during a wait for a busy service; empty if the wait is too short to notice."""
    if retrying.seconds < _MIN_WAIT:
        return ""
    return f"{one_line(retrying.reason)}; trying again in {retrying.seconds:.0f} s, Ctrl-C stops"


def tool_text(tool: Tool) -> str:
    """Return the description of a tool for models, in a form for people."""
    parameters = json.dumps(tool.spec.parameters, ensure_ascii=False)
    return f"[tool {tool.name}]\n{tool.spec.description}\n{parameters}\n"


def call_line(call: ToolCall) -> str:
    """Return a call in a form for people: its name, and its arguments shortened."""
    shown = [f"{name}={one_line(value)}" if name else one_line(value) for name, value in _arguments(call)]
    return one_line(" ".join([call.name, *(beginning(argument, _MAX_ARGUMENT) for argument in shown)]))


def asked_lines(call: ToolCall) -> list[str]:
    """Return a call in the form in which a person is asked to agree to it: each argument in full, line by line."""
    lines = [f"The model wants to call {one_line(call.name)}:"]
    for name, value in _arguments(call):
        first, *rest = map(one_line, value.splitlines() or [""])
        lines += [f"  {one_line(name)}: {first}", *(f"    {line}" for line in rest)]
    return lines


def _arguments(call: ToolCall) -> list[tuple[str, str]]:
    """Return the names and values of the arguments; if they are not an object, there is one without a name."""
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        given = call.arguments
    values = list(given.items()) if isinstance(given, dict) else [("", given)]
    return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in values]


def too_long_to_ask(call: ToolCall) -> str:
    """Return why a person cannot be asked about a call; empty unless it is too long to be read in full."""
    length = len(call.arguments)
    if length <= _MAX_ASKED:
        return ""
    name = one_line(call.name)
    return f"refused: the model wants to call {name} with {length:,} characters; {_MAX_ASKED:,} can be shown to you"


def result_line(ended: CallEnded) -> str:
    """Return the result of a call in a form for people: its length, what was written, or what went wrong."""
    if ended.is_error:
        return beginning(one_line(ended.result), _MAX_RESULT)
    return _note_result(ended.result) or f"{len(ended.result):,} characters"


def _note_result(result: str) -> str:
    """Return what a built-in tool did with a note; empty if it wrote none."""
    try:
        told = json.loads(result) if '"written"' in result else None
    except (ValueError, RecursionError):
        return ""
    if not isinstance(told, dict) or not isinstance(told.get("written"), bool):
        return ""
    if told["written"]:
        return f"written: {one_line(str(told.get('memory_id', '')))}"
    return beginning(f"not written: {one_line(str(told.get('why', '')))}", _MAX_RESULT)


def run_json(result: RunResult, calls: Sequence[CallEnded]) -> dict[str, Any]:
    """Return what ``ask --json`` prints: the answer, its tool calls, and its cost."""
    called = [to_builtins(call.call) | {"result": call.result, "is_error": call.is_error} for call in calls]
    answer = {"answer": result.said, "stop": result.stop, "requests": result.requests, "calls": called}
    took = {
        "tokens": to_builtins(result.tokens),
        "usage": to_builtins(result.usage) if result.usage.is_known else None,
        "cost": result.cost,
    }
    turn = {"thread": result.turn.thread or None, "turn": result.turn.number, "receipt": receipt_json(result.receipt)}
    return answer | took | turn


def run_failure_json(error: str, result: RunResult | None, calls: Sequence[CallEnded]) -> dict[str, Any]:
    """Return what ``ask --json`` prints if there is no complete answer: why, and what had arrived of it."""
    return {"error": error} if result is None else {"error": error} | run_json(result, calls)


def unsent_json(error: str, expansion: Expansion, messages: Sequence[Message], receipt: Receipt) -> dict[str, Any]:
    """Return what ``ask --json`` prints if no model is configured: why, and what would be sent."""
    return {"error": error} | turn_json(expansion, messages, receipt)
