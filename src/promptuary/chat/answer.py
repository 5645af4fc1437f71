"""Shows a run in the terminal: what goes along, the answer as it arrives, each call of a tool, and what it took."""

import json
from typing import Final, assert_never

from promptuary.chat.terminal import Terminal
from promptuary.core.errors import Status
from promptuary.core.expansion import Expansion
from promptuary.core.messages import ToolCall
from promptuary.core.ports.chat import TextPiece
from promptuary.core.receipts import Receipt
from promptuary.core.runs import CallBegun, CallEnded, RunEnded, RunEvent, RunResult, TurnExtended, TurnPrepared
from promptuary.core.text import one_line

_ARGUMENT: Final = 60
_RESULT: Final = 100
_MARKS: Final[dict[Status, str]] = {"included": "+", "degraded": "~", "refused": "!", "missing": "?", "failed": "!"}
_ENDINGS: Final = {
    "length": "the answer is cut off: its length was used up (--reserve gives it more)",
    "refused": "the model, or its service, refuses to answer",
    "tools": "stopped: the model wanted to call tools again and again",
    "interrupted": "interrupted: what had arrived of the answer is kept in the thread",
    "failed": "what had arrived of the answer is kept in the thread",
}


class StreamedAnswer:
    """Is told what happens in a run, and shows it."""

    def __init__(self, terminal: Terminal, model: str) -> None:
        self._terminal, self._model = terminal, model
        self.result: RunResult | None = None

    def show(self, event: RunEvent) -> None:
        """Show what happens."""
        terminal = self._terminal
        match event:
            case TurnPrepared(turn):
                show_context(turn.expansion, turn.receipt, terminal)
                terminal.wait(f"{self._model} …")
            case TextPiece(text):
                terminal.piece(text)
            case CallBegun(call):
                terminal.line(f"→ {spelled(call)}", "cyan")
            case CallEnded(_, result, is_error):
                outcome = one_line(result)[:_RESULT] if is_error else f"{len(result):,} characters"
                terminal.line(f"  {outcome}", "red" if is_error else "dim")
            case TurnExtended():
                terminal.wait(f"{self._model} …")
            case RunEnded(result):
                self.result = result
            case _:
                assert_never(event)

    def end(self, seconds: float) -> None:
        """Show what the run took, as far as it is known."""
        self._terminal.break_line()
        if self.result is None:
            return
        if (ending := _ENDINGS.get(self.result.stop)) is not None:
            self._terminal.line(ending, "yellow")
        self._terminal.line(f"[{cost_line(self.result, seconds)}]", "dim")


def show_context(expansion: Expansion, receipt: Receipt, terminal: Terminal) -> None:
    """Show what goes along with a message: each reference, the budget line, and the warnings."""
    for one in expansion.outcomes:
        short = "" if one.status == "included" else f" ({one.detail or one.code or one.status})"
        tokens = f" {one.tokens:,} tokens" if one.tokens else ""
        terminal.line(f"{_MARKS[one.status]} {one.reference.raw}{tokens}{short}", "dim")
    if expansion.spend.injected:
        terminal.line(f"[@ context: {expansion.spend.injected:,} tokens injected]", "cyan")
    for warning in receipt.warnings:
        terminal.line(f"warning: {warning}", "yellow")
    for failure in receipt.failures:
        terminal.line(f"warning: {failure.layer} failed: {failure.reason}", "yellow")


def cost_line(result: RunResult, seconds: float) -> str:
    """Return what a run took on one line: tokens, requests, money, time."""
    receipt, usage = result.receipt, result.usage
    parts = [f"{receipt.tokens:,} tokens sent, {receipt.tokens / max(receipt.window, 1):.1%} of {receipt.window:,}"]
    if result.requests > 1:
        parts.append(f"{result.requests} requests with {receipt.total:,} in all")
    if usage.input_tokens or usage.output_tokens:
        cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
        parts.append(f"{usage.input_tokens:,} read{cached}, {usage.output_tokens:,} written")
    if result.cost is not None:
        parts.append(f"${result.cost:.4f}")
    return "; ".join([*parts, f"{seconds:.1f} s"])


def spelled(call: ToolCall, longest: int = _ARGUMENT) -> str:
    """Return a call as a person reads it: its name, and its arguments in short."""
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        given = call.arguments
    values = list(given.items()) if isinstance(given, dict) else [("", given)]
    shown = [
        f"{name}={said}" if name else said
        for name, one in values
        for said in [one_line(one if isinstance(one, str) else json.dumps(one))]
    ]
    short = [one if len(one) <= longest else f"{one[:longest]}…" for one in shown]
    return one_line(" ".join([call.name, *short]))
