"""Prints an answer while it arrives: its text to stdout, calls of tools and what it took to stderr."""

import json
import sys
from typing import Final, assert_never

from promptuary.cli.terminal import styled
from promptuary.core.messages import ToolCall
from promptuary.core.ports.chat import TextPiece
from promptuary.core.runs import (
    CallBegun,
    CallEnded,
    RunEnded,
    RunEvent,
    RunResult,
    TurnExtended,
    TurnPrepared,
)
from promptuary.core.text import one_line, visible

_LONGEST_ARGUMENT: Final = 60
_LONGEST_RESULT: Final = 100
_ENDINGS: Final = {
    "length": "the answer is cut off: its length was used up (max_tokens of the model, or --reserve)",
    "refused": "the model, or its service, refuses to answer",
    "tools": "stopped: the model wanted to call more tools (--max-requests)",
}


class ShownAnswer:
    """What has arrived of an answer; ``hidden``: only its calls are kept, and nothing goes to stdout."""

    def __init__(self, *, quiet: bool, hidden: bool) -> None:
        self.calls: list[CallEnded] = []
        self._quiet, self._hidden = quiet, hidden
        self._begun_line = False
        self._result: RunResult | None = None

    def show(self, event: RunEvent) -> None:
        """Show what happens in a run."""
        match event:
            case TextPiece(text):
                self._write(text)
            case TurnPrepared(turn):
                for warning in turn.receipt.warnings:
                    self._tell(f"{styled('warning:', 'yellow', sys.stderr)} {one_line(warning)}")
            case CallBegun():
                self.break_line()
            case CallEnded(call, result, is_error):
                self.calls.append(event)
                outcome = one_line(result)[:_LONGEST_RESULT] if is_error else f"{len(result):,} characters"
                self._tell(f"[{spelled(call)}: {outcome}]")
            case RunEnded(result):
                self._result = result
            case TurnExtended():
                pass
            case _:
                assert_never(event)

    def break_line(self) -> None:
        """End the line of the answer that has begun, so that something else can be printed."""
        if self._begun_line:
            self._write("\n")

    def end(self, result: RunResult | None, seconds: float) -> None:
        """Print what the answer took: ``result``, or what was kept of one that broke off."""
        self.break_line()
        kept = result or self._result
        if kept is None:
            return
        if (ending := _ENDINGS.get(kept.stop)) is not None:
            print(f"{styled('warning:', 'yellow', sys.stderr)} {ending}", file=sys.stderr)
        if kept.stop in {"interrupted", "failed"}:
            self._tell(f"{kept.stop}: what had arrived of the answer is kept in the thread")
        self._tell(f"[{token_line(kept, seconds)}]")

    def _write(self, text: str) -> None:
        self._begun_line = not text.endswith("\n") if text else self._begun_line
        if self._hidden:
            return
        # A terminal gets no control characters; a pipe gets the exact text.
        sys.stdout.write(visible(text)[0] if sys.stdout.isatty() else text)
        sys.stdout.flush()

    def _tell(self, line: str) -> None:
        if not self._quiet:
            print(line, file=sys.stderr, flush=True)


def token_line(result: RunResult, seconds: float) -> str:
    """Return what a run took, on one line: tokens, requests, money, time."""
    receipt, usage = result.receipt, result.usage
    parts = [f"{receipt.tokens:,} tokens sent, {receipt.tokens / receipt.window:.1%} of {receipt.window:,}"]
    if result.requests > 1:
        parts.append(f"{result.requests} requests with {receipt.total:,} in all")
    if usage.input_tokens or usage.output_tokens:
        cached = f" ({usage.cached_tokens:,} from the cache)" if usage.cached_tokens else ""
        parts.append(f"the service counts {usage.input_tokens:,} read{cached} and {usage.output_tokens:,} written")
    if result.cost is not None:
        parts.append(f"${result.cost:.4f}")
    return "; ".join([*parts, f"{seconds:.1f} s"])


def spelled(call: ToolCall) -> str:
    """Return a call as a person reads it: its name, and its arguments in short."""
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        given = call.arguments
    values = list(given.values()) if isinstance(given, dict) else [given]
    shown = [one_line(one if isinstance(one, str) else json.dumps(one)) for one in values]
    short = [one if len(one) <= _LONGEST_ARGUMENT else f"{one[:_LONGEST_ARGUMENT]}…" for one in shown]
    return " ".join([one_line(call.name), *short])
