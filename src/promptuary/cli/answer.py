"""Prints an answer while it arrives: its text to stdout, calls of tools and what it took to stderr."""

import sys
from typing import assert_never

from promptuary.base.text import VisibleStream, one_line
from promptuary.cli.terminal import in_style
from promptuary.models.chat_model import Retrying, TextPiece
from promptuary.present.runs import call_line, ending_line, result_line, retry_line, took_line
from promptuary.threads.run_values import (
    CallBegun,
    CallEnded,
    RunEnded,
    RunEvent,
    RunResult,
    TurnExtended,
    TurnPrepared,
)


class ShownAnswer:
    """What has arrived of an answer; ``hidden``: only its calls are kept, and nothing goes to stdout."""

    def __init__(self, *, quiet: bool, hidden: bool) -> None:
        self.calls: list[CallEnded] = []
        self._quiet, self._hidden = quiet, hidden
        self._begun_line = False
        self.has_text = False
        self._visible = VisibleStream()
        self.result: RunResult | None = None

    def show(self, event: RunEvent) -> None:
        match event:
            case TextPiece(text):
                self.has_text = True
                self._write(text)
            case TurnPrepared(turn):
                for warning in turn.receipt.warnings:
                    self._tell(f"{in_style('warning:', 'yellow', sys.stderr)} {one_line(warning)}")
            case Retrying():
                if line := retry_line(event):
                    self._tell(line)
            case CallBegun():
                self.break_line()
            case CallEnded(call):
                self.calls.append(event)
                self._tell(f"[{call_line(call)}: {result_line(event)}]")
            case RunEnded(result):
                self.result = result
            case TurnExtended():
                pass
            case _:
                assert_never(event)

    def break_line(self) -> None:
        """End the line of the answer that has begun, so that something else can be printed."""
        if rest := self._visible.rest():
            sys.stdout.write(rest)
        if self._begun_line:
            self._write("\n")

    def end(self, seconds: float) -> None:
        """Print what the answer took, also one that broke off."""
        self.break_line()
        if self.result is None:
            return
        if self.result.stop in {"interrupted", "failed"}:
            self._tell(ending_line(self.result))
        elif ending := ending_line(self.result):
            print(f"{in_style('warning:', 'yellow', sys.stderr)} {ending}", file=sys.stderr)
        self._tell(f"[{took_line(self.result, seconds)}]")

    def _write(self, text: str) -> None:
        self._begun_line = not text.endswith("\n") if text else self._begun_line
        if self._hidden:
            return
        # A terminal gets no control characters; a pipe gets the exact text.
        sys.stdout.write(self._visible.piece(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()

    def _tell(self, line: str) -> None:
        if not self._quiet:
            print(line, file=sys.stderr, flush=True)
