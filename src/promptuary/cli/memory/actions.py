"""The actions of ``promptuary memory`` with their arguments and help. Imported on every start of the program."""

import argparse
from typing import Final

from promptuary.cli.parsing import Command, add_actions, add_flags, add_text, brief, count, section, seldom

SCOPES: Final = ("project", "user")
AUDIENCES: Final = ("private", "shared")
KINDS: Final = ("user", "feedback", "project", "reference")
LEGACY_KINDS: Final = {"profile": "user", "qa": "reference"}
STATUSES: Final = ("active", "archived", "frozen")
FORMS: Final = ("promptuary", "xpert", "claude-code", "codex", "basic-memory", "markdown")
"""Copies of the values in ``core.notes``, because importing that takes longer than parsing the arguments."""


def add_memory_actions(parser: argparse.ArgumentParser) -> None:
    """Add every action with its flags."""
    add_actions(parser, ACTIONS, "promptuary memory", _add_folder, _SUMMARY)


def add_remember(parser: argparse.ArgumentParser) -> None:
    """Add the fields of a new note."""
    _add_about(parser, default_kind="detected from the text")
    _add_folder(parser)


def _add_folder(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, ("memory_folder",))
    kept_by_thread = "use the notes of this thread, if the memory folder contains {thread} (default: main)"
    parser.add_argument("-t", "--thread", metavar="NAME", help=seldom(parser, kept_by_thread))


def _kind(name: str) -> str:
    return LEGACY_KINDS.get(name, name)


def _add_about(parser: argparse.ArgumentParser, *, default_kind: str = "reference") -> None:
    about = section(parser, "the note")
    about.add_argument("--title", metavar="TEXT", help="title (default: the first words of the text)")
    kinds = f"%(choices)s (default: {default_kind})"
    about.add_argument("--kind", type=_kind, choices=KINDS, metavar="KIND", help=kinds)
    about.add_argument(
        "--scope", choices=SCOPES, help=seldom(parser, "user or project (default: user for kind user, else project)")
    )
    _add_audience(about, seldom(parser, "who may read it (default: private)"))
    about.add_argument("--summary", metavar="TEXT", help=seldom(parser, "one-sentence summary, for lists"))
    about.add_argument("--tag", action="append", metavar="TAG", help="add a tag; repeatable")
    pinned = about.add_mutually_exclusive_group()
    pinned.add_argument("--pin", dest="pinned", action="store_const", const=True, help="include it in every turn")
    pinned.add_argument("--unpin", dest="pinned", action="store_const", const=False, help=seldom(parser, "undo --pin"))
    about.add_argument("--valid-from", metavar="DATE", help=seldom(parser, "day or time from which it is valid"))
    about.add_argument("--valid-until", metavar="DATE", help=seldom(parser, "day or time until which it is valid"))
    _add_reason(about)


def _add_audience(group: argparse._ActionsContainer, meaning: str) -> None:
    audience = group.add_mutually_exclusive_group()
    audience.add_argument("--audience", choices=AUDIENCES, help=meaning)
    audience.add_argument(
        "--shared", dest="audience", action="store_const", const="shared", help="short for --audience shared"
    )


def _add_reason(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--reason", default="", metavar="TEXT", help="reason, for the history")


def _add_write(parser: argparse.ArgumentParser) -> None:
    _add_about(parser)
    parser.add_argument("--id", metavar="ID", help="change this note")
    status = "active, archived (not recalled) or frozen (only you may change it)"
    parser.add_argument("--status", choices=STATUSES, help=seldom(parser, status))
    parser.add_argument("--supersedes", metavar="ID", help="id of the note that it replaces")
    parser.add_argument("--if-rev", metavar="REV", help="with --id: fail unless the note has this revision")


def _add_ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="ID",
        help=brief(
            parser,
            "id, id prefix or path of a note; - reads stdin",
            "id, id prefix (at least 4 characters) or path of a note; - reads one per line from stdin",
        ),
    )


def _add_proposals(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="ID",
        help="id or id prefix of a proposal; - reads stdin",
    )
    parser.add_argument("--all", action="store_true", help="all pending proposals")


