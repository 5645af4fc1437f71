"""``/memory``: the notes of the principal, and what was learnt and waits for them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from promptuary.commands.one_by_one import one_by_one
from promptuary.commands.parsing import Invocation
from promptuary.commands.results import (
    CommandDone,
    CommandRefused,
    CommandResult,
    NoteHistory,
    NotesChanged,
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
            return await p.memory.list(limit=LISTED)
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
    return note or CommandRefused(f"there is no note {one_line(key)[:60]!r}; /memory list names them")


async def _each(deed: str, keys: Sequence[str], work: Callable[[str], Awaitable[Note]]) -> NotesChanged:
    notes, refused = await one_by_one(keys, work)
    return NotesChanged(deed, [note.header for note in notes], refused)


async def _forget(p: "Promptuary", words: Sequence[str]) -> CommandResult:
    key, *more = words
    if more and [one.lower() for one in more] != ["yes"]:
        return CommandRefused("/memory forget takes one note at a time: /memory forget ID, then /memory forget ID yes")
    return await p.memory.forget(key, dry_run=not more)


async def _proposed(p: "Promptuary", asked: Invocation) -> CommandResult:
    waiting = [one.id for one in await p.memory.proposals()]
    if asked.action == "proposals":
        return ProposalsListed(await p.memory.proposals())
    if asked.action == "accept":
        return await _each("written", asked.words, lambda word: p.memory.accept(_named(word, waiting)))
    done, refused = await one_by_one(asked.words, lambda word: p.memory.reject(_named(word, waiting)))
    rejected = f"{len(done)} proposal{'s' * (len(done) != 1)} rejected"
    return CommandRefused("; ".join(refused)) if refused and not done else CommandDone("; ".join([rejected, *refused]))


def _named(word: str, waiting: Sequence[str]) -> str:
    """Return the proposal that ``word`` is the beginning of. Raises ``PromptuaryError`` unless it is one alone."""
    found = [one for one in waiting if one == word or (len(word) >= _SHORTEST and one.startswith(word))]
    if len(found) != 1:
        raise PromptuaryError(f"there is no proposal {one_line(word)[:60]!r}; /memory proposals lists them")
    return found[0]
