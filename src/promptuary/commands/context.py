"""``/context``: what is kept in view of a thread, and what is queued for its next message."""

from typing import TYPE_CHECKING

from promptuary.commands.each_id import Worded, one_by_one
from promptuary.commands.parsing import Invocation
from promptuary.commands.results import CommandResult, ContextShown, FilesFound

if TYPE_CHECKING:
    from promptuary.engine import Promptuary


async def run(p: "Promptuary", asked: Invocation, thread: str, worded: Worded) -> CommandResult:
    """Carry out one action on what is in view, then return what is in view."""
    if asked.action == "find":
        return FilesFound(asked.rest, await p.find_files(asked.rest))
    if asked.action == "clear":
        await p.threads.detach_all(thread=thread)
    _, refused = await one_by_one(asked.words, lambda word: _changed(p, asked.action, word, thread), worded)
    attached, stats = await p.threads.attachments(thread=thread), await p.threads.stats(thread=thread)
    waiting = await p.measure("", thread=thread)
    return ContextShown(thread, attached, stats, waiting, refused, whole=asked.action == "tokens")


async def _changed(p: "Promptuary", action: str, word: str, thread: str) -> None:
    match action:
        case "add":
            await p.threads.attach(word, thread=thread)
        case "drop":
            await p.threads.detach(word, thread=thread)
        case "pin" | "unpin":
            await p.threads.pin(word, thread=thread, on=action == "pin")
        case _:
            pass
