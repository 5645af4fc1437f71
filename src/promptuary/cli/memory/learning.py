"""Learning from finished turns in a process of its own: a model may take longer than a person waits for a command."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from promptuary.base.text import counted, one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import given_settings, print_json
from promptuary.cli.memory.printing import DONE, NOTHING, say
from promptuary.workspace.programs.agents import detached

_MAX_SECONDS: Final = 600.0


def learn(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Learn from the finished turns that wait."""
    before = len(promptuary.memory.catch_up())
    left = promptuary.memory.catch_up(_MAX_SECONDS) if before else ()
    learnt = max(before - len(left), 0)  # more may have come meanwhile
    if options.json:
        print_json({"learnt": learnt, "waiting": len(left)})
    wait = f"{counted(len(left), 'turn')} {'waits' if len(left) == 1 else 'wait'}"
    say(f"learnt from {counted(learnt, 'turn')}; {wait}", quiet=options.quiet)
    return NOTHING if left else DONE


@contextmanager
def learning_aside(promptuary: Promptuary, options: argparse.Namespace) -> Iterator[None]:
    """Leave what is finished meanwhile to a process that outlives this one."""
    promptuary.memory.learn_later()
    try:
        yield
    finally:
        start_learning(promptuary, options)


def start_learning(promptuary: Promptuary, options: argparse.Namespace) -> None:
    """Start a process that learns from what waits, if anything does, and say what could not be learnt before."""
    waiting = promptuary.memory.catch_up()
    if waiting:
        detached.start(["memory", "learn", "--workspace", str(promptuary.path)], b"", **_variables(options))
    failed = [one for one in waiting if one.tries]
    if failed and not options.quiet:
        said = f"{counted(len(failed), 'earlier turn')} could not be learnt from yet: {one_line(failed[-1].error)}"
        print(f"note: {said} (promptuary doctor tells more)", file=sys.stderr)


def _variables(options: argparse.Namespace) -> dict[str, str]:
    """Return the settings that were given as flags, as environment variables."""
    return {f"PROMPTUARY_{name.upper()}": _text(value) for name, value in given_settings(options).items()}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
