"""Notes in messages: those that ``@memory:`` attaches, and those that its menu offers.

Only the memory of the sender is used. The answers are the same whether or not somebody else has such a note.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from promptuary.base.blocks import Source
from promptuary.base.errors import Code, PromptuaryError, SecretError, SourceError
from promptuary.base.references import Reference
from promptuary.base.text import one_line
from promptuary.memory.memory import ADDRESS, Memory
from promptuary.memory.recall.digest import is_external
from promptuary.memory.recall.freshness import age_in_days
from promptuary.memory.recall.note_blocks import note_source
from promptuary.memory.recall.search import answering_notes
from promptuary.memory.values import AUDIENCES, Note, NoteHeader
from promptuary.memory.writeback.own_words import own_words
from promptuary.references.completion.menu import NoteLine
from promptuary.references.resolve_context import NoteKept, NotesFound
from promptuary.references.scan import scan
from promptuary.search.values import note_text

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.memory.pinned import TurnMemory
    from promptuary.threads.options import ExpandRequest

MAX_NOTES: Final = 5
"""The most notes that one ``@memory:`` attaches."""

_MAX_OFFERED: Final = 2_000
_LIST: Final = "`promptuary memory list` shows which there are"
_ID: Final = re.compile(r"(?=[0-9a-f-]*[0-9])[0-9a-f]{8}[0-9a-f-]{4,56}", re.IGNORECASE | re.ASCII)
"""Words that are clearly ids: nobody searches for such a word."""


_ADVICE: Final = 'write it in a short message of your own, or run `promptuary remember "…"`'


def remember(memory: "TurnMemory", said: str, reference: Reference) -> NoteKept:
    """Write what ``reference`` asks for. ``said`` is the message as the person typed it. Raises ``SourceError``."""
    if reference.raw not in {found.raw for found in scan(said) if found.kind == reference.kind}:
        raise SourceError(Code.NOT_REMEMBERED, f"it is not in the message as you typed it; {_ADVICE}")
    if reference.raw not in own_words(said).text:
        raise SourceError(Code.NOT_REMEMBERED, f"it is in what looks like a quotation or a paste; {_ADVICE}")
    try:
        written = memory.write_statement(reference.value + reference.suffix, reason="asked for in a message")
    except SecretError as error:
        raise SourceError(Code.HOLDS_SECRET, str(error)) from error
    except PromptuaryError as error:
        raise SourceError(Code.WRITE_FAILED, str(error)) from error
    header = written.note.header
    if written.is_new:
        also = f"; {written.note.hint}" if written.note.hint else ""
        return NoteKept(header.address, f"remembered as {header.id} ({header.audience}, {header.kind}){also}")
    return NoteKept(header.address, f"the note {header.id} says it already")


class Mentions:
    """The notes that the messages of one principal refer to."""

    def __init__(self, app: "App") -> None:
        self._app = app

    def find(self, value: str, turn: "ExpandRequest | None") -> NotesFound:
        """Return the note with the id or path ``value``, else the notes that match it. Raises ``SourceError``."""
        notes = self._app.memory
        return attach_notes(notes.of() if turn is None else notes.within(turn.thread, turn.access), value)

    def remember(self, reference: "Reference", turn: "ExpandRequest") -> NoteKept:
        """Write what a message of a turn asks to be remembered. Raises ``SourceError``."""
        return remember(self._app.memory.within(turn.thread, turn.access), turn.said, reference)

    def offered(self) -> Sequence[NoteLine]:
        """Return the notes for a menu; one that is not in the first memory names its thread."""
        every = self._app.memory.every().items()
        (_, main), *others = [(thread, offer_notes(memory)) for thread, (_, memory) in every]
        return [*main, *(in_thread(line, thread) for thread, lines in others for line in lines)]


def attach_notes(memory: "TurnMemory", value: str) -> NotesFound:
    """Return the note with the id or path ``value``, else the notes that match it. Raises ``SourceError``."""
    note = memory.exact(value)
    if note is not None:
        return NotesFound([_source(note, memory)])
    if _is_name(value):
        raise SourceError(Code.NOT_FOUND, f"there is no note {value[:80]!r}; {_LIST}")
    found = memory.find(value, limit=MAX_NOTES)
    notes = [memory.exact(hit.header.id) for hit in answering_notes(found, MAX_NOTES)]
    sources = [_source(note, memory) for note in notes if note is not None]
    if not sources:
        raise SourceError(Code.NO_MATCH, f"no note answers {value[:80]!r}; try other words: {_LIST}")
    return NotesFound(sources, list(map(note_text, found.notes)))


def offer_notes(memory: Memory) -> list[NoteLine]:
    """Return the notes for a menu, the pinned and newest first; none if they cannot be read."""
    try:
        headers = memory.list(limit=_MAX_OFFERED).headers
    except PromptuaryError:
        return []
    return [NoteLine(header.id, header.title, _hint(header, memory.visible.clock())) for header in headers]


def in_thread(line: NoteLine, thread: str) -> NoteLine:
    """Return a line of a menu for a note of another thread."""
    return replace(line, hint=f"{line.hint} · in thread {one_line(thread)}")


def _hint(header: NoteHeader, now: str) -> str:
    days = age_in_days(header, now)
    old = (
        "of unknown age"
        if days is None
        else f"{int(days):,} days ago"
        if days >= 2
        else "yesterday"
        if days >= 1
        else "today"
    )
    return " · ".join([header.kind, old, *(["from elsewhere"] if is_external(header) else [])])


def _is_name(value: str) -> bool:
    return value.startswith((ADDRESS, *(f"{audience}/" for audience in AUDIENCES))) or _ID.fullmatch(value) is not None


def _source(note: Note, memory: "TurnMemory") -> Source:
    source = note_source(note, memory.visible.clock())
    if note.header.status == "active":
        return source
    return replace(source, facts=(*source.facts, note.header.status))
