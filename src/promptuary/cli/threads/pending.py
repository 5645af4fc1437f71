"""The thread that a command names, its limits, and its pending turn."""

import argparse
import sys
from typing import TYPE_CHECKING, Final

from promptuary.base.errors import PromptuaryError, UnknownSessionError
from promptuary.base.text import one_line
from promptuary.blocking import Promptuary
from promptuary.sessions.values import Session

if TYPE_CHECKING:
    from promptuary import Turn

DONE: Final = 0
NOTHING: Final = 1


def thread_of(options: argparse.Namespace) -> str:
    """Return the name of the thread, which is ``main`` if none is given."""
    return "main" if options.thread is None else str(options.thread)


def named_thread(options: argparse.Namespace) -> str:
    """Return the thread that an action needs by name. Raises ``PromptuaryError`` if there is none, or two."""
    given = [name for name in (options.name, options.thread) if name is not None]
    if len(given) != 1:
        action = options.action
        raise PromptuaryError(f"thread {action} needs a thread: promptuary thread {action} NAME")
    return str(given[0])


def find_session(promptuary: Promptuary, thread: str) -> Session | None:
    """Return the session that limits a thread; the library can give it another name than its thread."""
    sessions = promptuary.sessions.list()
    of_thread = [session for session in sessions if session.thread == thread]
    if not of_thread and thread in {known.id for known in promptuary.threads.list()}:
        return None  # a session of that name may be of a thread that was renamed
    return next(iter([*of_thread, *(session for session in sessions if thread in {session.name, session.id})]), None)


def session_name(promptuary: Promptuary, options: argparse.Namespace) -> str:
    """Return the name of the session that limits the named thread; of an unknown thread, its name, which is refused."""
    thread = named_thread(options)
    session = find_session(promptuary, thread)
    if session is None and thread in {known.id for known in promptuary.threads.list()}:
        raise UnknownSessionError(f"thread {thread!r} has no limits; `promptuary thread limits` lists those that do")
    return thread if session is None else session.name


def pending_turn(promptuary: Promptuary, thread: str) -> "Turn | None":
    """Return the pending turn; if there is none, print why and return ``None``."""
    turn = promptuary.threads.pending(thread=thread)
    if turn is None:
        print(f"promptuary: {_why_none(promptuary, thread)}", file=sys.stderr)
    return turn


def unknown(promptuary: Promptuary, thread: str) -> str:
    """Return a sentence that there is no such thread, with those that exist; empty if there is one."""
    every = promptuary.threads.list()
    if thread in {one.id for one in every}:
        return ""
    known = ", ".join(one_line(one.id) for one in every[:5])
    start = "promptuary expand --thread NAME TEXT starts one"
    return f"there is no thread {one_line(thread)}; {f'existing threads: {known}' if known else start}"


def _why_none(promptuary: Promptuary, thread: str) -> str:
    if missing := unknown(promptuary, thread):
        return missing
    name, last = one_line(thread), promptuary.threads.turns(thread=thread)
    became = f"turn {last[-1].number} is {last[-1].status}" if last else "it has no turns yet"
    return f"thread {name} has no pending turn: {became}; promptuary expand --thread {name} TEXT prepares one"
