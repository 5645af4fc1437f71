"""Runs a slash command over the facade: parses the line, carries it out, and returns what a surface shows.

A slip, a command that the surface does not allow, and every error of the library become a ``CommandRefused`` with a
sentence.
"""

from typing import TYPE_CHECKING, Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.commands import context, history, memory
from promptuary.commands.each_id import Worded
from promptuary.commands.parsing import MARK, CommandSlip, Invocation, near_names, parse
from promptuary.commands.prompts import sendable
from promptuary.commands.registry import EVERYTHING, allowed_commands
from promptuary.commands.results import (
    CommandRefused,
    CommandResult,
    Ended,
    FilesFound,
    HelpShown,
    ModelChosen,
    ModelsListed,
    PassagesFound,
    PromptsListed,
    ThreadChosen,
    ThreadsListed,
)

if TYPE_CHECKING:
    from promptuary.engine import Promptuary

LONGEST: Final = 100_000
"""The most characters of a command."""


async def run_command(
    p: "Promptuary",
    line: str,
    *,
    thread: str = "main",
    allowed: frozenset[str] = EVERYTHING,
    model: str = "",
    mark: str = MARK,
    worded: Worded = str,
) -> CommandResult:
    """Carry out ``line``, and return what there is to show. Never raises a ``PromptuaryError``.

    ``allowed`` has the names of commands, or of single actions (``memory list``). ``model`` is the surface's current
    one. ``mark`` is what the person writes before a command; ``line`` itself always begins with a slash. ``worded``
    words an error for the users of the surface.
    """
    if len(line) > LONGEST:
        return CommandRefused(f"a command has at most {LONGEST:,} characters; this one has {len(line):,}")
    found = parse(line, allowed, mark)
    if isinstance(found, CommandSlip):
        return CommandRefused(found.reason)
    try:
        return await _done(p, found, thread, allowed=allowed, model=model, worded=worded)
    except PromptuaryError as error:
        return CommandRefused(one_line(worded(error)))


async def _done(
    p: "Promptuary", asked: Invocation, thread: str, *, allowed: frozenset[str], model: str, worded: Worded
) -> CommandResult:
    match asked.command:
        case "context":
            return await context.run(p, asked, thread, worded)
        case "memory":
            return await memory.run(p, asked, worded)
        case "search":
            return PassagesFound(asked.rest, await p.search.find(asked.rest))
        case "find":
            return FilesFound(asked.rest, await p.find_files(asked.rest))
        case "why" | "replay" | "compact" | "undo" | "copy" | "save":
            return await history.run(p, asked, thread)
        case "model":
            return _model(p, asked.rest, model)
        case "thread":
            return await _thread(p, asked.rest, thread)
        case "prompts":
            return PromptsListed(list(sendable((await p.prompts.list()).prompts)))
        case "quit":
            return Ended()
        case _:
            return _help(asked, allowed)


def _model(p: "Promptuary", name: str, current: str) -> CommandResult:
    if not name:
        return ModelsListed([one.name for one in p.settings.models], current)
    p.settings.chat(name)  # raises an error that says how to configure it
    return ModelChosen(name)


async def _thread(p: "Promptuary", name: str, current: str) -> CommandResult:
    threads = await p.threads.list()
    if not name:
        return ThreadsListed(threads, current)
    await p.threads.turns(thread=name)  # raises an error if that is not a valid name
    return ThreadChosen(name, is_new=name not in {one.id for one in threads})


def _help(asked: Invocation, allowed: frozenset[str]) -> CommandResult:
    there, mark = list(allowed_commands(allowed)), asked.mark
    if not asked.rest:
        return HelpShown(there)
    wanted = asked.rest.removeprefix(mark).removeprefix(MARK).lower().partition(" ")[0]
    found = [one for one in there if one.name == wanted]
    if not found:
        near = near_names(wanted, [one.name for one in there])
        advice = f"did you mean {mark}help {near[0]}?" if near else f"{mark}help lists the commands"
        return CommandRefused(f"there is no command {mark}{one_line(wanted)[:60]} here; {advice}")
    return HelpShown(found)
