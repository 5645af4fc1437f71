"""The JSON of notes and proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from promptuary.present.search import note_json, why_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptuary.memory.values import ImportReport, MemoryResult, Note, NoteHeader, NoteList
    from promptuary.memory.writeback.values import Proposal


def note_header_json(header: NoteHeader) -> dict[str, Any]:
    """Return the JSON object of the header of a note: everything but its text."""
    owner = header.owner
    whose = None if owner is None else {"kind": owner.kind, "name": owner.name, "agent": owner.agent}
    left_out = {"fingerprint", "owner"}
    plain = {name: value for name, value in to_builtins(header).items() if name not in left_out}
    return {**plain, "tags": list(header.tags), "owner": whose}


def memory_note_json(note: Note) -> dict[str, Any]:
    """Return the JSON object of a note of durable memory."""
    hint = {"hint": note.hint} if note.hint else {}
    return {**note_header_json(note.header), "body": note.body, "text": note.text, **hint}


def memory_list_json(listed: NoteList) -> dict[str, Any]:
    """Return what ``memory list --json`` prints."""
    headers = [note_header_json(header) for header in listed.headers]
    return {"total": listed.total, "complete": listed.complete, "notes": headers}


def memory_search_json(query: str, result: MemoryResult, *, explain: bool = False) -> dict[str, Any]:
    """Return what ``memory search --json`` prints; ``explain`` adds the parts of each score."""
    return {
        "query": query,
        "mode": result.mode,
        "confidence": round(result.confidence, 3),
        "notes": [note_json(note) for note in result.notes],
        "hits": [
            {"score": hit.score, "excerpt": hit.text, **note_header_json(hit.header)}
            | ({"why": why_json(hit.why)} if explain else {})
            for hit in result.hits
        ],
    }


def proposal_json(proposal: Proposal) -> dict[str, Any]:
    """Return the JSON object of a proposal: what it would do, and why."""
    plain = {name: value for name, value in to_builtins(proposal).items() if name not in {"draft", "fingerprint"}}
    return {**plain, "note": {name: value for name, value in to_builtins(proposal.draft).items() if value is not None}}


def proposals_json(proposals: Sequence[Proposal], unconfirmed: Sequence[NoteHeader]) -> dict[str, Any]:
    """Return what ``memory proposals --json`` prints; ``unconfirmed`` are the notes of agents."""
    return {
        "proposals": [proposal_json(proposal) for proposal in proposals],
        "unconfirmed": [note_header_json(header) for header in unconfirmed],
    }


def note_conflict_json(message: str, current: Note | None) -> dict[str, Any]:
    """Return what a command prints with ``--json`` if a note was changed in the meantime."""
    return {"conflict": message, "current": None if current is None else memory_note_json(current)}


def import_json(report: ImportReport, *, dry_run: bool) -> dict[str, Any]:
    """Return what ``memory import --json`` prints."""
    return {
        "form": report.form,
        "dry_run": dry_run,
        "imported": [note_header_json(header) for header in report.imported],
        "known": report.known,
        "skipped": dict(report.skipped or {}),
    }
