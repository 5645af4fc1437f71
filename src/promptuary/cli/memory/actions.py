"""The actions of ``promptuary memory``, their arguments and their help. Every start of the program imports this."""

import argparse
from typing import Final

from promptuary.cli.flags import INDEX_FLAGS, MEMORY_FLAGS
from promptuary.cli.parsing import Command, add_actions, add_flags, add_text, brief, count, section, seldom

SCOPES: Final = ("project", "user")
AUDIENCES: Final = ("private", "shared")
KINDS: Final = ("user", "feedback", "project", "reference")
STATUSES: Final = ("active", "archived", "frozen")
FORMS: Final = ("promptuary", "xpert", "claude-code", "codex", "basic-memory", "markdown")
"""The same as in ``core.notes``, which would take longer to import than all of this."""


def add_memory_actions(parser: argparse.ArgumentParser) -> None:
    """Add every action, each with the flags that it takes."""
    add_actions(parser, ACTIONS, "promptuary memory", _add_folder, _SUMMARY)


def add_remember(parser: argparse.ArgumentParser) -> None:
    """Add what can be said of a new note."""
    _add_about(parser)
    _add_folder(parser)


def _add_folder(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, "memory", {"memory_folder": MEMORY_FLAGS["memory_folder"]})
    kept_by_thread = "the notes of this thread, where each has its own: {thread} in the memory folder (default: main)"
    parser.add_argument("--thread", "-t", metavar="NAME", help=seldom(parser, kept_by_thread))


def _add_about(parser: argparse.ArgumentParser) -> None:
    about = section(parser, "the note")
    about.add_argument("--title", metavar="TEXT", help="title (default: the first words of the text)")
    about.add_argument("--kind", choices=KINDS, metavar="KIND", help="%(choices)s (default)")
    about.add_argument(
        "--scope", choices=SCOPES, help=seldom(parser, "where it lives: kind user follows the user, others the project")
    )
    _add_audience(about, seldom(parser, "who may read it (default: private)"))
    about.add_argument("--summary", metavar="TEXT", help=seldom(parser, "a sentence for lists"))
    about.add_argument("--tag", action="append", metavar="TAG", help="a tag; repeatable")
    pinned = about.add_mutually_exclusive_group()
    pinned.add_argument("--pin", dest="pinned", action="store_const", const=True, help="always show it in turns")
    pinned.add_argument("--unpin", dest="pinned", action="store_const", const=False, help=seldom(parser, "undo that"))
    about.add_argument("--valid-from", metavar="DATE", help=seldom(parser, "day or time from which it is true"))
    about.add_argument("--valid-until", metavar="DATE", help=seldom(parser, "day or time until which it is true"))
    _add_reason(about)


def _add_audience(group: argparse._ActionsContainer, meaning: str) -> None:
    audience = group.add_mutually_exclusive_group()
    audience.add_argument("--audience", choices=AUDIENCES, help=meaning)
    audience.add_argument(
        "--shared", dest="audience", action="store_const", const="shared", help="--audience shared: for all"
    )


def _add_reason(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for the history")


def _add_write(parser: argparse.ArgumentParser) -> None:
    _add_about(parser)
    parser.add_argument("--id", metavar="ID", help="change what you name of this note")
    status = "active, archived (not recalled) or frozen (only you write)"
    parser.add_argument("--status", choices=STATUSES, help=seldom(parser, status))
    parser.add_argument("--supersedes", metavar="ID", help="id of the note that it replaces")
    parser.add_argument("--if-rev", metavar="REV", help="with --id: only if it has this revision")


def _add_ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="ID",
        help=brief(
            parser,
            "ids of notes, how ids begin, or paths; - reads stdin",
            "ids of notes, the first four or more characters of an id, or paths; - reads one per line from stdin",
        ),
    )


def _add_proposals(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="ID",
        help="ids of proposals, or how they begin; - reads stdin",
    )
    parser.add_argument("--all", action="store_true", help="every proposal that waits")


