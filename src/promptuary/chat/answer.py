"""Shows a run in the terminal: the context, the answer as it arrives, each tool call, and the cost."""

import time
from collections.abc import Sequence
from typing import Final, assert_never

from promptuary.base.errors import Status
from promptuary.base.text import counted
from promptuary.chat.terminal import Terminal
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.models.chat_model import Retrying, TextPiece
from promptuary.present.runs import call_line, ending_line, result_line, retry_line, took_line
from promptuary.references.expansion import Expansion
from promptuary.threads.run_values import (
    CallBegun,
    CallEnded,
    RunEnded,
    RunEvent,
    RunResult,
    TurnExtended,
    TurnPrepared,
)

_TRACKED: Final = "file_reference"
"""The layer of the files in view."""
_MARKS: Final[dict[Status, str]] = {"included": "+", "degraded": "~", "refused": "!", "missing": "?", "failed": "!"}


def waiting_line(name: str, seconds: float) -> str:
    """Return the line that is shown during a wait."""
    return f"{name} … {seconds:.0f} s, Ctrl-C stops"


class StreamedAnswer:
    """Receives the events of a run, and shows them."""

    def __init__(self, terminal: Terminal, model: str, context: "ContextLines") -> None:
        self._terminal, self._model, self._context = terminal, model, context
        self._awaited, self._since = "preparing", time.monotonic()
        """What the run waits for, and since when; empty while text arrives."""
        self.result: RunResult | None = None

    def show(self, event: RunEvent) -> None:
        terminal = self._terminal
        match event:
            case TurnPrepared(turn):
                self._context.show(turn.expansion, turn.receipt)
                self._await_model()
            case Retrying():
                if line := retry_line(event):
                    terminal.line(line, "yellow")
                    self._await_model()
            case TextPiece(text):
                self._awaited = ""
                terminal.piece(text)
            case CallBegun(call):
                self._awaited, self._since = call.name, time.monotonic()
                terminal.line(f"→ {call_line(call)}", "cyan")
            case CallEnded(is_error=is_error):
                terminal.line(f"  {result_line(event)}", "red" if is_error else "dim")
            case TurnExtended():
                self._await_model()
            case RunEnded(result):
                self.result = result
            case _:
                assert_never(event)

    def _await_model(self) -> None:
        self._awaited, self._since = self._model, time.monotonic()
        self._terminal.wait(f"{self._model} …")

    def still_waiting(self) -> None:
        """Show what the run waits for, and for how long."""
        if self._awaited:
            self._terminal.wait(waiting_line(self._awaited, time.monotonic() - self._since))

    def end(self, seconds: float) -> None:
        """Show what the run took, as far as that is known."""
        self._terminal.break_line()
        if self.result is None:
            return
        if ending := ending_line(self.result):
            self._terminal.line(ending, "yellow")
        self._terminal.line(f"[{took_line(self.result, seconds)}]", "dim")


class ContextLines:
    """Shows the context of a message above its answer: references, files in view, the budget, and warnings.

    Of the files in view, it shows only those that are new or have changed.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._seen: dict[tuple[str, str], tuple[str, int]] = {}

    def show(self, expansion: Expansion, receipt: Receipt) -> None:
        """Show the context of a message."""
        terminal = self._terminal
        for one in expansion.outcomes:
            short = "" if one.status == "included" else f" ({one.detail or one.code or one.status})"
            tokens = f" {counted(one.tokens, 'token')}" if one.tokens else ""
            terminal.line(f"{_MARKS[one.status]} {one.reference.raw}{tokens}{short}", "dim")
        tracked = [entry for entry in receipt.entries if entry.layer == _TRACKED]
        for entries in _by_label(tracked).values():
            self._show_tracked(entries, receipt.thread)
        if expansion.spend.injected:
            terminal.line(f"[@ context: {expansion.spend.injected:,} tokens injected]", "cyan")
        if in_view := sum(entry.taken for entry in tracked):
            terminal.line(f"[# in view: {in_view:,} tokens]", "cyan")
        for warning in receipt.warnings:
            terminal.line(f"warning: {warning}", "yellow")
        for failure in receipt.failures:
            terminal.line(f"warning: {failure.layer} failed: {failure.reason}", "yellow")

    def _show_tracked(self, entries: Sequence[ReceiptEntry], thread: str) -> None:
        """Show a file as it is now; an earlier version that is still in the prompt costs tokens, too."""
        *earlier, entry = entries
        tokens = sum(one.tokens for one in entries)
        name, now = (thread, entry.label), (f"{entry.status} {entry.detail} {entry.revision}", tokens)
        if self._seen.get(name) == now:
            return
        self._seen[name] = now
        mark = {"in": "+", "degraded": "~", "out": "!"}[entry.status]
        short = f" ({entry.reason})" if earlier or entry.status != "in" else ""
        before = f", {sum(one.tokens for one in earlier):,} of them the earlier version" if earlier else ""
        self._terminal.line(f"{mark} #{entry.label} {counted(tokens, 'token')}{before}{short}", "dim")


def _by_label(entries: Sequence[ReceiptEntry]) -> dict[str, list[ReceiptEntry]]:
    """Return the entries of each file: one, or the earlier versions and then the current one."""
    found: dict[str, list[ReceiptEntry]] = {}
    for entry in entries:
        found.setdefault(entry.label, []).append(entry)
    return found
