"""The commands about what was said: ``/why``, ``/replay``, ``/compact``, ``/undo``, ``/copy`` and ``/save``."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from promptuary.commands.parsing import AS_MESSAGE, Invocation
from promptuary.commands.results import (
    CommandRefused,
    CommandResult,
    Copied,
    Explained,
    HistoryCompacted,
    Replayed,
    Saved,
    TurnUndone,
)

if TYPE_CHECKING:
    from promptuary.core.threads import ExportForm
    from promptuary.engine import Promptuary


async def run(p: "Promptuary", asked: Invocation, thread: str) -> CommandResult:
    """Do one thing with what was said in a thread."""
    match asked.command:
        case "compact":
            return HistoryCompacted(await p.threads.compact(thread=thread))
        case "undo":
            return TurnUndone(await p.threads.undo(thread=thread))
        case "copy":
            return await _copy(p, thread)
        case "save":
            return await _save(p, asked, thread)
        case _:
            return await _past_turn(p, asked, thread)


async def _past_turn(p: "Promptuary", asked: Invocation, thread: str) -> CommandResult:
    number = None
    if asked.rest:
        if not (asked.rest.isascii() and asked.rest.isdecimal() and 0 < len(asked.rest) < 10):
            return CommandRefused(f"/{asked.command} takes a turn's number, as in /{asked.command} 2; {AS_MESSAGE}")
        number = int(asked.rest)
    replay = await p.threads.replay(thread=thread, number=number)
    return Explained(replay) if asked.command == "why" else Replayed(replay)


async def _copy(p: "Promptuary", thread: str) -> CommandResult:
    answers = [item for item in await p.threads.history(thread=thread) if item.role == "assistant" and item.content]
    if not answers:
        return CommandRefused("there is no answer to copy yet")
    await p.copy(answers[-1].content)
    return Copied(answers[-1].content)


async def _save(p: "Promptuary", asked: Invocation, thread: str) -> CommandResult:
    names = [word for word in asked.words if word != "--force"]
    if len(names) != 1:
        return CommandRefused("name one file: /save FILE.md, or /save FILE.json, which can be imported again")
    path = _path(names[0])
    form: ExportForm = "json" if path.suffix.lower() == ".json" else "md"
    text = await p.threads.export(thread=thread, form=form, file=path, force="--force" in asked.words)
    return Saved(path, len(text.encode("utf-8", "replace")))


def _path(name: str) -> Path:
    return Path(os.path.expanduser(name))  # noqa: PTH111  (one that cannot be expanded stays as it is)
