"""``promptuary ask``: one question; the answer goes to stdout as it arrives, everything else to stderr."""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Final

from promptuary.blocking import Promptuary
from promptuary.cli.asking.answer import ShownAnswer
from promptuary.cli.asking.question import AskedText, question
from promptuary.cli.common import confirmed, opened, print_json, print_new_notes
from promptuary.config.named_models import how_to_configure
from promptuary.config.settings import user_file
from promptuary.core.errors import RunFailedError
from promptuary.core.json import run_json, turn_json
from promptuary.core.messages import ToolCall
from promptuary.core.runs import RunResult, Tool
from promptuary.core.text import one_line, visible

DONE: Final = 0
NOT_ALL: Final = 1
_LONGEST_CALL: Final = 2000
"""How many characters of a call are shown to the person who is asked to allow it."""


def main(options: argparse.Namespace) -> int:
    """Ask, and print the answer; without a model, print what would be sent."""
    asked = question(options)
    with opened(options) as promptuary:
        tools = [] if options.no_tools else promptuary.threads.tools(thread=options.thread)
        if not promptuary.settings.answer_model:
            return _shown(promptuary, asked, tools, options)
        _give_up_earlier(promptuary, options)
        answer = ShownAnswer(quiet=options.quiet, hidden=options.json)
        began = time.monotonic()
        try:
            result = promptuary.threads.run(
                asked.text,
                tools=tools,
                thread=options.thread,
                pasted=asked.pasted,
                on_event=answer.show,
                confirm=(lambda call: _agrees(call, answer, options)) if _can_ask(options) else None,
                max_requests=options.max_requests,
            )
        except (RunFailedError, KeyboardInterrupt):
            answer.end(None, time.monotonic() - began)
            raise
        answer.end(result, time.monotonic() - began)
        print_new_notes(promptuary, options)
    if options.json:
        print_json(run_json(result, answer.calls))
    return _exit_code(result)


def _exit_code(result: RunResult) -> int:
    return DONE if result.stop == "end" and not result.turn.expansion.incomplete else NOT_ALL


def _shown(promptuary: Promptuary, asked: AskedText, tools: Sequence[Tool], options: argparse.Namespace) -> int:
    """Print what would be sent, and how to configure a model that answers it."""
    turn = promptuary.threads.preview(asked.text, tools, thread=options.thread, pasted=asked.pasted)
    if options.json:
        print_json(turn_json(turn.expansion, turn.messages, turn.receipt))
    else:
        prompt = turn.render("text")
        described = "".join(f"\n[tool {one.name}]\n{one.spec.description}\n" for one in tools)
        print(visible(prompt)[0] if sys.stdout.isatty() else prompt, end=described, flush=True)
    if not options.quiet:
        print(turn.receipt.explain(), file=sys.stderr)
    print("No model is configured: this is what would be sent. To get an answer:", file=sys.stderr)
    for line in how_to_configure(user_file()):
        print(f"  {line}", file=sys.stderr)
    return NOT_ALL


def _give_up_earlier(promptuary: Promptuary, options: argparse.Namespace) -> None:
    """End the turn of the thread that got no reply, as ``expand`` does."""
    earlier = promptuary.threads.pending(thread=options.thread) if options.thread is not None else None
    if earlier is not None:
        promptuary.threads.abandon(earlier)
        if not options.quiet:
            print(f"note: turn {earlier.number} got no reply and is abandoned now", file=sys.stderr)


def _can_ask(options: argparse.Namespace) -> bool:
    at_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    return bool(options.yes) or at_terminal


def _agrees(call: ToolCall, answer: ShownAnswer, options: argparse.Namespace) -> bool:
    answer.break_line()
    said = one_line(call.arguments)
    shown = said if len(said) <= _LONGEST_CALL else f"{said[:_LONGEST_CALL]}… ({len(said):,} characters)"
    return confirmed(f"Let the model call {one_line(call.name)} {shown}?", options)
