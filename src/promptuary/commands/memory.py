"""``/memory``: the notes of the principal, and what was learnt and waits for them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from promptuary.commands.parsing import Invocation
from promptuary.commands.results import (
    CommandDone,
    CommandRefused,
    CommandResult,
    Forgotten,
    NoteHistory,
    NotesChanged,
    NoteShown,
    NotesListed,
    NotesMatched,
    ProposalsListed,
)
from promptuary.core.errors import PromptuaryError
from promptuary.core.notes import Note
from promptuary.core.text import one_line

if TYPE_CHECKING:
    from promptuary.engine import Promptuary

LISTED: Final = 20
"""How many notes are listed at once."""
_SHORTEST: Final = 4
"""How much of the id of a proposal must be typed."""


async def run(p: "Promptuary", asked: Invocation) -> CommandResult:
    """Do one thing with the notes."""
    rest = asked.rest
    match asked.action:
        case "list":
            return NotesListed(await p.memory.list(limit=LISTED))
        case "search":
            return NotesMatched(rest, await p.memory.find(rest))
        case "show":
            return await _show(p, rest)
        case "write":
            return NotesChanged("written", [(await p.memory.write(rest)).header])
        case "remember":
            return NotesChanged("written", [(await p.memory.remember(rest)).header])
        case "archive":
            return await _each("archived", asked.words, p.memory.archive)
        case "restore":
            return await _each("brought back", asked.words, p.memory.restore)
        case "undo":
            return await _each("changed back", asked.words, p.memory.undo)
        case "history":
            return NoteHistory(rest, await p.memory.history(rest))
        case "forget":
            return await _forget(p, asked.words)
        case _:
            return await _proposed(p, asked)


async def _show(p: "Promptuary", key: str) -> CommandResult:
    note = await p.memory.get(key)
    return (
        CommandRefused(f"there is no note {one_line(key)[:60]!r}; /memory list names them")
        if note is None
        else NoteShown(note)
    )


async def _each(deed: str, keys: Sequence[str], work: Callable[[str], Awaitable[Note]]) -> NotesChanged:
    """Do something with each note; one that fails keeps none of the others from being done."""
    done, refused = [], []
    for key in keys:
        try:
            done.append((await work(key)).header)
        except PromptuaryError as error:
            refused.append(one_line(str(error)))
    return NotesChanged(deed, done, tuple(refused))


async def _forget(p: "Promptuary", words: Sequence[str]) -> CommandResult:
    key, *more = words
    if more and [one.lower() for one in more] != ["yes"]:
        return CommandRefused("/memory forget takes one note at a time: /memory forget ID, then /memory forget ID yes")
    return Forgotten(await p.memory.forget(key, dry_run=not more))


async def _proposed(p: "Promptuary", asked: Invocation) -> CommandResult:
    waiting = [one.id for one in await p.memory.proposals()]
    if asked.action == "proposals":
        return ProposalsListed(await p.memory.proposals())
    chosen = [_named(word, waiting) for word in asked.words]
    if asked.action == "accept":
        return await _each("written", chosen, p.memory.accept)
    refused = []
    for one in chosen:
        try:
            await p.memory.reject(one)
        except PromptuaryError as error:
            refused.append(one_line(str(error)))
    done = len(chosen) - len(refused)
    rejected = f"{done} proposal{'s' * (done != 1)} rejected"
    return CommandRefused("; ".join(refused)) if refused and not done else CommandDone("; ".join([rejected, *refused]))


def _named(word: str, waiting: Sequence[str]) -> str:
    """Return the proposal that ``word`` is the beginning of, if it is that of one alone; else ``word``."""
    found = [one for one in waiting if len(word) >= _SHORTEST and one.startswith(word)]
    return found[0] if len(found) == 1 else word