def _add_changes_of_a_proposal(parser: argparse.ArgumentParser) -> None:
    about = section(parser, "with other words than proposed")
    about.add_argument("--content", metavar="TEXT", help="the text of the note; - reads it from stdin")
    about.add_argument("--title", metavar="TEXT", help="its title")
    about.add_argument("--kind", choices=KINDS, metavar="KIND", help="%(choices)s")
    _add_audience(about, seldom(parser, "who may read it"))
    about.add_argument("--tag", action="append", metavar="TAG", help="a tag; repeatable")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    only = section(parser, "filters")
    only.add_argument("--kind", action="append", choices=KINDS, metavar="KIND", help="only %(choices)s; repeatable")
    only.add_argument("--scope", choices=SCOPES, metavar="SCOPE", help="only the project's, or only the user's")
    _add_audience(only, seldom(parser, "only private ones, or only shared ones"))
    only.add_argument("--tag", action="append", metavar="TAG", help="only notes with this tag; repeatable")
    only.add_argument("--as-of", metavar="DATE", help="what was known then: a day (its end) or a time")


def _add_listed(parser: argparse.ArgumentParser) -> None:
    _add_filters(parser)
    parser.add_argument(
        "--status",
        action="append",
        choices=(*STATUSES, "all"),
        metavar="STATUS",
        help="only %(choices)s; repeatable",
    )
    parser.add_argument("--limit", type=count, default=50, metavar="N", help="print at most N notes (default: 50)")


def _add_searched(parser: argparse.ArgumentParser) -> None:
    _add_filters(parser)
    parser.add_argument("--limit", type=count, default=10, metavar="N", help="print at most N notes (default: 10)")
    parser.add_argument("--lexical", action="store_true", help="search by words only, not by meaning")
    parser.add_argument("--explain", action="store_true", help="explain the rank of each note")
    add_flags(parser, "index", INDEX_FLAGS)


def _add_raw(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--raw", action="store_true", help="print the file, byte for byte")


def _add_change(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--change", type=count, metavar="N", help="number of the change in the history (default: last)")


def _add_all(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="every note that waits")


def _add_forget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--everywhere", action="store_true", help="also where the same was said; see --dry-run")
    parser.add_argument("--dry-run", action="store_true", help="forget nothing; print what would be, and the places")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="PATH", help="a folder, or a file, of Markdown")
    parser.add_argument("--form", choices=FORMS, help="which program wrote it (default: recognised by the files)")
    parser.add_argument("--owner", metavar="NAME", help="whose private notes, if there are those of several people")
    parser.add_argument("--dry-run", action="store_true", help="write nothing; print what would be written")


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="FOLDER", help="a folder that is new or empty")


_WITH_REASON: Final = (_add_ids, _add_reason)

_SUMMARY: Final = {
    "write, edit, undo": "write a note, change it, undo a change",
    "show, list, search": "print notes; find the ones that answer",
    "history, diff": "print what happened to a note",
    "archive, restore": "recall notes no more, or again",
    "forget": "forget notes for good",
    "proposals": "list what was learnt and waits for you",
    "accept, reject": "decide about proposals",
    "adopt": "take over notes made by hand or cloned",
    "import, export": "take over another memory; write all notes",
}

