"""The actions of ``promptuary session`` that change a session: create, refresh, archive and restore."""

import argparse
from collections.abc import Sequence
from shlex import quote
from typing import Literal

from promptuary.blocking import Promptuary
from promptuary.cli.common import print_json
from promptuary.cli.memory.printing import DONE, say
from promptuary.cli.sessions.reading import changes, described
from promptuary.core.sessions import Session
from promptuary.present.sessions import session_json, session_report_json


def create(promptuary: Promptuary, options: argparse.Namespace) -> int:
    session = promptuary.sessions.create(
        options.name,
        thread=options.thread,
        roots=options.root or (),
        notes=_wanted(options.note, without=options.no_notes),
        experiences=_wanted(options.experience, without=options.no_experiences),
        memory=not options.no_memory,
    )
    if options.json:
        print_json(session_json(session))
    else:
        print("\n".join(described(session)))
    say(f"promptuary expand --thread {quote(session.thread)} TEXT prepares a turn in it", quiet=options.quiet)
    return DONE


def _wanted(chosen: list[str] | None, *, without: bool) -> Literal["all", "none"] | Sequence[str]:
    return "none" if without else "all" if chosen is None else chosen


def refresh(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Pin the current revisions."""
    report = promptuary.sessions.refresh(options.name)
    if options.json:
        print_json(session_report_json(report))
        return DONE
    print("\n".join(described(report.session)))
    for line in changes(report, "before"):
        print(line)
    return DONE


def archive(promptuary: Promptuary, options: argparse.Namespace) -> int:
    session = promptuary.sessions.archive(options.name)
    _print(session, options)
    say(f"promptuary session restore {quote(session.name)} restores it", quiet=options.quiet)
    return DONE


def restore(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Restore an archived session."""
    _print(promptuary.sessions.restore(options.name), options)
    return DONE


def _print(session: Session, options: argparse.Namespace) -> None:
    if options.json:
        print_json(session_json(session))
    else:
        print(f"{session.name} is {session.status}")
