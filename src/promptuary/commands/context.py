"""``/context``: what is kept in view of a thread, and what goes with its next message."""

from typing import TYPE_CHECKING

from promptuary.commands.parsing import Invocation
from promptuary.commands.results import CommandResult, ContextShown, FilesFound
from promptuary.core.errors import PromptuaryError
from promptuary.core.text import one_line

if TYPE_CHECKING:
    from promptuary.engine import Promptuary


async def run(p: "Promptuary", asked: Invocation, thread: str) -> CommandResult:
    """Do one thing with what is in view, then show it."""
    if asked.action == "find":
        return FilesFound(asked.rest, await p.find_files(asked.rest))
    if asked.action == "clear":
        await p.threads.detach_all(thread=thread)
    refused = []
    for word in asked.words:
        try:
            await _changed(p, asked.action, word, thread)
        except PromptuaryError as error:  # one that is refused keeps none of the others from being done
            refused.append(one_line(str(error)))
    attached, stats = await p.threads.attachments(thread=thread), await p.threads.stats(thread=thread)
    return ContextShown(thread, attached, stats, tuple(refused), whole=asked.action == "tokens")


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
