"""``promptuary thread limits``: the threads that have limits, what one may see, and what has changed since."""

import argparse
import sys
from collections.abc import Iterator
from shlex import quote
from typing import Final

from promptuary.base.errors import SourceError
from promptuary.base.table import Column, table
from promptuary.base.text import counted, list_names, one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import print_json
from promptuary.cli.memory.printing import say
from promptuary.cli.terminal import columns, has_colour, headed_table
from promptuary.cli.threads.pending import DONE, NOTHING, session_name
from promptuary.present.sessions import session_report_json, session_window_json, sessions_json
from promptuary.present.window_bar import sparkline, window_picture
from promptuary.sessions.values import Choice, Difference, Session, SessionReport
from promptuary.threads.records import Totals, TurnRecord

_SECONDS: Final = len("2026-01-31T12:00")
_MIN_PICTURE: Final = 8
_MAX_PICTURE: Final = 40


def _list(promptuary: Promptuary, options: argparse.Namespace) -> int:
    sessions = [(one, promptuary.threads.totals(thread=one.thread)) for one in promptuary.sessions.list()]
    if options.json:
        print_json({"sessions": sessions_json(sessions)})
    elif sessions:
        print(_table([_row(*one) for one in sessions], [totals.recent for _, totals in sessions]))
    else:
        say("no thread has limits: promptuary thread create NAME creates one", quiet=options.quiet)
    return DONE if sessions else NOTHING


def _row(session: Session, totals: Totals) -> tuple[str, ...]:
    return (
        one_line(session.thread),
        session.status,
        f"{session.files_pinned:,}",
        f"{session.notes_pinned:,}",
        f"{totals.turns:,}",
        f"{totals.tokens + totals.reply_tokens:,}",
        "" if totals.cost is None else f"{totals.cost:,.4g}",
    )


def _table(rows: list[tuple[str, ...]], recent: list[tuple[int, ...]]) -> str:
    """Return the threads as a table with a sparkline of their last turns, as wide as the terminal allows."""
    heads = (
        Column("thread"),
        Column("status"),
        *(Column(name, right=True) for name in ("files", "notes", "turns", "tokens", "cost")),
    )
    plain = table(heads, rows)
    room = columns(sys.stdout) - max(map(len, plain.splitlines())) - 2
    width = min(max(room, _MIN_PICTURE), _MAX_PICTURE)
    pictures = [sparkline(one[-width:]) for one in recent]
    pictured = [(*row, one) for row, one in zip(rows, pictures, strict=True)]
    return headed_table([*heads, Column("tokens per turn")], pictured, sys.stdout)


def limits(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Print what a thread may see, what has changed since, and the window of its last turn; or list such threads."""
    if options.name is None and options.thread is None:
        return _list(promptuary, options)
    report = promptuary.sessions.show(session_name(promptuary, options))
    thread = report.session.thread
    totals, turn = promptuary.threads.totals(thread=thread), _last_turn(promptuary, thread)
    if options.json:
        print_json(session_report_json(report, totals, session_window_json(turn)))
        return DONE
    print("\n".join([*limit_lines(report.session), *usage_lines(totals), *change_lines(report, "since then")]))
    if turn is not None:
        print()
        print(f"window of turn {turn.number} ({turn.status}, {turn.created[:_SECONDS]})")
        width, colours = columns(sys.stdout), has_colour(sys.stdout)
        print("\n".join(window_picture(turn.receipt, width=width, colours=colours)))
    if not report.is_current:
        say(f"promptuary thread refresh {quote(thread)} pins the current revisions", quiet=options.quiet)
    return DONE


def _last_turn(promptuary: Promptuary, thread: str) -> TurnRecord | None:
    try:
        return promptuary.threads.replay(thread=thread).turn
    except SourceError:
        return None


def limit_lines(session: Session) -> Iterator[str]:
    """Yield what the turns of a thread may see, line by line."""
    other = f", limited by the session {one_line(session.name)}" if session.name != session.thread else ""
    yield f"thread {one_line(session.thread)} ({session.status}){other}"
    yield f"pinned {session.pinned}" + (f", created {session.created}" if session.pinned != session.created else "")
    yield f"files: {session.files_pinned:,} in {list_names(session.roots) or 'the whole workspace'}"
    if not session.memory:
        yield "memory: none"
        return
    yield f"notes: {_how_many(session.notes, session.notes_pinned)}"
    yield f"experiences: {_how_many(session.experiences, session.experiences_pinned)}"


def _how_many(choice: Choice, count: int) -> str:
    return "none" if choice == "none" else f"{count:,} {'chosen' if choice == 'chosen' else '(all)'}"


def usage_lines(totals: Totals) -> Iterator[str]:
    """Yield the usage of a thread."""
    cost = "" if totals.cost is None else f", cost {totals.cost:,.4g}"
    yield (
        f"used: {counted(totals.turns, 'turn')}, {totals.messages:,} messages, "
        f"{totals.tokens:,} tokens sent, {totals.reply_tokens:,} received{cost}"
    )


def change_lines(report: SessionReport, when: str) -> Iterator[str]:
    """Yield the differences from the pinned revisions."""
    for name, one in (("files", report.files), ("notes", report.notes), ("experiences", report.experiences)):
        for what, names in _parts(one):
            yield f"{when}: {len(names):,} {name if len(names) != 1 else name[:-1]} {what}: {list_names(names)}"
    if report.is_current:
        yield f"{when}: nothing has changed" if when.startswith("since") else f"{when}: no differences"


def _parts(one: Difference) -> Iterator[tuple[str, list[str]]]:
    for what, names in (("added", one.added), ("changed", one.changed), ("gone", one.gone)):
        if names:
            yield what, list(names)
