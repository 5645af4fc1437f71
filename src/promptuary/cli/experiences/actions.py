"""The actions of ``promptuary experience`` with their arguments and help. Imported on every start of the program."""

from typing import Final

from promptuary.cli.parsing import TEXT, Actions, Command, SettingFlags, arg, flag, limit, many, under

OUTCOMES: Final = ("success", "failure")
FEEDBACK: Final = ("helped", "wrong", "stale")
"""Copies of the values in ``experiences.values``, because importing that takes longer than parsing the arguments."""

_NEW: Final = tuple(
    under(
        "the experience",
        arg("--type TYPE", "task_solution (default), tool_chain, error_recovery, PACKAGE.NAME"),
        arg("--solution JSON", "what was done, as JSON or text; - reads it from stdin"),
        arg("--prefer CATEGORY", "store TEXT as your preference in this category"),
        arg("--failure", "it did not work", dest="outcome", action="store_const", const="failure"),
        arg("--problem TEXT", "what went wrong"),
        arg("--score X", "success from 0 to 1 (default: 1; with --failure: 0)", type=float),
        many("--tag TAG", "add a tag; repeatable"),
    )
)
_FILTERS: Final = tuple(
    under(
        "filters",
        arg("--type TYPE", "only this type"),
        arg("--outcome OUTCOME", "only this outcome: %(choices)s", choices=OUTCOMES),
    )
)
_FOUND: Final = (
    *_FILTERS,
    many("--tag TAG", "rank experiences with this tag higher; repeatable"),
    flag("--strict-tags", "only experiences with one of the tags"),
    limit(10),
    flag("--lexical", "search by words only, not by meaning"),
    flag("--explain", "explain the rank of each result"),
    SettingFlags(("embedder",)),
)
_LISTED: Final = (
    *_FILTERS,
    many("--tag TAG", "only experiences with this tag; repeatable"),
    limit(50),
    flag("--plot", "plot the strength of each over the coming days"),
)
_IDS: Final = arg("words ID", "id or id prefix of an experience; - reads stdin", nargs="*")
_FEEDBACK: Final = arg("feedback WHAT", "one of: %(choices)s", choices=FEEDBACK)
_HALF_LIFE: Final = arg(
    "--half-life DAYS", "days without use until the strength is halved (default: 30)", type=float, default=30.0
)
_PRUNED: Final = (
    arg("--min-weight X", "remove experiences weaker than this (default: 0.05)", type=float, default=0.05),
    flag("--dry-run", "only print what would be removed"),
)

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
        (TEXT, *_NEW),
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
        (TEXT, *_FOUND),
    ),
    Command(
        "list",
        "[options]",
        "list experiences, or plot their strength",
        "List experiences, most recently used first. With --plot, plot the strength that each will have in the coming "
        "days if it is not used. Exit code 1 if there are none.",
        ("promptuary experience list --outcome failure", "promptuary experience list --plot"),
        _LISTED,
    ),
    Command(
        "show",
        "[options] ID ...",
        "print experiences",
        "Print experiences with their solutions and metadata.",
        ("promptuary experience show 4f1c",),
        (_IDS,),
    ),
    Command(
        "feedback",
        "[options] WHAT ID ...",
        "rate experiences as helped, wrong or stale",
        "Rate experiences. helped increases the strength and counts a use, wrong halves the strength, stale reduces it "
        "to a quarter.",
        ("promptuary experience feedback helped 4f1c", "promptuary experience feedback stale 4f1c 91ab"),
        (_FEEDBACK, _IDS),
    ),
    Command(
        "decay",
        "[options]",
        "store the current strength of every experience",
        "Apply decay and store the result: after --half-life days without use, the strength of an experience is "
        "halved. It does not matter how often you run it; searches always use the current strength.",
        ("promptuary experience decay", "promptuary experience decay --half-life 14"),
        (_HALF_LIFE,),
    ),
    Command(
        "prune",
        "[options]",
        "remove weak experiences",
        "Remove experiences weaker than --min-weight. An unused experience falls below the default within 130 days.",
        ("promptuary experience prune --dry-run", "promptuary experience prune --min-weight 0.1"),
        _PRUNED,
    ),
    Command(
        "forget",
        "[options] ID ...",
        "remove experiences permanently",
        "Remove experiences with all stored copies: rows, index, vectors and copies in stored prompts. This cannot be "
        "undone.",
        ("promptuary experience forget 4f1c --yes",),
        (_IDS, flag("--yes", "do not ask")),
    ),
)

EXPERIENCE_ACTIONS: Final = Actions(ACTIONS, _SUMMARY)
