"""Threads as files on the command line: ``promptuary thread export`` and ``promptuary thread import``."""

import argparse
import sys
from pathlib import Path
from typing import Final

from promptuary.blocking import Promptuary
from promptuary.cli.common import print_json, standard_input
from promptuary.core.errors import PromptuaryError
from promptuary.core.json import imported_json
from promptuary.core.text import one_line, visible

DONE: Final = 0
_STREAM: Final = "-"


def export(promptuary: Promptuary, thread: str, options: argparse.Namespace) -> int:
    """Write a thread to a file, or print it."""
    if len(options.words) > 1:
        raise PromptuaryError("thread export writes one file: promptuary thread export --thread NAME [FILE]")
    if options.json and options.form == "md":
        raise PromptuaryError("--json and --format md contradict each other")
    named = options.words[0] if options.words else _STREAM
    if options.thread is None and named in {one.id for one in promptuary.threads.list()}:
        name = one_line(named)
        raise PromptuaryError(f"{name} is a thread, and not a file: promptuary thread export --thread {name} [FILE]")
    file = None if named == _STREAM else Path(named)
    text = promptuary.threads.export(thread=thread, form=options.form or "json", file=file, force=options.force)
    if file is None:
        sys.stdout.write(visible(text)[0] if sys.stdout.isatty() else text)
    elif not options.quiet:
        print(f"thread {one_line(thread)} is exported to {one_line(named)}", file=sys.stderr)
    return DONE


def import_(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Make a new thread of a file that was exported, and say what of it was not taken over."""
    if len(options.words) != 1:
        raise PromptuaryError("name the file: promptuary thread import FILE [--thread NAME]")
    (named,) = options.words
    done = promptuary.threads.import_(_piped() if named == _STREAM else Path(named), thread=options.thread)
    if options.json:
        print_json(imported_json(done))
        return DONE
    print(f"thread {one_line(done.thread)} is imported: {done.messages:,} messages")
    if options.quiet:
        return DONE
    if done.turns:
        print(f"note: the receipts of its {done.turns:,} turns stay in the file", file=sys.stderr)
    if done.tracked:
        names = ", ".join(map(one_line, done.tracked[:5])) + (" and others" if len(done.tracked) > 5 else "")
        print(f"note: it tracked {names}; promptuary context add tracks them here", file=sys.stderr)
    return DONE


def _piped() -> str:
    try:
        return standard_input().decode("utf-8")
    except UnicodeDecodeError as error:
        raise PromptuaryError("standard input is not UTF-8, so it is no export of a thread") from error
