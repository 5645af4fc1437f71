"""``promptuary ask``: one question; the answer goes to stdout as it arrives, everything else to stderr."""

import argparse
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError, RunFailedError
from promptuary.base.messages import ToolCall
from promptuary.base.text import one_line, visible
from promptuary.blocking import Promptuary
from promptuary.cli.answer import ShownAnswer
from promptuary.cli.common import (
    agrees,
    ask,
    can_ask,
    confirm,
    message,
    open_workspace,
    print_json,
    print_new_notes,
    standard_input,
)
from promptuary.cli.memory.learning import learning_aside
from promptuary.config.named_models import NO_MODEL, how_to_configure
from promptuary.config.settings import user_file
from promptuary.present.prompts import READ_IT, prompt_lines
from promptuary.present.runs import (
    ASKED_FOR_GOOD,
    FOR_GOOD,
    NOT_SENT,
    NOTHING_ARRIVED,
    asked_lines,
    ending_line,
    run_failure_json,
    run_json,
    too_long_to_ask,
    tool_text,
    unsent_json,
)
from promptuary.threads.consent import ToolConsent
from promptuary.threads.run_values import RunResult, Tool

DONE: Final = 0
NOT_ALL: Final = 1
_MAX_BYTES: Final = 64 * 1024 * 1024
_NOT_RECORDED: Final = "interrupted: the part that arrived may not be recorded"


def main(options: argparse.Namespace) -> int:
    """Ask, and print the answer; without a model, print what would be sent."""
    answer = ShownAnswer(quiet=options.quiet, hidden=options.json)
    try:
        return _asked(options, answer)
    except (PromptuaryError, KeyboardInterrupt) as error:
        if options.json:
            said = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            print_json(run_failure_json(one_line(said), answer.result, answer.calls))
        raise


def _asked(options: argparse.Namespace, answer: ShownAnswer) -> int:
    asked = None if options.prompt else _question(options)
    with open_workspace(options) as opened, learning_aside(opened, options):
        asked = asked or _filled(opened, options)
        model = options.answer_model or asked.model
        promptuary = opened.acting_as(opened.principal, model=model) if asked.model == model != "" else opened
        tools = _offered(promptuary, options)
        if not (model or promptuary.settings.answer_model):
            return _shown(promptuary, asked, tools, options)
        _give_up_earlier(promptuary, options)
        consents = {tool.name: tool.consent for tool in tools}
        began = time.monotonic()
        try:
            result = promptuary.threads.run(
                asked.text,
                model or None,
                tools,
                thread=options.thread,
                pasted=asked.pasted,
                prompt=asked.origin,
                on_event=answer.show,
                confirm=(lambda call: _agrees(call, consents.get(call.name), answer, options))
                if (options.yes or options.allow_tool or can_ask())
                else None,
                max_requests=options.max_requests,
            )
        except RunFailedError:
            answer.end(time.monotonic() - began)
            raise
        except KeyboardInterrupt:
            answer.end(time.monotonic() - began)
            if answer.result is None and not options.quiet:
                print(_NOT_RECORDED if answer.has_text else NOTHING_ARRIVED, file=sys.stderr)
            raise
        answer.end(time.monotonic() - began)
        print_new_notes(promptuary, options)
    if options.json:
        print_json(run_json(result, answer.calls))
    return _exit_code(result)


class AskedText(Struct, frozen=True):
    """The text to send; in what is ``pasted`` nothing is a reference.

    ``origin`` is the prompt that the text is from, and ``model`` the one that this names.
    """

    text: str
    pasted: tuple[str, ...] = ()
    origin: str = ""
    model: str = ""


def _question(options: argparse.Namespace) -> AskedText:
    """Return the words of the command line, with what is piped in behind them; of ``-`` and nothing, that alone.

    Raises ``PromptuaryError`` if there is nothing to ask.
    """
    if not options.text or options.text == ["-"]:
        return AskedText(_something(message(options)))
    return _with_piped(AskedText(_something(" ".join(options.text))))


