"""``promptuary thread export`` and ``promptuary thread import``: threads as files."""

import argparse
import sys
from pathlib import Path
from typing import Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import counted, one_line, visible
from promptuary.blocking import Promptuary
from promptuary.cli.common import print_json, standard_input
from promptuary.cli.threads.pending import DONE, thread_of, unknown

_STREAM: Final = "-"


def export(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Write a thread to a file, or print it."""
    thread = thread_of(options)
    if len(options.words) > 1:
        raise PromptuaryError("thread export takes one file: promptuary thread export --thread NAME [FILE]")
    if options.json and options.form == "md":
        raise PromptuaryError("--json cannot be combined with --format md")
    named = options.words[0] if options.words else _STREAM
    if options.thread is None and named in {one.id for one in promptuary.threads.list()}:
        name = one_line(named)
        raise PromptuaryError(f"{name} is a thread, not a file; use promptuary thread export --thread {name} [FILE]")
    if missing := unknown(promptuary, thread):
        raise PromptuaryError(missing)
    file = None if named == _STREAM else Path(named)
    text = promptuary.threads.export(thread=thread, form=options.form or "json", file=file, force=options.force)
    if file is None:
        sys.stdout.write(visible(text)[0] if sys.stdout.isatty() else text)
    elif not options.quiet:
        print(f"exported thread {one_line(thread)} to {one_line(named)}", file=sys.stderr)
    return DONE


def import_(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Create a thread from an exported file, and print what was not imported."""
    if len(options.words) != 1:
        raise PromptuaryError("thread import takes one file: promptuary thread import FILE [--thread NAME]")
    (named,) = options.words
    done = promptuary.threads.import_(_piped() if named == _STREAM else Path(named), thread=options.thread)
    if options.json:
        print_json(done)
        return DONE
    print(f"imported thread {one_line(done.thread)}: {counted(done.messages, 'message')}")
    if options.quiet:
        return DONE
    if done.turns:
        print(f"note: receipts are not imported ({counted(done.turns, 'turn')} in the file)", file=sys.stderr)
    if done.tracked:
        names = ", ".join(map(one_line, done.tracked[:5])) + (" and others" if len(done.tracked) > 5 else "")
        print(f"note: the thread tracked {names}; use promptuary context add to track them here", file=sys.stderr)
    return DONE


def _piped() -> str:
    try:
        return standard_input().decode("utf-8")
    except UnicodeDecodeError as error:
        raise PromptuaryError("standard input is not valid UTF-8, so it is not an exported thread") from error
