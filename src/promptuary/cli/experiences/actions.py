"""The actions of ``promptuary experience`` with their arguments and help. Imported on every start of the program."""

import argparse
from typing import Final

from promptuary.cli.parsing import Command, add_actions, add_flags, add_text, count, section

OUTCOMES: Final = ("success", "failure")
FEEDBACK: Final = ("helped", "wrong", "stale")
"""Copies of the values in ``core.experiences``, because importing that takes longer than parsing the arguments."""


def add_experience_actions(parser: argparse.ArgumentParser) -> None:
    """Add every action with its flags."""
    add_actions(parser, ACTIONS, "promptuary experience", lambda _: None, _SUMMARY)


def _add_about(parser: argparse.ArgumentParser) -> None:
    about = section(parser, "the experience")
    about.add_argument(
        "--type", metavar="TYPE", help="task_solution (default), tool_chain, error_recovery, PACKAGE.NAME"
    )
    about.add_argument("--solution", metavar="JSON", help="what was done, as JSON or text; - reads it from stdin")
    about.add_argument("--prefer", metavar="CATEGORY", help="store TEXT as your preference in this category")
    about.add_argument("--failure", dest="outcome", action="store_const", const="failure", help="it did not work")
    about.add_argument("--problem", metavar="TEXT", help="what went wrong")
    about.add_argument("--score", type=float, metavar="X", help="success from 0 to 1 (default: 1; with --failure: 0)")
    about.add_argument("--tag", action="append", metavar="TAG", help="add a tag; repeatable")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    only = section(parser, "filters")
    only.add_argument("--type", metavar="TYPE", help="only this type")
    only.add_argument("--outcome", choices=OUTCOMES, metavar="OUTCOME", help="only this outcome: %(choices)s")


def _add_found(parser: argparse.ArgumentParser) -> None:
    _add_filters(parser)
    parser.add_argument(
        "--tag", action="append", metavar="TAG", help="rank experiences with this tag higher; repeatable"
    )
    parser.add_argument("--strict-tags", action="store_true", help="only experiences with one of the tags")
    parser.add_argument("--limit", type=count, default=10, metavar="N", help="print at most N (default: 10)")
    parser.add_argument("--lexical", action="store_true", help="search by words only, not by meaning")
    parser.add_argument("--explain", action="store_true", help="explain the rank of each result")
    add_flags(parser, ("embedder",))


def _add_listed(parser: argparse.ArgumentParser) -> None:
    _add_filters(parser)
    parser.add_argument("--tag", action="append", metavar="TAG", help="only experiences with this tag; repeatable")
    parser.add_argument("--limit", type=count, default=50, metavar="N", help="print at most N (default: 50)")
    parser.add_argument("--plot", action="store_true", help="plot the strength of each over the coming days")


def _add_ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="ID",
        help="id or id prefix of an experience; - reads stdin",
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
        help="days without use until the strength is halved (default: 30)",
    )


def _add_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--min-weight",
        type=float,
        default=0.05,
        metavar="X",
        help="remove experiences weaker than this (default: 0.05)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only print what would be removed")


def _add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")


_SUMMARY: Final = {
    "add": "store an experience",
    "find": "find experiences similar to a text",
    "list, show": "print experiences, plot their strength",
    "feedback": "rate experiences as helped, wrong or stale",
    "decay, prune": "update strengths, remove weak experiences",
    "forget": "remove experiences permanently",
}

ACTIONS: Final = (
    Command(
        "add",
        "[options] [TEXT ...]",
        "store an experience",
        "Store an experience; TEXT is the goal. Storing the same one again makes it stronger. Secrets are removed from "
        "it. With --prefer, store TEXT as a preference.",
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
        "find experiences similar to a text",
        "Print the experiences most similar to TEXT, by words and by meaning, ranked by relevance, then by strength, "
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
        "list experiences, or plot their strength",
        "List experiences, most recently used first. With --plot, plot the strength that each will have in the coming "
        "days if it is not used. Exit code 1 if there are none.",
        ("promptuary experience list --outcome failure", "promptuary experience list --plot"),
        (_add_listed,),
    ),
    Command(
        "show",
        "[options] ID ...",
        "print experiences",
        "Print experiences with their solutions and metadata.",
        ("promptuary experience show 4f1c",),
        (_add_ids,),
    ),
    Command(
        "feedback",
        "[options] WHAT ID ...",
        "rate experiences as helped, wrong or stale",
        "Rate experiences. helped increases the strength and counts a use, wrong halves the strength, stale reduces it "
        "to a quarter.",
        ("promptuary experience feedback helped 4f1c", "promptuary experience feedback stale 4f1c 91ab"),
        (_add_feedback,),
    ),
    Command(
        "decay",
        "[options]",
        "store the current strength of every experience",
        "Apply decay and store the result: after --half-life days without use, the strength of an experience is "
        "halved. It does not matter how often you run it; searches always use the current strength.",
        ("promptuary experience decay", "promptuary experience decay --half-life 14"),
        (_add_decay,),
    ),
    Command(
        "prune",
        "[options]",
        "remove weak experiences",
        "Remove experiences weaker than --min-weight. An unused experience falls below the default within 130 days.",
        ("promptuary experience prune --dry-run", "promptuary experience prune --min-weight 0.1"),
        (_add_prune,),
    ),
    Command(
        "forget",
        "[options] ID ...",
        "remove experiences permanently",
        "Remove experiences with all stored copies: rows, index, vectors and copies in stored prompts. This cannot be "
        "undone.",
        ("promptuary experience forget 4f1c --yes",),
        (_add_ids, _add_yes),
    ),
)
