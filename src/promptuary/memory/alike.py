"""Finds notes that deserve a look: those that say the same twice, and those that may contradict each other. Pure.

Words are compared, not meanings, as where a new note is compared with older ones.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from promptuary.memory.values import NoteHeader
from promptuary.memory.writeback.wording import share_most, telling_wording

Pair = tuple[NoteHeader, NoteHeader]


class AlikeNotes(Struct, frozen=True):
    """Two notes: ``newer`` may repeat ``older``, or contradict it."""

    newer: NoteHeader
    older: NoteHeader
    how: Literal["same text", "same subject"]


def find_alike(headers: Sequence[NoteHeader]) -> list[AlikeNotes]:
    """Return the pairs of valid notes with the same text, then those with titles about the same, the newest first.

    A note that another has replaced has an end, so it is compared with no other.
    """
    valid = sorted((header for header in headers if not header.valid_until), key=_last_changed, reverse=True)
    same = list(_same_texts(valid))
    known = set(same)
    others = [pair for pair in _same_subjects(valid) if pair not in known]
    return [
        *(AlikeNotes(newer, older, "same text") for newer, older in same),
        *(AlikeNotes(newer, older, "same subject") for newer, older in others),
    ]


def _last_changed(header: NoteHeader) -> str:
    return header.updated_at or header.created_at


def _same_texts(headers: Sequence[NoteHeader]) -> Iterator[Pair]:
    newest: dict[str, NoteHeader] = {}
    for header in headers:
        if header.fingerprint and (newer := newest.setdefault(header.fingerprint, header)) is not header:
            yield newer, header


def _same_subjects(headers: Sequence[NoteHeader]) -> Iterator[Pair]:
    """Yield the notes whose titles share most of their words."""
    said = [frozenset(telling_wording(header.title).split()) for header in headers]
    uses = Counter(word for words in said for word in words)
    having: dict[str, list[int]] = defaultdict(list)
    for place, words in enumerate(said):
        # Whoever shares half of the words has one of the rarer half: only those are compared.
        rarer = sorted(words, key=lambda word: (uses[word], word))[: len(words) // 2 + 1]
        for other in sorted({other for word in rarer for other in having[word]}):
            if share_most(said[other], words):
                yield headers[other], headers[place]
        for word in rarer:
            having[word].append(place)
