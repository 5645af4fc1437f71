"""The JSON shapes of searches and of the index, and the fields of any value."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, assert_never

from msgspec.structs import asdict, replace

from promptuary.base.errors import Code
from promptuary.base.text import counted
from promptuary.references.kinds.search_hits import source_of
from promptuary.references.render import answer_block
from promptuary.search.values import (
    ChunksEmbedded,
    FilesSkipped,
    FilesSynced,
    FilesUnparsed,
    FilesUnpinned,
    FolderHeld,
    Hit,
    IgnoreRulesCut,
    IndexBusy,
    IndexRebuilt,
    IndexStatus,
    IndexUpdate,
    NotReranked,
    SearchedByWordsOnly,
    SearchNote,
    SearchResult,
    SyncReport,
    UpdateFailed,
    WatchModeChanged,
    Why,
    note_text,
)


def search_json(query: str, result: SearchResult, *, explain: bool = False) -> dict[str, Any]:
    """Return the JSON object of the result of a search for ``query``; ``explain`` adds the parts of each score."""
    return {
        "query": query,
        "mode": result.mode,
        "auto_synced": result.auto_synced,
        "partially_embedded": result.partially_embedded,
        "confidence": round(result.confidence, 3),
        "notes": [note_json(note) for note in result.notes],
        "hits": [hit_json(hit, explain=explain) for hit in result.hits],
    }


def why_json(why: Why) -> dict[str, Any]:
    """Return the parts of a score."""
    parts = {
        "lexical": why.lexical,
        "cosine": why.cosine,
        "meaning": why.meaning,
        "length": why.length,
        "foreign": why.foreign,
        "time": why.time,
        "matched": list(why.matched),
    }
    return parts if why.rerank is None else {**parts, "rerank": why.rerank}


def hit_json(hit: Hit, *, explain: bool = False) -> dict[str, Any]:
    """Return the JSON object of a hit."""
    why = why_json(hit.why) if explain else None
    return {
        "place": hit.place,
        "folder": hit.folder,
        "path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "heading": list(hit.heading),
        "kind": hit.kind,
        "date": datetime.fromtimestamp(hit.date, UTC).isoformat(),
        "score": hit.score,
        "text": hit.text,
        "sha256": hit.sha256,
        "copies": list(hit.copies),
        "more": hit.more,
        **({"why": why} if why else {}),
    }


def passages_text(result: SearchResult, notes: Sequence[str], per_file: int) -> str:
    """Return a search result as a model gets it: remarks, whether it seems to answer, passages with their places.

    ``per_file`` is how many passages of a document were asked for.
    """
    said = list(notes)
    if not result.hits:
        said.append("No passage matches; try other words.")
    elif not result.answers:
        said.append("None of these passages seems to answer; they are the nearest.")
    passages = (_passage(hit, per_file) for hit in result.hits)
    return "".join([*(f"{line}\n\n" for line in said), *passages]).rstrip("\n")


def _passage(hit: Hit, per_file: int) -> str:
    above = (" > ".join(hit.heading),) if hit.heading else ()
    more = (f"and {counted(hit.more, 'more passage')}: passages={per_file + hit.more}",) if hit.more else ()
    facts = (*above, *(f"also in {copy}" for copy in hit.copies), *more)
    source = source_of(hit, hit.workspace, "search")
    return answer_block(replace(source, label=hit.place, facts=facts, brief=True))


def note_json(note: SearchNote) -> dict[str, Any]:
    """Return the JSON object of a note: a stable ``code``, a sentence for a person, and what the note is about."""
    text = note_text(note)
    match note:
        case FolderHeld():
            about = {"folder": note.folder, "reason": note.reason, "inside": note.inside}
            return {"code": "FOLDER_HELD", "text": text, **about}
        case FilesSkipped(files):
            return {"code": "FILES_SKIPPED", "text": text, "files": _files_json(files)}
        case FilesUnparsed(paths):
            return {"code": "FILES_UNPARSED", "text": text, "files": list(paths)}
        case IgnoreRulesCut(paths):
            return {"code": "IGNORE_RULES_CUT", "text": text, "files": list(paths)}
        case IndexBusy():
            return {"code": "INDEX_BUSY", "text": text, "here": note.here}
        case IndexRebuilt():
            return {"code": "INDEX_REBUILT", "text": text}
        case SearchedByWordsOnly(reason):
            return {"code": "SEARCHED_BY_WORDS_ONLY", "text": text, "reason": reason}
        case NotReranked(reason):
            return {"code": "NOT_RERANKED", "text": text, "reason": reason}
        case FilesUnpinned(session, paths):
            return {"code": "FILES_UNPINNED", "text": text, "session": session, "files": list(paths)}
        case _:
            assert_never(note)


def status_json(status: IndexStatus) -> dict[str, Any]:
    """Return the JSON object of what is indexed."""
    return {
        "folders": [asdict(folder) for folder in status.folders],
        **asdict(status.counts),
        "embedder": status.embedder,
        "foreign": dict(status.foreign),
    }


def sync_json(report: SyncReport, status: IndexStatus, *, seconds: float) -> dict[str, Any]:
    """Return the JSON object of a sync that took ``seconds``, with the ``status`` after it."""
    return {
        **_counts_json(report),
        "unchanged": report.unchanged(status.counts),
        "skipped": {str(code): count for code, count in sorted(Counter(report.skipped.values()).items())},
        "skipped_files": _files_json(report.skipped),
        "unparsed_files": list(report.unparsed),
        "left_out": report.left_out,
        "cut_ignore_files": list(report.cut_rules),
        "held": [note_json(held) for held in report.held],
        "rebuilt": report.rebuilt,
        **status_json(status),
        "seconds": round(seconds, 3),
    }


def update_json(update: IndexUpdate) -> dict[str, Any]:
    """Return the JSON object of something that a watched index reports; ``event`` names it."""
    match update:
        case WatchModeChanged(mode, reason):
            return {"event": "mode", "mode": mode, "reason": reason}
        case FilesSynced(report):
            return {"event": "synced", **_counts_json(report)}
        case ChunksEmbedded(count, left, seconds):
            return {"event": "embedded", "chunks": count, "left": left, "seconds": round(seconds, 3)}
        case UpdateFailed(reason):
            return {"event": "note", "code": "UPDATE_FAILED", "text": reason}
        case _:
            return {"event": "note", **note_json(update)}


def _counts_json(report: SyncReport) -> dict[str, int]:
    return {
        "added": report.added,
        "changed": report.changed,
        "moved": report.moved,
        "removed": report.removed,
    }


def _files_json(files: Mapping[str, Code]) -> list[dict[str, str]]:
    return [{"path": path, "code": str(code)} for path, code in files.items()]
