"""``promptuary thread create``, ``refresh`` and ``archive``: what a thread may see, and whether it accepts turns."""

import argparse
from collections.abc import Sequence
from shlex import quote
from typing import Literal

from promptuary.base.text import one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import print_json
from promptuary.cli.memory.printing import say
from promptuary.cli.threads.limits import change_lines, limit_lines
from promptuary.cli.threads.pending import DONE, named_thread, session_name
from promptuary.present.sessions import session_json, session_report_json


def create(promptuary: Promptuary, options: argparse.Namespace) -> int:
    session = promptuary.sessions.create(
        named_thread(options),
        roots=options.root or (),
        notes=_wanted(options.note, without=options.no_notes),
        experiences=_wanted(options.experience, without=options.no_experiences),
        memory=not options.no_memory,
    )
    if options.json:
        print_json(session_json(session))
    else:
        print("\n".join(limit_lines(session)))
    say(f"promptuary expand --thread {quote(session.thread)} TEXT prepares a turn in it", quiet=options.quiet)
    return DONE


def _wanted(chosen: list[str] | None, *, without: bool) -> Literal["all", "none"] | Sequence[str]:
    return "none" if without else "all" if chosen is None else chosen


def refresh(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Pin the current revisions."""
    report = promptuary.sessions.refresh(session_name(promptuary, options))
    if options.json:
        print_json(session_report_json(report))
        return DONE
    print("\n".join(limit_lines(report.session)))
    for line in change_lines(report, "before"):
        print(line)
    return DONE


def archive(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Let a thread accept no more turns, or accept them again."""
    name = session_name(promptuary, options)
    session = promptuary.sessions.restore(name) if options.undo else promptuary.sessions.archive(name)
    thread = one_line(session.thread)
    if options.json:
        print_json(session_json(session))
    else:
        print(f"{thread} is {session.status}")
    if not options.undo:
        say(f"promptuary thread archive {quote(thread)} --undo undoes it", quiet=options.quiet)
    return DONE
