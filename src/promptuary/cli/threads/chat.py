"""``promptuary chat``: starts the chat in the terminal, which is a surface of its own."""

import argparse
import sys
from typing import Final

from promptuary.base.errors import PromptuaryError
from promptuary.chat.start import start
from promptuary.cli.common import open_with, open_workspace
from promptuary.cli.memory.learning import start_learning
from promptuary.engine import Promptuary
from promptuary.threads.values import thread_name

DONE: Final = 0


def main(options: argparse.Namespace) -> int:
    """Talk until the person leaves."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise PromptuaryError(
            "a chat needs a terminal; for one question, also from a pipe, there is: promptuary ask TEXT"
        )
    start(
        lambda: open_with(Promptuary.open, options, counting=False),
        thread=thread_name("main" if options.thread is None else options.thread, lambda: _existing(options)),
        tools=not options.no_tools,
        max_requests=options.max_requests,
        may_write=options.yes,
        quiet=options.quiet,
    )
    with open_workspace(argparse.Namespace(**{**vars(options), "quiet": True})) as promptuary:
        start_learning(promptuary, options)  # from the last turns: a model may still have been at them
    return DONE


def _existing(options: argparse.Namespace) -> set[str]:
    with open_workspace(options) as promptuary:
        return {one.id for one in promptuary.threads.list()}