def _add_changes_of_a_proposal(parser: argparse.ArgumentParser) -> None:
    about = section(parser, "changes to the proposal")
    about.add_argument("--content", metavar="TEXT", help="text of the note; - reads it from stdin")
    about.add_argument("--title", metavar="TEXT", help="title of the note")
    about.add_argument("--kind", type=_kind, choices=KINDS, metavar="KIND", help="%(choices)s")
    _add_audience(about, seldom(parser, "who may read it"))
    about.add_argument("--tag", action="append", metavar="TAG", help="tag of the note; repeatable")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    only = section(parser, "filters")
    only.add_argument(
        "--kind",
        action="append",
        type=_kind,
        choices=KINDS,
        metavar="KIND",
        help="only this kind: %(choices)s; repeatable",
    )
    only.add_argument("--scope", choices=SCOPES, metavar="SCOPE", help="only this scope: %(choices)s")
    _add_audience(only, seldom(parser, "only private or only shared notes"))
    only.add_argument("--tag", action="append", metavar="TAG", help="only notes with this tag; repeatable")
    only.add_argument("--as-of", metavar="DATE", help="as they were at a time, or at the end of a day")


def _add_listed(parser: argparse.ArgumentParser) -> None:
    _add_filters(parser)
    parser.add_argument(
        "--status",
        action="append",
        choices=(*STATUSES, "all"),
        metavar="STATUS",
        help="only this status: %(choices)s; repeatable",
    )
    parser.add_argument("--limit", type=count, default=50, metavar="N", help="print at most N notes (default: 50)")


def _add_searched(parser: argparse.ArgumentParser) -> None:
    _add_filters(parser)
    parser.add_argument("--limit", type=count, default=10, metavar="N", help="print at most N notes (default: 10)")
    parser.add_argument("--lexical", action="store_true", help="search by words only, not by meaning")
    parser.add_argument("--explain", action="store_true", help="explain the rank of each note")
    add_flags(parser, ("embedder",))


def _add_raw(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--raw", action="store_true", help="print the file unchanged, byte for byte")


def _add_change(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--change", type=count, metavar="N", help="number of the change in the history (default: last)")


def _add_all(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="all unadopted notes")


def _add_undo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--undo", action="store_true", help="recall archived notes again")


def _add_forget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--everywhere", action="store_true", help="also remove the text from threads, summaries and proposals"
    )
    parser.add_argument("--dry-run", action="store_true", help="only print what would be removed, and from where")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="PATH", help="a folder or a file of Markdown")
    parser.add_argument("--form", choices=FORMS, metavar="FORM", help="%(choices)s (default: detected from the files)")
    parser.add_argument("--owner", metavar="NAME", help="whose private notes to import, if there are several owners")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be imported")


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="FOLDER", help="a new or empty folder")


_WITH_REASON: Final = (_add_ids, _add_reason)

_SUMMARY: Final = {
    "write, edit, undo": "write a note, change it, undo a change",
    "show, list, search": "print notes, search them by words and meaning",
    "history, diff": "print the changes of a note",
    "archive": "stop recalling notes, or recall them again",
    "forget": "remove notes permanently",
    "proposals": "list proposed notes that wait for your decision",
    "accept, reject": "accept or reject proposals",
    "adopt": "trust notes of agents, or from elsewhere",
    "learn": "learn now from the turns that wait for it",
    "import, export": "import notes of another tool, export all notes",
}

