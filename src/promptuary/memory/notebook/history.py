"""What was known at a time: lists and searches notes as the journal recorded them then."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from promptuary.base.errors import PromptuaryError
from promptuary.base.principals import NoteScope
from promptuary.memory.note_file import Ownership, as_bytes, normal_time, read_note
from promptuary.memory.secret_texts import without_secrets
from promptuary.memory.values import MemoryResult, Note, NoteChange, NoteFilter, NoteHeader, NoteHit, NoteView, valid_at
from promptuary.search.query import matched, parse
from promptuary.search.values import Why


def moment(text: str) -> str:
    """Return a time in the journal's format, ISO 8601 in UTC; a day means its end. Raises ``PromptuaryError``."""
    found = normal_time(text.strip())
    if not found:
        raise PromptuaryError(f"{text[:40]!r} is not a time: write a day (2026-01-31) or a time (2026-01-31T09:30:00Z)")
    if len(found) > len("2026-01-31"):
        return found
    end = datetime.fromisoformat(found).replace(tzinfo=UTC) + timedelta(days=1, seconds=-1)
    return end.isoformat(timespec="seconds").replace("+00:00", "Z")


def text_before(changes: Sequence[NoteChange]) -> str | None:
    """Return the text that undoing the last change restores; ``None`` if that change created the note.

    An undo is not itself undone: it restored the result of an earlier change, so that change is undone next.
    """
    last = len(changes) - 1
    while last > 0 and changes[last].kind == "undo":
        same = (place for place in reversed(range(last)) if changes[place].text == changes[last].text)
        if (earlier := next(same, None)) is None:
            break
        last = earlier
    return next((change.text for change in reversed(changes[:last]) if change.text is not None), None)


def notes_at(view: NoteView, scope: NoteScope, at: str) -> list[Note]:
    """Return the notes that were active and valid at a time, as they were then, the most recently changed first."""
    found = [
        _note_at(change, scope)
        for change in sorted(view.changed_until(at), key=lambda one: one.at, reverse=True)
        if change.text is not None
    ]
    return [note for note in found if note.header.status == "active" and valid_at(note.header, at)]


def headers_at(view: NoteView, scope: NoteScope, at: str) -> list[NoteHeader]:
    """Return the headers of the same notes. Of one that has not changed since, no text is parsed: most have not."""
    current = {header.id: header for header in view.headers(NoteFilter(statuses=()))}

    def unchanged(change: NoteChange) -> NoteHeader | None:
        now = current.get(change.note)
        is_same = now is not None and now.rev == change.rev and now.path == change.path
        return now if now is not None and is_same and change.trust in (None, now.trust) else None

    changes = view.changed_until(at, lambda change: unchanged(change) is None)
    found = [
        unchanged(change) or _note_at(change, scope).header
        for change in sorted(changes, key=lambda one: one.at, reverse=True)
        if change.text is not None
    ]
    return [header for header in found if header.status == "active" and valid_at(header, at)]


def _note_at(change: NoteChange, scope: NoteScope) -> Note:
    return read_note(as_bytes(change.text or ""), change.path, Ownership(scope, id=change.note, trust=change.trust))


def found_at(notes: Sequence[Note], query: str, limit: int) -> MemoryResult:
    """Return those of ``notes`` that contain words of ``query``, those with the most and rarest words first."""
    words = parse(query)
    hits = [(note, matched(words, f"{note.header.title}\n{' '.join(note.header.tags)}\n{note.body}")) for note in notes]
    having = {word: sum(word in found for _, found in hits) for _, found in hits for word in found}
    weight = {word: math.log(1 + len(notes) / count) for word, count in having.items()}
    scored = [
        NoteHit(
            note.header,
            without_secrets(note.body),
            round(sum(weight[word] for word in found), 4),
            Why(match=partial(tuple, found)),
        )
        for note, found in hits
        if found
    ]
    return MemoryResult(sorted(scored, key=lambda hit: -hit.score)[: max(0, limit)])