ACTIONS: Final = (
    Command(
        "write",
        "[options] [TEXT ...]",
        "write a note, or change one",
        "Write a note and print its id and path. With --id, change that note: without a text it keeps the one it has. "
        "A text that is there already is not written twice. Exit code 1 if --if-rev is not its revision any more.",
        (
            "promptuary memory write --kind project --tag deploy 'We deploy on Fridays.'",
            "promptuary memory write --id 4f1c --pin",
            "pbpaste | promptuary memory write --title 'Release checklist' -",
        ),
        (add_text, _add_write),
    ),
    Command(
        "show",
        "[options] ID ...",
        "print notes",
        "Print notes with what is known of each. --raw prints the files, byte for byte.",
        ("promptuary memory show 4f1c", "promptuary memory show --raw private/user/likes-tabs-4f1c09a2b3d4.md"),
        (_add_ids, _add_raw),
    ),
    Command(
        "list",
        "[options]",
        "list notes",
        "Print notes, pinned ones first, then the ones updated last. Exit code 1 if there are none.",
        ("promptuary memory list --kind feedback", "promptuary memory list --as-of 2026-03-31"),
        (_add_listed,),
    ),
    Command(
        "search",
        "[options] [TEXT ...]",
        "find the notes that answer a question",
        "Print the notes that answer best, by words and by meaning. Exit code 1 if nothing is found.",
        ("promptuary memory search 'when do we deploy?'", "promptuary memory search --kind user --explain tabs"),
        (add_text, _add_searched),
    ),
    Command(
        "history",
        "[options] ID",
        "list what happened to a note",
        "Print every change of a note, the oldest first: what was done, when, by whom and why.",
        ("promptuary memory history 4f1c",),
        (_add_ids,),
    ),
    Command(
        "diff",
        "[options] ID",
        "print what a change did to a note, as a patch",
        "Print what the last change, or the change --change, did to the file of a note.",
        ("promptuary memory diff 4f1c --change 12",),
        (_add_ids, _add_change),
    ),
    Command(
        "edit",
        "[options] ID",
        "open a note or a proposal in your editor",
        "Open a copy of the file of a note in $VISUAL or $EDITOR, and write what you save. If the note was changed "
        "meanwhile, nothing is overwritten: exit code 1, and your text is kept. Needs a terminal. With the id of a "
        "proposal, edit the text that it would write, or change it by options; it still waits to be accepted.",
        ("promptuary memory edit 4f1c", "promptuary memory edit 91ab --content 'Deploy on Mondays.'"),
        (*_WITH_REASON, _add_changes_of_a_proposal),
    ),
    Command(
        "undo",
        "[options] ID",
        "undo the last change of a note",
        "Undo the last change of a note, or make it what it was after the change --change. A note that was just "
        "written is archived; one whose file is gone comes back. Undo again goes one change further back; "
        "--change brings back what was undone.",
        ("promptuary memory undo 4f1c",),
        (*_WITH_REASON, _add_change),
    ),
    Command(
        "archive",
        "[options] ID ...",
        "keep notes, but recall them no more",
        "Archive notes: they stay, and are neither recalled nor found by search. restore brings them back.",
        ("promptuary memory archive 4f1c --reason 'we moved to another host'",),
        _WITH_REASON,
    ),
    Command(
        "restore",
        "[options] ID ...",
        "bring back notes that were archived",
        "Make archived notes active again.",
        ("promptuary memory restore 4f1c",),
        _WITH_REASON,
    ),
    Command(
        "adopt",
        "[options] [ID ...]",
        "take over notes that came by hand or with a clone",
        "Without ids, list the notes that nobody recorded on this machine: made by hand, cloned, or from before the "
        "database was lost. With ids or --all, take them over: what they say reaches models as your own words.",
        ("promptuary memory adopt", "promptuary memory adopt shared/project/deploy-4f1c09a2b3d4.md"),
        (_add_ids, _add_all),
    ),
    Command(
        "forget",
        "[options] ID ...",
        "forget notes for good",
        "Remove notes with everything that is stored of them: file, history, index, vectors and their copies in stored "
        "prompts. It cannot be undone. Where the same was said in threads, summaries or proposals, the places are "
        "printed, and --everywhere takes it out there, too. What git has committed is not reached.",
        ("promptuary memory forget 4f1c --dry-run", "promptuary memory forget 4f1c --everywhere --yes"),
        (_add_ids, _add_forget),
    ),
    Command(
        "proposals",
        "[options]",
        "list what was learnt and waits for you",
        "Print what would be remembered if you accept it, and why. Nothing of it is used before.",
        ("promptuary memory proposals",),
        (),
    ),
    Command(
        "accept",
        "[options] ID ... | --all",
        "accept proposals",
        "Do what proposals say, as your own act. With --content, --title and the like, accept one in other words. Exit "
        "code 1 if a note has changed since it was proposed; the proposal stays.",
        ("promptuary memory accept 91ab", "promptuary memory accept 91ab --title 'Deploy window' --kind project"),
        (_add_proposals, _add_changes_of_a_proposal),
    ),
    Command(
        "reject",
        "[options] ID ... | --all",
        "reject proposals",
        "Drop proposals; the same ones are not made again.",
        ("promptuary memory reject 91ab", "promptuary memory reject --all"),
        (_add_proposals,),
    ),
    Command(
        "import",
        "[options] PATH",
        "take over the notes of another memory",
        "Read a folder or a file of Markdown and write its notes: an export of Promptuary, Xpert's file memory, the "
        "memory folders of Claude Code and Codex, basic-memory, or plain Markdown. Importing again writes nothing "
        "twice. What cannot be taken over is named with the reason. Exit code 1 if there is nothing to take over.",
        (
            "promptuary memory import ~/.claude/projects/-home-ada-app/memory --dry-run",
            "promptuary memory import ~/basic-memory",
        ),
        (_add_import,),
    ),
    Command(
        "export",
        "[options] FOLDER",
        "write every note that you may see to a folder",
        "Write the files of all your notes, and of those that are shared, to a new or empty folder. memory import "
        "reads it. Your private notes are among them.",
        ("promptuary memory export ~/notes-backup",),
        (_add_export,),
    ),
)
