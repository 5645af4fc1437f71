"""Decides the owner and the trust of a file on disk, given what the journal knows. Pure.

The front matter of a file is only a claim: the journal says who owns a note and whose words it holds. A file that the
journal does not know is unadopted, unless it can only be the person's own: it appeared after the journal, git does not
track it, and nobody else writes here.
"""

from collections.abc import Callable, Collection
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.principals import NoteScope, Owner
from promptuary.memory.note_file import (
    Ownership,
    as_text,
    claimed_id,
    claimed_owner,
    id_of_path,
    owner_label,
    read_note,
    rev_of,
)
from promptuary.memory.values import KnownFile, Note, NoteTrust

SAME_ID: Final = "another note has its id"

Verdict = Literal["same", "edited", "moved", "taken_over", "external", "unadopted"]
"""The result for a file: unchanged, changed by hand, moved by hand, new and the person's own, new or changed by others
and visible as external text, or new and not visible."""


class SeenFile(Struct, frozen=True):
    """A file that is new or differs from its last record. ``known`` is the record at its path."""

    path: str
    data: bytes
    known: KnownFile | None


class FileFacts(Struct, frozen=True):
    """The facts about one file that the decision needs. Each may be expensive, so each is computed on demand.

    ``last_rev`` returns the last recorded revision of an id. ``elsewhere`` returns the known file with an id, and
    whether it still exists. ``forgotten``: the note with this id was forgotten. ``tracked``: git tracks this file, so a
    pull may have changed it. ``brought``: it was here before the journal. ``own``: it belongs to the local user.
    ``alone``: the local user is the only principal that ever wrote here. ``trust_of`` returns whose words a revision of
    a note holds, or the last recorded one if that one is not recorded.
    """

    owner_of: Callable[[str], Owner | None]
    is_recorded: Callable[[str, str], bool]
    last_rev: Callable[[str], str]
    trust_of: Callable[[str, str], NoteTrust | None]
    elsewhere: Callable[[str], tuple[KnownFile, bool] | None]
    forgotten: Callable[[str], bool]
    tracked: Callable[[str], bool]
    brought: Callable[[str], bool]
    own: Callable[[str], bool]
    alone: Callable[[], bool]


class Ruling(Struct, frozen=True):
    """The decision about a file: the note, and what happened to it. ``before`` is the last known revision."""

    verdict: Verdict
    note: Note
    before: str = ""


def judge(seen: SeenFile, scope: NoteScope, owner: Owner, facts: FileFacts, *, taken: Collection[str] = ()) -> Ruling:
    """Decide what a file is for the principal ``owner``; ``taken`` are the ids of other files in the same scan."""
    if seen.known is not None and facts.owner_of(seen.known.note) is not None:
        return _judge_change(seen, scope, seen.known, facts)
    claimed = claimed_id(seen.data, seen.path)
    home, holder = facts.elsewhere(claimed), facts.owner_of(claimed)
    is_free = (home is None or not home[1]) and claimed not in taken
    if holder is not None and is_free and not facts.forgotten(claimed) and not facts.brought(seen.path):
        standing = Ownership(scope, holder, id=claimed, trust=facts.trust_of(claimed, rev_of(seen.data)))
        return _judge_move(seen, standing, home[0].rev if home else "", facts)
    is_double = holder is not None or claimed in taken or (home is not None and home[0].path != seen.path)
    note = read_note(seen.data, seen.path, Ownership(scope, id=id_of_path(seen.path) if is_double else None))
    if is_double:
        note = replace(note, header=replace(note.header, problem=note.header.problem or SAME_ID))
    elif _is_own(seen, owner, facts):
        return Ruling("taken_over", _with_owner(note, owner))
    if note.header.audience == "private":
        return Ruling("unadopted", note)
    return Ruling("external", replace(note, header=replace(note.header, external=True, trust="external")))


def _judge_change(seen: SeenFile, scope: NoteScope, known: KnownFile, facts: FileFacts) -> Ruling:
    """Decide what happened to a known note: nothing, an edit by hand, or a pull."""
    # Who edited the file is unknown, perhaps an agent: its words stay whose they were.
    rev = rev_of(seen.data)
    trust = facts.trust_of(known.note, rev) if facts.is_recorded(known.note, rev) else known.trust
    standing = Ownership(scope, facts.owner_of(known.note), id=known.note, trust=trust)
    note = read_note(seen.data, seen.path, standing)
    if note.header.rev == (known.rev if known.recorded else facts.last_rev(known.note)):
        return Ruling("same", note, known.rev)
    # Returning to an earlier text is a change, too, whether a person restored it or an undo was killed before it was
    # recorded: the history must end with the current file.
    if not facts.is_recorded(known.note, note.header.rev) and facts.tracked(seen.path):
        return Ruling("external", read_note(seen.data, seen.path, replace(standing, external=True)), known.rev)
    return Ruling("edited", note, known.rev)


def _judge_move(seen: SeenFile, standing: Ownership, before: str, facts: FileFacts) -> Ruling:
    """Decide what a file is whose note was at another path before, or was deleted."""
    note = read_note(seen.data, seen.path, standing)
    if not facts.is_recorded(note.header.id, note.header.rev) and facts.tracked(seen.path):
        return Ruling("external", read_note(seen.data, seen.path, replace(standing, external=True)), before)
    return Ruling("moved", note, before)


def _is_own(seen: SeenFile, owner: Owner, facts: FileFacts) -> bool:
    """Return whether an unrecorded file can only be the person's own."""
    claimed = claimed_owner(as_text(seen.data))
    if claimed and claimed != owner_label(owner):
        return False
    return facts.alone() and facts.own(seen.path) and not facts.brought(seen.path) and not facts.tracked(seen.path)


def _with_owner(note: Note, owner: Owner) -> Note:
    return replace(note, header=replace(note.header, owner=owner))
