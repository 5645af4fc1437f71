"""The actions of ``promptuary experience``, their arguments and their help. Every start of the program imports this."""

import argparse
from typing import Final

from promptuary.cli.flags import INDEX_FLAGS
from promptuary.cli.parsing import Command, add_actions, add_flags, add_text, count, section

OUTCOMES: Final = ("success", "failure")
FEEDBACK: Final = ("helped", "wrong", "stale")
"""The same as in ``core.experiences``, which would take longer to import than all of this."""


def add_experience_actions(parser: argparse.ArgumentParser) -> None:
    """Add every action, each with the flags that it takes."""
    add_actions(parser, ACTIONS, "promptuary experience", lambda _: None, _SUMMARY)


def _add_about(parser: argparse.ArgumentParser) -> None:
    about = section(parser, "the experience")
    about.add_argument(
        "--type", metavar="TYPE", help="task_solution (default), tool_chain, error_recovery, PACKAGE.NAME"
    )
    about.add_argument("--solution", metavar="JSON", help="what was done: JSON, or text; - reads it from stdin")
    about.add_argument("--prefer", metavar="CATEGORY", help="the text is what you prefer where it is about CATEGORY")
    about.add_argument("--failure", dest="outcome", action="store_const", const="failure", help="it did not work")
    about.add_argument("--problem", metavar="TEXT", help="what went wrong")
    about.add_argument("--score", type=float, metavar="X", help="how good it was, from 0 to 1 (default: 1; failures 0)")
    about.add_argument("--tag", action="append", metavar="TAG", help="a tag; repeatable")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    only = section(parser, "filters")
    only.add_argument("--type", metavar="TYPE", help="only this type")
    only.add_argument("--outcome", choices=OUTCOMES, metavar="OUTCOME", help="only %(choices)s")


def _add_found(parser: argparse.ArgumentParser) -> None:
    _add_filters(parser)
    parser.add_argument("--tag", action="append", metavar="TAG", help="a tag to prefer; repeatable")
    parser.add_argument("--strict-tags", action="store_true", help="only what has one of the tags")
    parser.add_argument("--limit", type=count, default=10, metavar="N", help="print at most N (default: 10)")
    parser.add_argument("--lexical", action="store_true", help="search by words only, not by meaning")
    parser.add_argument("--explain", action="store_true", help="explain the rank of each")
    add_flags(parser, "index", INDEX_FLAGS)


def _add_listed(parser: argparse.ArgumentParser) -> None:
    _add_filters(parser)
    parser.add_argument("--tag", action="append", metavar="TAG", help="only what has this tag; repeatable")
    parser.add_argument("--limit", type=count, default=50, metavar="N", help="print at most N (default: 50)")
    parser.add_argument("--plot", action="store_true", help="draw how each will weaken without use")


def _add_ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="ID",
        help="ids of experiences, or how they begin; - reads one per line from stdin",
    )


def _add_feedback(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("feedback", choices=FEEDBACK, metavar="WHAT", help="one of: %(choices)s")
    _add_ids(parser)


def _add_decay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--half-life",
        type=float,
        default=30.0,
        metavar="DAYS",
        help="days without use until half is left (default: 30)",
    )


def _add_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--min-weight", type=float, default=0.05, metavar="X", help="remove what is weaker than this (default: 0.05)"
    )
    parser.add_argument("--dry-run", action="store_true", help="remove nothing; print what would be removed")


def _add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")


_SUMMARY: Final = {
    "add": "store what worked, or what went wrong",
    "find": "find what is like what you want to do",
    "list, show": "print experiences; draw how they weaken",
    "feedback": "say that some helped, are wrong, or stale",
    "decay, prune": "store strengths; remove what is too weak",
    "forget": "forget experiences for good",
}

ACTIONS: Final = (
    Command(
        "add",
        "[options] [TEXT ...]",
        "store what worked, or what went wrong",
        "Store an experience: the text says what was wanted. The same again makes the one that is there stronger. "
        "Secrets are taken out first. With --prefer, the text is something that you prefer.",
        (
            "promptuary experience add --solution 'make docs' --tag docs 'build the docs'",
            "promptuary experience add --failure --problem 'no space left' 'build the docs'",
            "promptuary experience add --prefer indentation tabs",
        ),
        (add_text, _add_about),
    ),
    Command(
        "find",
        "[options] [TEXT ...]",
        "find what is like something that you want to do",
        "Print the experiences that are like the text, by words and by meaning: relevance first, then strength, "
        "success and tags. Exit code 1 if there are none.",
        (
            "promptuary experience find 'how do I build the docs?'",
            "promptuary experience find --explain --tag docs build",
        ),
        (add_text, _add_found),
    ),
    Command(
        "list",
        "[options]",
        "list experiences, or draw how they weaken",
        "Print experiences, the ones used last first. --plot draws the strength that each will have in the coming days "
        "if it is not used. Exit code 1 if there are none.",
        ("promptuary experience list --outcome failure", "promptuary experience list --plot"),
        (_add_listed,),
    ),
    Command(
        "show",
        "[options] ID ...",
        "print experiences",
        "Print experiences with their solutions and all that is known of them.",
        ("promptuary experience show 4f1c",),
        (_add_ids,),
    ),
    Command(
        "feedback",
        "[options] WHAT ID ...",
        "say that experiences helped, are wrong, or stale",
        "helped makes an experience stronger and counts a use, wrong halves it, stale leaves a quarter.",
        ("promptuary experience feedback helped 4f1c", "promptuary experience feedback stale 4f1c 91ab"),
        (_add_feedback,),
    ),
    Command(
        "decay",
        "[options]",
        "store how strong every experience is now",
        "Apply decay: an experience is worth half after --half-life days without use. Applied daily or once, the "
        "result is the same; searches always count it, whether it was applied or not.",
        ("promptuary experience decay", "promptuary experience decay --half-life 14"),
        (_add_decay,),
    ),
    Command(
        "prune",
        "[options]",
        "remove what has become too weak",
        "Remove experiences that are weaker than --min-weight; after 130 days without use that is all.",
        ("promptuary experience prune --dry-run", "promptuary experience prune --min-weight 0.1"),
        (_add_prune,),
    ),
    Command(
        "forget",
        "[options] ID ...",
        "forget experiences for good",
        "Remove experiences with everything that is stored of them: their rows, index, vectors, and their copies in "
        "stored prompts. It cannot be undone.",
        ("promptuary experience forget 4f1c --yes",),
        (_add_ids, _add_yes),
    ),
)
