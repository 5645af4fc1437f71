"""The commands about past turns: ``/why``, ``/replay``, ``/compact``, ``/undo``, ``/copy`` and ``/save``."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from promptuary.base.text import human_size
from promptuary.commands.parsing import AS_MESSAGE, Invocation
from promptuary.commands.results import (
    CommandDone,
    CommandRefused,
    CommandResult,
    Explained,
    Replayed,
)

if TYPE_CHECKING:
    from promptuary.engine import Promptuary
    from promptuary.threads.values import ExportForm


async def run(p: "Promptuary", asked: Invocation, thread: str) -> CommandResult:
    """Carry out one command about the past turns of a thread."""
    match asked.command:
        case "compact":
            return await p.threads.compact(thread=thread)
        case "undo":
            return await p.threads.undo(thread=thread)
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
    copied = f"copied {len(answers[-1].content):,} characters to the clipboard"
    certain = await p.copy(answers[-1].content)
    return CommandDone(copied if certain else f"{copied}, if your terminal lets programs do that; else /save FILE.md")


async def _save(p: "Promptuary", asked: Invocation, thread: str) -> CommandResult:
    names = [word for word in asked.words if word != "--force"]
    if len(names) != 1:
        return CommandRefused("name one file: /save FILE.md, or /save FILE.json, which can be imported again")
    if thread not in {one.id for one in await p.threads.list()}:
        return CommandRefused(f"nothing was said in thread {thread} yet: there is nothing to save")
    path = _path(names[0])
    form: ExportForm = "json" if path.suffix.lower() == ".json" else "md"
    text = await p.threads.export(thread=thread, form=form, file=path, force="--force" in asked.words)
    return CommandDone(f"saved {human_size(len(text.encode('utf-8', 'replace')))} to {path}")


def _path(name: str) -> Path:
    return Path(os.path.expanduser(name))  # noqa: PTH111  (what it cannot expand stays unchanged)
