"""The actions of ``promptuary token`` with their arguments and help. Imported on every start of the program."""

from typing import Final

from promptuary.cli.parsing import COMMON_WITHOUT_WORKSPACE, Actions, Command, arg, count, flag, many, under

SCOPES: Final = ("read", "write", "proxy", "admin")
"""A copy of that in ``server.tokens``, because importing that takes longer than parsing the arguments."""

_CREATE: Final = (
    arg("name NAME", "what you call it, such as the client that uses it"),
    *under(
        "who",
        arg("--user NAME", "who asks (default: you)"),
        arg("--agent NAME", "agent with threads and notes of its own", seldom=True),
        arg("--group NAME", "group that owns threads and notes", seldom=True),
    ),
    *under(
        "what they may use",
        many("--scope SCOPE", "%(choices)s (default: proxy); repeatable", choices=SCOPES),
        many("--model NAME", "only this model; repeatable"),
        many("--workspace NAME", "only this served workspace; repeatable"),
        many("--folder DIR", "refer only to files of this folder; repeatable"),
        many("--kind KIND", "only this kind of reference: file, url, diff …; repeatable", seldom=True),
        many("--host HOST", "also fetch pages from this host that is not public; repeatable", seldom=True),
    ),
    *under(
        "how much",
        arg("--requests-per-day N", "requests in a day (UTC)", type=count),
        arg("--tokens-per-day N", "tokens in a day", type=count),
        arg("--money-per-day X", "money in a day, as models are priced", type=float, seldom=True),
        arg("--expires WHEN", "in 30d, 12w, 6m or 1y, or on 2026-01-31"),
    ),
    arg(
        "--record WHAT",
        "store of requests: %(choices)s",
        choices=("full", "receipt", "off"),
        default="full",
        seldom=True,
    ),
    arg(
        "--mode MODE",
        "augment the client's conversation, or have an own thread of ours: %(choices)s",
        choices=("augment", "own"),
        default="augment",
        seldom=True,
    ),
)

ACTIONS: Final = (
    Command(
        "create",
        "[options] NAME",
        "create a token, and print its secret once",
        "Create a token, and print its secret to stdout; it cannot be printed again. Yours may refer to whole "
        "workspaces; those of other users to pages, their notes, and what --folder and --kind name.",
        (
            "promptuary token create laptop --expires 90d",
            "promptuary token create ci --user ci --folder docs --requests-per-day 500",
        ),
        _CREATE,
    ),
    Command(
        "list",
        "[options]",
        "list tokens with what they used today",
        "List tokens with what they used today (UTC) and whether they expired or were revoked; without their secrets. "
        "Exit code 1 if there are none.",
        ("promptuary token list", "promptuary token list --all"),
        (flag("--all", "also those that expired or were revoked"),),
    ),
    Command(
        "revoke",
        "[options] TOKEN",
        "revoke a token",
        "Revoke a token by its id or name. A running server refuses it within a second, and ends what it streams. "
        "Exit code 1 if there is no such token.",
        ("promptuary token revoke laptop",),
        (arg("token TOKEN", "its id, or its name if no other has it"),),
    ),
)

_SUMMARY: Final = {
    "create": "create a token, and print its secret once",
    "list": "list tokens with what they used today",
    "revoke": "revoke a token",
}

TOKEN_ACTIONS: Final = Actions(ACTIONS, _SUMMARY, common=COMMON_WITHOUT_WORKSPACE)
