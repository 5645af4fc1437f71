"""The arguments of ``promptuary hook``, without a parser: it is loaded before every prompt, and must never exit.

It also finds out whether ``hook`` is the command, so that both entry points of the program agree about it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

WORK: Final = "--work"
"""The flag of a background process: it does the work that must not keep the agent waiting."""
_HELP: Final = frozenset({"-h", "--help", "--help-all"})
_WORKSPACE: Final = ("-w", "--workspace")
_SWITCHES: Final = {"--debug": "debug", WORK: "working", "--json": "", "-q": "", "--quiet": ""}
"""The flags without a value. ``--json`` and ``--quiet`` change nothing: the answer is always JSON, without notes."""


class HookArguments(NamedTuple):
    """The arguments of a hook: its words, the workspace if it is named, and what is wrong with the arguments."""

    words: Sequence[str]
    workspace: str | None = None
    working: bool = False
    debug: bool = False
    problem: str = ""


def of_hook(arguments: Sequence[str]) -> list[str] | None:
    """Return the arguments of ``hook`` if that is the command; help is left to the parser."""
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        place += 2 if arguments[place] in _WORKSPACE else 1
    if list(arguments[place : place + 1]) != ["hook"] or _HELP & set(arguments):
        return None
    return [*arguments[:place], *arguments[place + 1 :]]


def hook_arguments(arguments: Sequence[str]) -> HookArguments:
    """Parse the arguments of ``hook``. Raises nothing: ``problem`` says what is wrong with them."""
    words: list[str] = []
    switches: dict[str, bool] = {}
    workspace: str | None = None
    problem = ""
    waiting = iter(arguments)
    for word in waiting:
        name, has_value, value = word.partition("=")
        if word in _SWITCHES:
            switches[_SWITCHES[word]] = True
        elif name in _WORKSPACE:
            workspace = value if has_value else next(waiting, None)
            problem = problem or ("" if workspace else f"{name} names no folder")
        elif word.startswith("-w"):
            workspace = word[2:]
        elif word.startswith("-"):
            problem = problem or f"there is no flag {word[:60]}"
        else:
            words.append(word)
    working, debug = "working" in switches, "debug" in switches
    return HookArguments(words, workspace, working=working, debug=debug, problem=problem)
