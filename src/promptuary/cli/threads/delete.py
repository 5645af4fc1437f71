"""``promptuary thread rm``, ``prune`` and ``forget``: remove a thread, old turns, or a source from all prompts."""

import argparse
import re
from typing import Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import counted, one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import confirm, print_json
from promptuary.cli.memory.printing import say, say_what_stays
from promptuary.cli.threads.pending import DONE, NOTHING, find_session, named_thread, unknown
from promptuary.present.threads import audit_json, pruned_json
from promptuary.threads.ledger_values import Pruned

_AGE: Final = re.compile(r"(\d{1,5})([dwmy])", re.ASCII)
_DAYS: Final = {"d": 1, "w": 7, "m": 30, "y": 365}


def remove(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Remove a thread, with its limits."""
    named = named_thread(options)
    session = find_session(promptuary, named)
    thread = named if session is None else session.thread
    missing = unknown(promptuary, thread)
    if missing and session is None:
        raise PromptuaryError(missing)
    name = one_line(thread)
    if not confirm(f"Remove thread {name} with all its turns{' and limits' if session else ''} permanently?", options):
        say("promptuary: nothing was removed; add --yes to confirm")
        return NOTHING
    gone = Pruned() if missing else promptuary.threads.remove(thread=thread)
    if session is not None:
        promptuary.sessions.remove(session.name)
    if options.json:
        print_json(pruned_json(gone, dry_run=False))
    else:
        parts = [counted(gone.turns, "turn"), counted(gone.messages, "message"), *(["its limits"] if session else [])]
        print(f"removed thread {name}: {', '.join(parts)}")
    say_what_stays(promptuary.settings, quiet=options.quiet)
    return DONE


def prune(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Remove old turns, or print what would be removed."""
    days = age(options.older_than)
    done = promptuary.threads.prune(days, thread=options.thread, dry_run=options.dry_run)
    if options.json:
        print_json(pruned_json(done, dry_run=options.dry_run))
    elif done == Pruned():
        missing = unknown(promptuary, options.thread) if options.thread is not None else ""
        if missing:
            say(f"promptuary: {missing}")
        else:
            print("no turns are that old")
    else:
        turns = ", ".join(
            (
                counted(done.turns, "turn"),
                counted(done.threads, "complete thread"),
                counted(done.messages, "message"),
            )
        )
        print(f"{'would remove' if options.dry_run else 'removed'} {turns}: {done.bytes / 1000:,.1f} kB")
    if done != Pruned() and not options.dry_run:
        say_what_stays(promptuary.settings, quiet=options.quiet)
    return NOTHING if done == Pruned() else DONE


def forget(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Remove a file or a web page from all stored prompts, or print which turns contain it."""
    if not options.yes and not options.dry_run:
        raise PromptuaryError("thread forget cannot be undone; add --yes to confirm, or --dry-run to preview it")
    found = promptuary.threads.forget(options.source, dry_run=options.dry_run)
    if options.json:
        print_json(audit_json(found))
    else:
        for thread, number in dict.fromkeys((row.thread, row.number) for row in found.rows):
            print(f"{one_line(thread)}  turn {number}")
    done = "would remove" if options.dry_run else "removed"
    say(f"{done} {', '.join(found.sources)} from these turns; the original stays", quiet=options.quiet)
    if not options.dry_run:
        say_what_stays(promptuary.settings, quiet=options.quiet)
    if any(row.status == "prepared" for row in found.rows):
        say("a pending turn stores it again when it is answered; run thread forget again then", quiet=options.quiet)
    return DONE


def age(text: str, flag: str = "--older-than") -> int:
    """Return an age in days. Raises ``PromptuaryError`` if ``text`` is not an age."""
    found = _AGE.fullmatch(text.strip().lower())
    if found is None:
        raise PromptuaryError(f"{flag} {text[:60]!r} is not an age; write 90d, 12w, 6m or 1y")
    return int(found[1]) * _DAYS[found[2]]