ACTIONS: Final = (
    Command(
        "write",
        "[options] [TEXT ...]",
        "write a note, or change one",
        "Write a note and print its id and path. With --id, change that note; without TEXT, its text stays. If a note "
        "with the same text exists, nothing is written. Exit code 1 if --if-rev does not match.",
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
        "Print notes with their metadata. With --raw, print the files unchanged.",
        ("promptuary memory show 4f1c", "promptuary memory show --raw private/user/likes-tabs-4f1c09a2b3d4.md"),
        (_add_ids, _add_raw),
    ),
    Command(
        "list",
        "[options]",
        "list notes",
        "List notes: pinned notes first, then the most recently updated. Exit code 1 if there are none.",
        ("promptuary memory list --kind feedback", "promptuary memory list --as-of 2026-03-31"),
        (_add_listed,),
    ),
    Command(
        "search",
        "[options] [TEXT ...]",
        "search the notes, by words and by meaning",
        "Print the notes that match best, by words and by meaning. Exit code 1 if nothing was found.",
        ("promptuary memory search 'when do we deploy?'", "promptuary memory search --kind user --explain tabs"),
        (add_text, _add_searched),
    ),
    Command(
        "history",
        "[options] ID",
        "list the changes of a note",
        "List the changes of a note, oldest first: what was done, when, by whom and why.",
        ("promptuary memory history 4f1c",),
        (_add_ids,),
    ),
    Command(
        "diff",
        "[options] ID",
        "print a change of a note as a patch",
        "Print the last change of a note, or change number --change, as a patch.",
        ("promptuary memory diff 4f1c --change 12",),
        (_add_ids, _add_change),
    ),
    Command(
        "edit",
        "[options] ID",
        "open a note or a proposal in your editor",
        "Open a copy of a note in $VISUAL or $EDITOR, and write what you save. If the note has changed meanwhile, "
        "nothing is overwritten: your text is saved elsewhere and the exit code is 1. Needs a terminal. With the id of "
        "a proposal, edit the proposed text, or change it with flags; the proposal stays pending.",
        ("promptuary memory edit 4f1c", "promptuary memory edit 91ab --content 'Deploy on Mondays.'"),
        (*_WITH_REASON, _add_changes_of_a_proposal),
    ),
    Command(
        "undo",
        "[options] ID",
        "undo the last change of a note",
        "Undo the last change of a note, or return to its state after change number --change. Undoing the first "
        "change archives the note; undoing a deletion restores the file. A second undo goes one change further back; "
        "use --change to redo.",
        ("promptuary memory undo 4f1c",),
        (*_WITH_REASON, _add_change),
    ),
    Command(
        "archive",
        "[options] ID ...",
        "stop recalling notes, without deleting them",
        "Archive notes: they are kept, but neither recalled nor found by search. With --undo, make archived notes "
        "active again.",
        ("promptuary memory archive 4f1c --reason 'we moved to another host'", "promptuary memory archive --undo 4f1c"),
        (*_WITH_REASON, _add_undo),
    ),
    Command(
        "adopt",
        "[options] [ID ...]",
        "trust notes that agents wrote, or that came with a folder",
        "Without ids, list the notes that nobody confirmed: those that agents wrote, and files that Promptuary did not "
        "write on this machine, such as those of a clone or an archive, or whose database was lost. With ids or --all, "
        "adopt them: models see their content as your words.",
        ("promptuary memory adopt", "promptuary memory adopt shared/project/deploy-4f1c09a2b3d4.md"),
        (_add_ids, _add_all),
    ),
    Command(
        "forget",
        "[options] ID ...",
        "remove notes permanently",
        "Remove notes with all stored copies: file, history, index, vectors and copies in stored prompts. This cannot "
        "be undone. Threads, summaries and proposals that contain the same text are listed; --everywhere removes it "
        "there too. Commits in git are not changed.",
        ("promptuary memory forget 4f1c --dry-run", "promptuary memory forget 4f1c --everywhere --yes"),
        (_add_ids, _add_forget),
    ),
    Command(
        "proposals",
        "[options]",
        "list proposed notes that wait for your decision",
        "List the proposed changes to notes with their reasons, and the notes of agents that you have not confirmed. A "
        "proposal has no effect until you accept it. Exit code 1 if there are none.",
        ("promptuary memory proposals",),
        (),
    ),
    Command(
        "accept",
        "[options] ID ... | --all",
        "accept proposals",
        "Apply proposals in your name. --content, --title, --kind, --audience and --tag change a proposal first. If a "
        "note has changed since the proposal, the proposal stays pending and the exit code is 1.",
        ("promptuary memory accept 91ab", "promptuary memory accept 91ab --title 'Deploy window' --kind project"),
        (_add_proposals, _add_changes_of_a_proposal),
    ),
    Command(
        "learn",
        "[options]",
        "learn from the finished turns that wait for it",
        "Ask the writeback model about the finished turns that wait. ask, reply and chat start this in the background. "
        "Exit code 1 if some still wait.",
        ("promptuary memory learn",),
        (),
    ),
    Command(
        "reject",
        "[options] ID ... | --all",
        "reject proposals",
        "Reject proposals. The same ones are not proposed again.",
        ("promptuary memory reject 91ab", "promptuary memory reject --all"),
        (_add_proposals,),
    ),
    Command(
        "import",
        "[options] PATH",
        "import the notes of another tool",
        "Import notes from a folder or file of Markdown: an export of Promptuary, Xpert's file memory, the memory "
        "folders of Claude Code and Codex, basic-memory, or plain Markdown. Notes that exist are not imported twice. "
        "Skipped files are listed with the reason. Exit code 1 if there is nothing to import.",
        (
            "promptuary memory import ~/.claude/projects/-home-ada-app/memory --dry-run",
            "promptuary memory import ~/basic-memory",
        ),
        (_add_import,),
    ),
    Command(
        "export",
        "[options] FOLDER",
        "export all notes that you may see to a folder",
        "Copy the files of your private notes and of all shared notes to a new or empty folder, which memory import "
        "reads.",
        ("promptuary memory export ~/notes-backup",),
        (_add_export,),
    ),
)