def _with_piped(asked: AskedText) -> AskedText:
    piped = _piped()
    return replace(asked, text=f"{asked.text}\n\n{piped}", pasted=(piped,)) if piped else asked


def _filled(promptuary: Promptuary, options: argparse.Namespace) -> AskedText:
    """Return what the prompt of the command line gives. The person is asked about one that came with the workspace."""
    prompts = promptuary.prompts
    prompt = prompts.get(options.prompt)
    if not prompt.accepted and can_ask():
        print("\n".join(prompt_lines(prompt)), file=sys.stderr)
        if not agrees(READ_IT):
            raise PromptuaryError(f"{prompt.source} is not used")
        prompts.accept(prompt)
    filled = prompts.fill(prompt.name, [*options.of_prompt, *(word for word in options.text if word != "-")])
    if not options.quiet:
        for note in filled.prompt.notes:
            print(f"note: {prompt.name}: {one_line(note)}", file=sys.stderr)
    return _with_piped(AskedText(filled.text, (), filled.origin, filled.prompt.model))


def _piped() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    try:
        data = standard_input()
    except OSError:  # it is there, but nobody can read it: nothing is piped in
        return ""
    if len(data) > _MAX_BYTES:
        raise PromptuaryError(f"standard input has {len(data):,} bytes, which fits into no window; pipe in less")
    text = data.decode("utf-8", "replace")
    return text if text.strip() else ""


def _something(text: str) -> str:
    if not text.strip():
        raise PromptuaryError("there is no question; pass it as an argument, or pipe it in")
    return text


def _exit_code(result: RunResult) -> int:
    return NOT_ALL if ending_line(result) or result.turn.expansion.incomplete else DONE


def _shown(promptuary: Promptuary, asked: AskedText, tools: Sequence[Tool], options: argparse.Namespace) -> int:
    """Print what would be sent, and how to configure a model that answers it."""
    turn = promptuary.threads.preview(
        asked.text, tools, thread=options.thread, pasted=asked.pasted, prompt=asked.origin
    )
    if options.json:
        print_json(unsent_json(NO_MODEL, turn.expansion, turn.messages, turn.receipt))
    else:
        prompt = turn.render("text")
        described = "".join(f"\n{tool_text(one)}" for one in tools)
        print(visible(prompt)[0] if sys.stdout.isatty() else prompt, end=described, flush=True)
    if not options.quiet:
        print(turn.receipt.explain(), file=sys.stderr)
    print(NOT_SENT, file=sys.stderr)
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


def _offered(promptuary: Promptuary, options: argparse.Namespace) -> Sequence[Tool]:
    """Return the tools for the model, and tell which servers are not ready."""
    if options.no_tools:
        return []
    known = set(promptuary.notes)
    tools = promptuary.threads.tools(thread=options.thread)
    for note in promptuary.notes:
        if note not in known and not options.quiet:
            print(f"note: {one_line(note)}", file=sys.stderr)
    return tools


def _agrees(call: ToolCall, consent: ToolConsent | None, answer: ShownAnswer, options: argparse.Namespace) -> bool:
    """Return whether a call may be made: a flag says so, or the person. ``--yes`` is for our own tools alone."""
    if options.yes and consent is None:
        return True
    if consent is not None and any(fnmatchcase(call.name, pattern) for pattern in options.allow_tool or ()):
        return True
    if not can_ask():
        return False
    answer.break_line()
    if too_long := too_long_to_ask(call):
        print(too_long, file=sys.stderr, flush=True)
        return False
    for line in asked_lines(call):
        print(line, file=sys.stderr)
    try:
        return confirm("Let it?", options) if consent is None else _agrees_to(consent)
    except KeyboardInterrupt:
        print(file=sys.stderr)  # the question has begun a line
        raise


def _agrees_to(consent: ToolConsent) -> bool:
    """Ask whether a tool of another server may be called, and keep an answer that is meant for good."""
    print(consent.question(), file=sys.stderr)
    said = ask(ASKED_FOR_GOOD)
    if said in FOR_GOOD:
        consent.keep()
    return said in {"y", "yes", *FOR_GOOD}
