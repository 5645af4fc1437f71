"""Converts notes and their changes to rows of the database, and back. An invalid row raises ``ValueError``."""

import json
from typing import Any, Final

from promptuary.core.notes import NoteChange, NoteHeader, NoteStamp
from promptuary.core.ports.notes import KnownFile
from promptuary.core.principals import Owner
from promptuary.database.columns import from_column, row_checksum, to_column
from promptuary.storage.contents import Packed, unpack
from promptuary.storage.threads.rows import Row
from promptuary.storage.values import to_text

_NONE: Final = "[]"


def of_header(header: NoteHeader, stamp: NoteStamp) -> tuple[Any, ...]:
    """Return the columns of a file and its header, without its owner."""
    texts = (header.id, header.path, header.scope, header.audience, header.kind, header.title, header.rev)
    more = (header.created_at, header.created_by, header.updated_at, header.updated_by, header.source)
    last = (header.source_ref, header.valid_from, header.valid_until, header.supersedes)
    return (
        *stamp,
        *map(to_column, texts),
        to_column(header.status),
        to_column(header.summary),
        to_column(to_text(list(header.tags))),
        *map(to_column, (*more, *last)),
        header.pinned,
        header.confidence,
        to_column(header.trust),
        header.external,
        to_column(header.fingerprint),
        to_column(header.problem),
    )


def to_header(row: Row) -> NoteHeader:
    """Return the header of a row."""
    if bytes in map(type, row):
        row = tuple(from_column(value) if isinstance(value, bytes) else value for value in row)
    note, path, scope, audience, kind, title, rev, status, summary, tags, *more = row
    created_at, created_by, updated_at, updated_by, source, source_ref, valid_from, valid_until, supersedes = more[:9]
    pinned, confidence, trust, external, fingerprint, problem, *owner = more[9:]
    return NoteHeader(
        *(note, path, scope, audience, kind, title, rev),
        *(None if owner[0] is None else Owner(*owner), status, summary),
        () if tags == _NONE else tuple(json.loads(tags)),
        *(created_at, created_by, updated_at, updated_by, source, source_ref, valid_from, valid_until, supersedes),
        *(bool(pinned), confidence, trust, bool(external), fingerprint, problem),
    )


def to_known_file(row: Row) -> KnownFile:
    """Return the file of a row."""
    path, note, rev, size, modified, changed, inode, recorded, trust = row
    stamp = NoteStamp(size, modified, changed, inode)
    return KnownFile(from_column(path), from_column(note), from_column(rev), stamp, bool(recorded), trust)


def of_change(space: int, change: NoteChange, text: Packed | None) -> tuple[Any, ...]:
    """Return the row of ``change``, whose text is stored as ``text``."""
    texts = (change.note, change.kind, change.at, change.actor, change.rev, change.path, change.reason, change.before)
    row = (space, *map(to_column, texts), None if text is None else text.sha256)
    return *row, change.trust, _checksum(row, change.trust)


def to_change(space: int, row: Row) -> NoteChange:
    """Return the change of a row, or raise ``ValueError`` if it differs from what was written."""
    number, note, kind, at, actor, rev, path, reason, before, checksum, text, trust, *content = row
    if checksum != _checksum((space, note, kind, at, actor, rev, path, reason, before, text), trust):
        raise ValueError("a change of a note is not what was written")
    return NoteChange(
        note=from_column(note),
        kind=from_column(kind),  # type: ignore[arg-type]  # what was written was a kind
        at=from_column(at),
        actor=from_column(actor),
        rev=from_column(rev),
        path=from_column(path),
        text=None if content[0] is None else unpack(*content),
        reason=from_column(reason),
        before=from_column(before),
        number=int(number),
        trust=trust,
    )


def _checksum(row: tuple[Any, ...], trust: str | None) -> int:
    """Return the checksum of a change; that of one of an earlier version, which has no trust, is what it was."""
    return row_checksum(*row) if trust is None else row_checksum(*row, trust)


def to_owner(space: int, number: int, checksum: int, *rest: Any) -> tuple[int, Owner]:
    """Return the number of a note's owner and the owner, or raise ``ValueError`` if the checksum does not match."""
    *owner, note = rest
    if checksum != row_checksum(space, note, number):
        raise ValueError("the owner of a note is not who was written")
    return int(number), Owner(*map(from_column, owner))
