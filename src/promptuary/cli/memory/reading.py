"""The actions of ``promptuary memory`` that only read: show, list, search, history and diff."""

import argparse
import sys
from collections.abc import Sequence

from promptuary.base.clock import now_in_seconds
from promptuary.base.errors import PromptuaryError, UnknownNoteError
from promptuary.base.text import one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import message, print_json
from promptuary.cli.memory.printing import (
    DONE,
    NOTHING,
    colour_patch,
    cut_table,
    full_text,
    header_table,
    print_raw,
    say,
)
from promptuary.cli.memory.words import do_each, names, one_name, selection
from promptuary.cli.search.hits import excerpt, query_words, reasons
from promptuary.cli.terminal import columns, cut
from promptuary.memory.index_page import MAX_ENTRIES, update_page
from promptuary.memory.values import AUDIENCES, STATUSES, MemoryResult, Note, NoteHit, NoteSelection, they_wait
from promptuary.present.notes import memory_list_json, memory_note_json, memory_search_json
from promptuary.search.query import only_near
from promptuary.search.values import note_text

_INDENT = "   "


def show(promptuary: Promptuary, options: argparse.Namespace) -> int:
    notes, all_there = do_each(names(options), lambda name: _there(promptuary, name))
    if options.json:
        print_json({"notes": [memory_note_json(note) for note in notes]})
    elif options.raw:
        for note in notes:
            print_raw(note.text)
    else:
        print("\n\n".join(map(full_text, notes)))
    return DONE if all_there else NOTHING


def _there(promptuary: Promptuary, name: str) -> Note:
    note = promptuary.memory.get(name)
    if note is None:
        changes = promptuary.memory.history(name)  # raises an error that suggests a similar name
        raise UnknownNoteError(
            f"the file of the note {name} is missing; promptuary memory undo {changes[-1].note} restores it"
        )
    return note


def list_notes(promptuary: Promptuary, options: argparse.Namespace) -> int:
    if options.as_of is not None and options.status:
        raise PromptuaryError("--as-of lists the notes active at that time; leave out --status")
    wanted = selection(options)
    if options.markdown:
        return _print_pages(promptuary, wanted)
    listed = promptuary.memory.list(limit=options.limit, as_of=options.as_of, **wanted)
    if options.json:
        print_json(memory_list_json(listed))
    elif listed.headers:
        now = "" if options.as_of is not None else now_in_seconds()
        print(header_table(listed.headers, now=now))
    if len(listed.headers) < listed.total:
        say(f"{len(listed.headers):,} of {listed.total:,} notes; --limit N shows more", quiet=options.quiet)
    if not listed.complete:
        say("not all notes are listed: their files are still being read; try again soon", quiet=options.quiet)
    elif not listed.headers:
        say(_why_none(promptuary, is_filtered=bool(wanted) or options.as_of is not None), quiet=options.quiet)
    elif waiting := [one for one in promptuary.memory.unadopted() if one.owner is None]:
        say(they_wait(len(waiting)), quiet=options.quiet)
    return DONE if listed.headers else NOTHING


def _print_pages(promptuary: Promptuary, wanted: NoteSelection) -> int:
    """Print what a MEMORY.md has: the private notes and the shared ones."""
    pages = []
    for audience in wanted.get("audiences") or AUDIENCES:
        chosen: NoteSelection = {**wanted, "audiences": (audience,)}
        listed = promptuary.memory.list(limit=MAX_ENTRIES, **chosen)
        if listed.headers:
            pages.append(update_page(None, audience, listed.headers, listed.total))
    print("\n".join(pages), end="")
    return DONE if pages else NOTHING


def _why_none(promptuary: Promptuary, *, is_filtered: bool) -> str:
    if is_filtered and promptuary.memory.list(limit=1).headers:
        return "no note matches the filters; relax them"
    if waiting := promptuary.memory.unadopted():
        return f"no notes yet, but {they_wait(len(waiting))}"
    if promptuary.memory.list(limit=0, statuses=STATUSES).total:
        return "no active notes; promptuary memory list --status all lists the others"
    if "{thread}" in promptuary.settings.memory_folder:
        return "no notes in thread main: each thread has its own notes here; --thread NAME selects another thread"
    return "no notes yet: promptuary remember TEXT writes one"


def search(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Print the notes that match a query."""
    query = message(options).strip()
    if not query:
        raise PromptuaryError("no search words given; pass them as arguments or pipe them to stdin")
    result = promptuary.memory.find(
        query, limit=options.limit, as_of=options.as_of, lexical_only=options.lexical, **selection(options)
    )
    if options.json:
        print_json(memory_search_json(query, result, explain=options.explain))
    elif result.hits:
        words = query_words(query)
        print("\n\n".join(_found(number, hit, words, options) for number, hit in enumerate(result.hits, 1)))
    if result.hits or result.notes or promptuary.memory.list(limit=0).total:
        _say_how(query, result, options)
    else:
        say(_why_none(promptuary, is_filtered=False), quiet=options.quiet)
    return DONE if result.hits else NOTHING


def _found(number: int, hit: NoteHit, words: Sequence[str], options: argparse.Namespace) -> str:
    header, width = hit.header, columns(sys.stdout)
    day = (header.updated_at or header.created_at)[:10]  # a note written by hand may have none
    about = f"{header.id}  {', '.join(filter(None, (header.kind, header.audience, day)))}"
    head = f"{number}. {cut(one_line(header.title), width - len(about) - 8)}  {about}"
    lines = excerpt(hit.text, words, width - len(_INDENT), heading=header.title)
    if options.explain:
        lines.append(f"why: {', '.join(reasons(hit.score, hit.why))}")
    return "\n".join([head, *(f"{_INDENT}{line}".rstrip() for line in lines)])


def _say_how(query: str, result: MemoryResult, options: argparse.Namespace) -> None:
    for note in result.notes:
        say(f"note: {note_text(note)}", quiet=options.quiet)
    if only_near(query, result):
        say("no note seems to answer this; showing the nearest ones", quiet=options.quiet)
    if not result.hits:
        say(
            f"no note found for {cut(one_line(query), 60)}: use other words, or run promptuary memory list",
            quiet=options.quiet,
        )


def history(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Print the changes of a note."""
    changes = promptuary.memory.history(one_name(options))
    if options.json:
        print_json({"changes": changes})
        return DONE
    rows = [
        (
            str(one.number),
            one.at,
            "forgotten" if one.kind == "forget" else one.kind,
            one_line(one.actor),
            one_line(one.reason),
        )
        for one in changes
    ]
    print(cut_table(("change", "when", "what", "by", "why"), rows))
    note = changes[-1].note
    say(
        f"promptuary memory diff {note} --change N shows a change, undo {note} --change N returns to it",
        quiet=options.quiet,
    )
    return DONE


def diff(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Print a change of a note as a patch."""
    name = one_name(options)
    patch = promptuary.memory.diff(name, number=options.change)
    if options.json:
        print_json({"note": promptuary.memory.history(name)[-1].note, "patch": patch})
    elif patch:
        print(colour_patch(patch))
    else:
        say("this change did not modify the file", quiet=options.quiet)
    return DONE
