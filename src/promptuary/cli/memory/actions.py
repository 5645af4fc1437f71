"""The actions of ``promptuary memory`` with their arguments and help. Imported on every start of the program."""

from typing import Final

from promptuary.cli.parsing import (
    TEXT,
    Actions,
    Argument,
    Command,
    OneOf,
    SettingFlags,
    arg,
    count,
    flag,
    limit,
    many,
    one_of,
    under,
)

SCOPES: Final = ("project", "user")
AUDIENCES: Final = ("private", "shared")
KINDS: Final = ("user", "feedback", "project", "reference")
LEGACY_KINDS: Final = {"profile": "user", "qa": "reference"}
STATUSES: Final = ("active", "archived", "frozen")
FORMS: Final = ("promptuary", "xpert", "claude-code", "codex", "basic-memory", "markdown")
"""Copies of the values in ``memory.values``, because importing that takes longer than parsing the arguments."""


def _kind(name: str) -> str:
    return LEGACY_KINDS.get(name, name)


_FOLDER: Final = (
    SettingFlags(("memory_folder",)),
    arg(
        "-t --thread NAME",
        "use the notes of this thread, if the memory folder contains {thread} (default: main)",
        seldom=True,
    ),
)
_REASON: Final = arg("--reason TEXT", "reason, for the history", default="")


def _audience(text: str) -> OneOf:
    return one_of(
        arg("--audience", text, seldom=True, choices=AUDIENCES),
        arg("--shared", "short for --audience shared", dest="audience", action="store_const", const="shared"),
    )


def _about(default_kind: str) -> tuple[Argument | OneOf, ...]:
    """Return the fields of a new note."""
    return tuple(
        under(
            "the note",
            arg("--title TEXT", "title (default: the first words of the text)"),
            arg("--kind KIND", f"%(choices)s (default: {default_kind})", type=_kind, choices=KINDS),
            arg("--scope", "user or project (default: user for kind user, else project)", seldom=True, choices=SCOPES),
            _audience("who may read it (default: private)"),
            arg("--summary TEXT", "one-sentence summary, for lists", seldom=True),
            many("--tag TAG", "add a tag; repeatable"),
            one_of(
                arg("--pin", "include it in every turn", dest="pinned", action="store_const", const=True),
                arg("--unpin", "undo --pin", seldom=True, dest="pinned", action="store_const", const=False),
            ),
            arg("--valid-from DATE", "day or time from which it is valid", seldom=True),
            arg("--valid-until DATE", "day or time until which it is valid", seldom=True),
            _REASON,
        )
    )


