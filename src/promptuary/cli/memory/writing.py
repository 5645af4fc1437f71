"""The actions of ``promptuary memory`` that change notes: write, edit, undo, archive, restore and adopt."""

import argparse
import sys
from collections.abc import Sequence

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import counted, one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import message, print_json
from promptuary.cli.memory.printing import DONE, NOTHING, cut_table, say
from promptuary.cli.memory.words import do_each, fields, names, one_name
from promptuary.cli.terminal import is_terminal
from promptuary.memory.values import STATUSES, Note, NoteHeader, is_by_agent
from promptuary.present.notes import memory_note_json, note_header_json

_SHORTEST_REV = 8


def write(promptuary: Promptuary, options: argparse.Namespace) -> int:
    about = fields(options)
    if options.id is None and (options.if_rev is not None or options.pinned is False):
        raise PromptuaryError("--if-rev and --unpin need --id")
    # With an id the text is optional, and in a script standard input is rarely a terminal.
    content = None if options.id is not None and not options.text else message(options, kept=True)
    if content is None and len(about) == 1:
        raise PromptuaryError("nothing to change; pass a text (- reads stdin) or flags")
    before = count_notes(promptuary)
    note = promptuary.memory.write(content, if_rev=_revision(promptuary, options), reason=options.reason, **about)
    print_new([note], options, is_new=options.id is not None or count_notes(promptuary) > before)
    return DONE


def count_notes(promptuary: Promptuary) -> int:
    """Return the number of notes, which shows whether a write created one."""
    return promptuary.memory.list(limit=0, statuses=STATUSES).total


def print_new(notes: Sequence[Note], options: argparse.Namespace, *, is_new: bool) -> None:
    """Print a new note; or, without advice to undo it, the existing note with the same text."""
    if is_new or options.json:
        print_written(notes, options)
        return
    for note in notes:
        print(f"{note.header.id}  {note.header.path}")
    say("a note with this text exists; nothing was written", quiet=options.quiet)


def _revision(promptuary: Promptuary, options: argparse.Namespace) -> str | None:
    """Return the expected revision; a prefix is completed."""
    rev: str | None = options.if_rev
    if rev is None or len(rev) < _SHORTEST_REV:
        return rev
    note = promptuary.memory.get(options.id)
    return note.header.rev if note is not None and note.header.rev.startswith(rev) else rev


def edit(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Open a note in the editor."""
    name = one_name(options)
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        promptuary.memory.history(name)  # an unknown note is the first thing to report
        raise PromptuaryError(f"memory edit needs a terminal; use promptuary memory write --id {name} TEXT")
    before = promptuary.memory.get(name)
    note = promptuary.memory.edit(name, reason=options.reason)
    if before is not None and before.header.rev == note.header.rev:
        say("nothing was changed", quiet=options.quiet)
        return DONE
    print_written([note], options)
    return DONE


def undo(promptuary: Promptuary, options: argparse.Namespace) -> int:
    name = one_name(options)
    before = [one.number for one in promptuary.memory.history(name)]
    note = promptuary.memory.undo(name, number=options.change, reason=options.reason)
    back = f" --change {before[-1]}" if before else ""
    print_written([note], options, undo=f"undo {note.header.id}{back} redoes it")
    return DONE


def archive(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Archive notes, or make archived ones active again."""
    change = promptuary.memory.restore if options.undo else promptuary.memory.archive
    notes, all_done = do_each(names(options), lambda name: change(name, reason=options.reason))
    print_written(notes, options)
    return DONE if all_done else NOTHING


def print_written(notes: Sequence[Note], options: argparse.Namespace, *, undo: str = "") -> None:
    """Print the notes that were written, and how to undo that; ``undo`` replaces the default advice."""
    if options.json:
        print_json({"notes": [memory_note_json(note) for note in notes]})
        return
    for note in notes:
        header = note.header
        print(f"{header.id}  {header.path}")
        place = "in every workspace" if header.scope == "user" else "in this project"
        about = f"{header.kind} note, {header.audience}, {place}, {header.status}: {one_line(header.title)}"
        say(f"{about}; promptuary memory {undo or f'undo {header.id} undoes it'}", quiet=options.quiet)
        if note.hint:
            say(f"note: {one_line(note.hint)}", quiet=options.quiet)


def adopt(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """List the unadopted notes, or adopt them."""
    if options.words and options.all:
        raise PromptuaryError("memory adopt takes ids or --all, not both")
    if not options.words and not options.all:
        return _list_unadopted(promptuary, options)
    taken = promptuary.memory.adopt([] if options.all else _full_names(promptuary, names(options)))
    if options.json:
        print_json({"notes": [note_header_json(header) for header in taken]})
    for header in () if options.json else taken:
        print(f"{header.id}  {header.path}")
    if not options.json:
        say(f"adopted {counted(len(taken), 'note')}", quiet=options.quiet)
    return DONE if taken else NOTHING


def _full_names(promptuary: Promptuary, given: Sequence[str]) -> Sequence[str]:
    """Return full ids for unique prefixes of ids."""
    waiting = promptuary.memory.unadopted()

    def full(name: str) -> str:
        found = [one.id for one in waiting if len(name) >= 4 and one.id.startswith(name)]
        return found[0] if len(found) == 1 else name

    return [full(name) for name in given]


def _list_unadopted(promptuary: Promptuary, options: argparse.Namespace) -> int:
    waiting = promptuary.memory.unadopted()
    if options.json:
        print_json({"notes": [note_header_json(header) for header in waiting]})
    elif waiting:
        rows = [(one.id, one_line(one.path), _why_unadopted(one), one_line(one.title)) for one in waiting]
        print(cut_table(("id", "path", "why", "title"), rows))
        say("use promptuary memory adopt ID or adopt --all; memory show ID prints a shared note", quiet=options.quiet)
    else:
        say("nothing to adopt", quiet=options.quiet)
    return DONE


def _why_unadopted(header: NoteHeader) -> str:
    if header.problem:
        return one_line(header.problem)
    if is_by_agent(header):
        return "written by an agent; models see it as external text"
    if header.audience == "shared":
        return "not written here; models see it as external text"
    return "not written here; not used"
