"""``/memory``: the notes of the principal, and the proposals that wait for a decision."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.commands.each_id import Worded, one_by_one
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
from promptuary.memory.values import Note

if TYPE_CHECKING:
    from promptuary.engine import Promptuary

LISTED: Final = 20
"""How many notes are listed at once."""
_SHORTEST: Final = 4
"""The fewest characters of a proposal's id that must be typed."""


async def run(p: "Promptuary", asked: Invocation, worded: Worded) -> CommandResult:
    """Carry out one action on the notes."""
    rest, words = asked.rest, asked.words
    match asked.action:
        case "list":
            return await p.memory.list(limit=LISTED)
        case "search":
            return NotesMatched(rest, await p.memory.find(rest))
        case "show":
            return await _show(p, asked)
        case "write":
            return NotesChanged("written", [(await p.memory.write(rest)).header])
        case "remember":
            return NotesChanged("written", [(await p.memory.remember(rest)).header])
        case "archive":
            return await _each("archived", words, p.memory.archive, worded)
        case "restore":
            return await _each("brought back", words, p.memory.restore, worded)
        case "undo":
            return await _each("changed back", words, p.memory.undo, worded)
        case "history":
            return NoteHistory(rest, await p.memory.history(rest))
        case "forget":
            return await _forget(p, asked)
        case "adopt":
            return NotesChanged("adopted", await p.memory.adopt(words))
        case _:
            return await _proposed(p, asked, worded)


async def _show(p: "Promptuary", asked: Invocation) -> CommandResult:
    note = await p.memory.get(asked.rest)
    named = one_line(asked.rest)[:60]
    return note or CommandRefused(f"there is no note {named!r}; {asked.mark}memory list names them")


async def _each(deed: str, keys: Sequence[str], work: Callable[[str], Awaitable[Note]], worded: Worded) -> NotesChanged:
    notes, refused = await one_by_one(keys, work, worded)
    return NotesChanged(deed, [note.header for note in notes], refused)


async def _forget(p: "Promptuary", asked: Invocation) -> CommandResult:
    key, *more = asked.words
    if more and [one.lower() for one in more] != ["yes"]:
        how = f"{asked.spelled} ID, then {asked.spelled} ID yes"
        return CommandRefused(f"{asked.spelled} takes one note at a time: {how}")
    return await p.memory.forget(key, dry_run=not more)


async def _proposed(p: "Promptuary", asked: Invocation, worded: Worded) -> CommandResult:
    def named(word: str) -> str:
        return _named(word, waiting, asked.mark)

    waiting = [one.id for one in await p.memory.proposals()]
    if asked.action == "proposals":
        return ProposalsListed(await p.memory.proposals(), await p.memory.unadopted())
    if asked.action == "accept":
        return await _each("written", asked.words, lambda word: p.memory.accept(named(word)), worded)
    done, refused = await one_by_one(asked.words, lambda word: p.memory.reject(named(word)), worded)
    rejected = f"{len(done)} proposal{'s' * (len(done) != 1)} rejected"
    return CommandRefused("; ".join(refused)) if refused and not done else CommandDone("; ".join([rejected, *refused]))


def _named(word: str, waiting: Sequence[str], mark: str) -> str:
    """Return the proposal whose id begins with ``word``. Raises ``PromptuaryError`` unless there is exactly one."""
    found = [one for one in waiting if one == word or (len(word) >= _SHORTEST and one.startswith(word))]
    if len(found) != 1:
        raise PromptuaryError(f"there is no proposal {one_line(word)[:60]!r}; {mark}memory proposals lists them")
    return found[0]