REMEMBER: Final = (*_about("detected from the text"), *_FOLDER)
_WRITE: Final = (
    *_about("reference"),
    arg("--id ID", "change this note"),
    arg(
        "--status", "active, archived (not recalled) or frozen (only you may change it)", seldom=True, choices=STATUSES
    ),
    arg("--supersedes ID", "id of the note that it replaces"),
    arg("--if-rev REV", "with --id: fail unless the note has this revision"),
)
_IDS: Final = arg(
    "words ID",
    "id, id prefix (at least 4 characters) or path of a note; - reads one per line from stdin",
    brief="id, id prefix or path of a note; - reads stdin",
    nargs="*",
)
_PROPOSALS: Final = (
    arg("words ID", "id or id prefix of a proposal; - reads stdin", nargs="*"),
    flag("--all", "all pending proposals"),
)
_CHANGES: Final = tuple(
    under(
        "changes to the proposal",
        arg("--content TEXT", "text of the note; - reads it from stdin"),
        arg("--title TEXT", "title of the note"),
        arg("--kind KIND", "%(choices)s", type=_kind, choices=KINDS),
        _audience("who may read it"),
        many("--tag TAG", "tag of the note; repeatable"),
    )
)
_FILTERS: Final = tuple(
    under(
        "filters",
        many("--kind KIND", "only this kind: %(choices)s; repeatable", type=_kind, choices=KINDS),
        arg("--scope SCOPE", "only this scope: %(choices)s", choices=SCOPES),
        _audience("only private or only shared notes"),
        many("--tag TAG", "only notes with this tag; repeatable"),
        arg("--as-of DATE", "as they were at a time, or at the end of a day"),
    )
)
_LISTED: Final = (
    *_FILTERS,
    many("--status STATUS", "only this status: %(choices)s; repeatable", choices=(*STATUSES, "all")),
    limit(50, "notes"),
    flag("--markdown", "print the lists of MEMORY.md instead"),
)
_SEARCHED: Final = (
    *_FILTERS,
    limit(10, "notes"),
    flag("--lexical", "search by words only, not by meaning"),
    flag("--explain", "explain the rank of each note"),
    SettingFlags(("embedder",)),
)
_CHANGE: Final = arg("--change N", "number of the change in the history (default: last)", type=count)
_FORGET: Final = (
    flag("--everywhere", "also remove the text from threads, summaries and proposals"),
    flag("--dry-run", "only print what would be removed, and from where"),
    flag("--yes", "do not ask"),
)
_IMPORT: Final = (
    arg("words PATH", "a folder or a file of Markdown", nargs="*"),
    arg("--form FORM", "%(choices)s (default: detected from the files)", choices=FORMS),
    arg("--owner NAME", "whose private notes to import, if there are several owners"),
    flag("--dry-run", "only print what would be imported"),
)

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
        (TEXT, *_WRITE),
    ),
    Command(
        "show",
        "[options] ID ...",
        "print notes",
        "Print notes with their metadata. With --raw, print the files unchanged.",
        ("promptuary memory show 4f1c", "promptuary memory show --raw private/user/likes-tabs-4f1c09a2b3d4.md"),
        (_IDS, flag("--raw", "print the file unchanged, byte for byte")),
    ),
    Command(
        "list",
        "[options]",
        "list notes",
        "List notes: pinned notes first, then the most recently updated. Exit code 1 if there are none.",
        ("promptuary memory list --kind feedback", "promptuary memory list --as-of 2026-03-31"),
        _LISTED,
    ),
    Command(
        "search",
        "[options] [TEXT ...]",
        "search the notes, by words and by meaning",
        "Print the notes that match best, by words and by meaning. Exit code 1 if nothing was found.",
        ("promptuary memory search 'when do we deploy?'", "promptuary memory search --kind user --explain tabs"),
        (TEXT, *_SEARCHED),
    ),
    Command(
        "history",
        "[options] ID",
        "list the changes of a note",
        "List the changes of a note, oldest first: what was done, when, by whom and why.",
        ("promptuary memory history 4f1c",),
        (_IDS,),
    ),
    Command(
        "diff",
        "[options] ID",
        "print a change of a note as a patch",
        "Print the last change of a note, or change number --change, as a patch.",
        ("promptuary memory diff 4f1c --change 12",),
        (_IDS, _CHANGE),
    ),
    Command(
        "edit",
        "[options] ID",
        "open a note or a proposal in your editor",
        "Open a copy of a note in $VISUAL or $EDITOR, and write what you save. If the note has changed meanwhile, "
        "nothing is overwritten: your text is saved elsewhere and the exit code is 1. Needs a terminal. With the id of "
        "a proposal, edit the proposed text, or change it with flags; the proposal stays pending.",
        ("promptuary memory edit 4f1c", "promptuary memory edit 91ab --content 'Deploy on Mondays.'"),
        (_IDS, _REASON, *_CHANGES),
    ),
    Command(
        "undo",
        "[options] ID",
        "undo the last change of a note",
        "Undo the last change of a note, or return to its state after change number --change. Undoing the first "
        "change archives the note; undoing a deletion restores the file. A second undo goes one change further back; "
        "use --change to redo.",
        ("promptuary memory undo 4f1c",),
        (_IDS, _REASON, _CHANGE),
    ),
    Command(
        "archive",
        "[options] ID ...",
        "stop recalling notes, without deleting them",
        "Archive notes: they are kept, but neither recalled nor found by search. With --undo, make archived notes "
        "active again.",
        ("promptuary memory archive 4f1c --reason 'we moved to another host'", "promptuary memory archive --undo 4f1c"),
        (_IDS, _REASON, flag("--undo", "recall archived notes again")),
    ),
    Command(
        "adopt",
        "[options] [ID ...]",
        "trust notes that agents wrote, or that came with a folder",
        "Without ids, list the notes that nobody confirmed: those that agents wrote, and files that Promptuary did not "
        "write on this machine, such as those of a clone or an archive, or whose database was lost. With ids or --all, "
        "adopt them: models see their content as your words.",
        ("promptuary memory adopt", "promptuary memory adopt shared/project/deploy-4f1c09a2b3d4.md"),
        (_IDS, flag("--all", "all unadopted notes")),
    ),
    Command(
        "forget",
        "[options] ID ...",
        "remove notes permanently",
        "Remove notes with all stored copies: file, history, index, vectors and copies in stored prompts. This cannot "
        "be undone. Threads, summaries and proposals that contain the same text are listed; --everywhere removes it "
        "there too. Commits in git are not changed.",
        ("promptuary memory forget 4f1c --dry-run", "promptuary memory forget 4f1c --everywhere --yes"),
        (_IDS, *_FORGET),
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
        (*_PROPOSALS, *_CHANGES),
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
        _PROPOSALS,
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
        _IMPORT,
    ),
    Command(
        "export",
        "[options] FOLDER",
        "export all notes that you may see to a folder",
        "Copy the files of your private notes and of all shared notes to a new or empty folder, which memory import "
        "reads.",
        ("promptuary memory export ~/notes-backup",),
        (arg("words FOLDER", "a new or empty folder", nargs="*"),),
    ),
)

MEMORY_ACTIONS: Final = Actions(ACTIONS, _SUMMARY, _FOLDER)
