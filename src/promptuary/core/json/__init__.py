"""The JSON shapes of values that leave the process: what ``--json`` prints and what the ledger stores.

Most values write themselves (``to_builtins``): here are the shapes that differ from the fields of a value.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import convert, to_builtins

from promptuary.core.expansion import Expansion, Measured, Outcome
from promptuary.core.experiences import (
    Experience,
    ExperienceHit,
    ExperienceList,
    ExperienceResult,
    PruneReport,
    strength,
)
from promptuary.core.json.index import note_json, why_json
from promptuary.core.ledger import Audit, KeptReport, Pruned
from promptuary.core.messages import Item, Message, as_message, as_recorded
from promptuary.core.notes import (
    Examination,
    ImportReport,
    MemoryResult,
    Note,
    NoteHeader,
    NoteList,
)
from promptuary.core.ports.models import ModelInfo
from promptuary.core.ports.threads import Totals, TurnRecord
from promptuary.core.receipts import Receipt
from promptuary.core.references import Completion
from promptuary.core.render import external_text
from promptuary.core.threads import AttachmentList, HistoryStats, Replay, Rerun
from promptuary.core.writeback import Proposal

if TYPE_CHECKING:
    from promptuary.core.runs import CallEnded, RunResult
    from promptuary.core.sessions import Session, SessionReport


def expansion_json(expansion: Expansion) -> dict[str, Any]:
    """Return what ``expand --json`` prints."""
    return {
        "text": expansion.text,
        "messages": list(map(as_recorded, expansion.messages)),
        "references": [_outcome(one) for one in expansion.outcomes],
        "slips": to_builtins(expansion.slips),
        "tokens": to_builtins(expansion.spend),
        "warnings": list(expansion.warnings),
        "blocked": expansion.blocked,
    }


def turn_json(expansion: Expansion, messages: Sequence[Message], receipt: Receipt) -> dict[str, Any]:
    """Return what ``expand --thread --json`` prints: an expansion with the messages of the whole prompt."""
    return expansion_json(expansion) | {"messages": list(map(as_recorded, messages)), "receipt": receipt_json(receipt)}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "raw": outcome.reference.raw,
        "kind": outcome.reference.kind,
        "target": outcome.target,
        "start": outcome.reference.start,
        "end": outcome.reference.end,
        "lines": list(outcome.lines) if outcome.lines else None,
        "status": outcome.status,
        "code": outcome.code,
        "reason": outcome.reason,
        "detail": outcome.detail,
        "tokens": outcome.tokens,
        "sha256": outcome.sha256,
    }


def completion_json(completion: Completion) -> dict[str, Any]:
    """Return what ``complete --json`` prints."""
    return {
        "start": completion.start,
        "prefix": completion.prefix,
        "items": to_builtins(completion.items),
        "scanning": completion.scanning,
    }


def settings_json(workspace: str, settings: Mapping[str, tuple[object, str]], notes: Sequence[str]) -> dict[str, Any]:
    """Return what ``config --json`` prints. ``settings`` has the value and the origin of each setting."""
    return {
        "workspace": workspace,
        "settings": {name: {"value": value, "origin": origin} for name, (value, origin) in settings.items()},
        "notes": list(notes),
    }


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """Return the JSON object of ``receipt``."""
    return {
        "turn": receipt.turn,
        "thread": receipt.thread or None,
        "window": receipt.window,
        "reserve": receipt.reserve,
        "tokens": receipt.tokens,
        "entries": to_builtins(receipt.entries),
        "hooks": to_builtins(receipt.hooks),
        "failures": to_builtins(receipt.failures),
        "warnings": list(receipt.warnings),
        "blocked": receipt.blocked,
    }


def audit_json(audit: Audit) -> dict[str, Any]:
    """Return the JSON object of the turns that a source influenced."""
    return {"sources": list(audit.sources), "turns": to_builtins(audit.rows), "more": audit.more}


def pruned_json(pruned: Pruned, *, dry_run: bool) -> dict[str, Any]:
    """Return the JSON object of what was removed, or would be."""
    return {**to_builtins(pruned), "done": not dry_run}


def reply_json(
    number: int, receipt: Receipt, proposed: Sequence[Proposal], learnt: Sequence[Experience]
) -> dict[str, Any]:
    """Return what ``reply --json`` prints: the finished turn, its receipt, and what was learnt from it."""
    return {
        "thread": receipt.thread,
        "turn": number,
        "status": "finished",
        "receipt": receipt_json(receipt),
        "proposals": [proposal_json(one) for one in proposed],
        "experiences": [experience_json(one, one.last_used_at) for one in learnt],
    }


def run_json(result: "RunResult", calls: "Sequence[CallEnded]") -> dict[str, Any]:
    """Return what ``ask --json`` prints: the answer, its tool calls, and its cost."""
    called = [to_builtins(one.call) | {"result": one.result, "is_error": one.is_error} for one in calls]
    answer = {"answer": result.said, "stop": result.stop, "requests": result.requests, "calls": called}
    took = {
        "tokens": to_builtins(result.tokens),
        "usage": to_builtins(result.usage) if result.usage.is_known else None,
        "cost": result.cost,
    }
    turn = {"thread": result.turn.thread or None, "turn": result.turn.number, "receipt": receipt_json(result.receipt)}
    return answer | took | turn


def run_failure_json(error: str, result: "RunResult | None", calls: "Sequence[CallEnded]") -> dict[str, Any]:
    """Return what ``ask --json`` prints if there is no complete answer: why, and what had arrived of it."""
    return {"error": error} if result is None else {"error": error} | run_json(result, calls)


def unsent_json(error: str, expansion: Expansion, messages: Sequence[Message], receipt: Receipt) -> dict[str, Any]:
    """Return what ``ask --json`` prints if no model is configured: why, and what would be sent."""
    return {"error": error} | turn_json(expansion, messages, receipt)


def history_json(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return the JSON array of a history."""
    return [{"id": item.id, "kind": item.kind, "pinned": item.pinned, **as_message(item)} for item in items]


def replay_json(replay: Replay, *, prompt: bool) -> dict[str, Any]:
    """Return the JSON object of a past turn, with its ``prompt`` or else with its receipt."""
    turn = replay.turn
    shown = {"messages": list(turn.messages)} if prompt else {"receipt": receipt_json(turn.receipt)}
    return {
        "turn": turn.number,
        "status": turn.status,
        "created": turn.created,
        "user": turn.user,
        "text": turn.text,
        **shown,
        "drift": to_builtins(replay.drift),
        "forgotten": list(replay.forgotten),
    }


def rerun_json(rerun: Rerun) -> dict[str, Any]:
    """Return the JSON object of a past turn that was run again."""
    return {
        "turn": rerun.turn.number,
        "messages": list(rerun.messages),
        "receipt": receipt_json(rerun.receipt) if rerun.receipt else None,
        "differences": to_builtins(rerun.differences),
        "answer": rerun.answer,
        "drift": to_builtins(rerun.drift),
        "forgotten": list(rerun.turn.forgotten),
    }


def attachments_json(
    thread: str, attached: AttachmentList, stats: HistoryStats, waiting: Measured | None = None
) -> dict[str, Any]:
    """Return the JSON object of what is attached to ``thread``, with its history in figures.

    ``waiting`` has the cost of each attachment that is sent with the next message.
    """
    counted = {} if waiting is None else {"waiting": dict(waiting.waiting)}
    return {
        "thread": thread,
        "tracked": to_builtins(attached.tracked),
        "queued": list(attached.queued),
        **counted,
        "history": to_builtins(stats),
    }


def receipt_from_json(value: Mapping[str, Any]) -> Receipt:
    """Return the receipt whose JSON object is ``value``."""
    return convert({**value, "thread": value["thread"] or ""}, Receipt)


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


def proposals_json(proposals: Sequence[Proposal], unconfirmed: Sequence[NoteHeader]) -> dict[str, Any]:
    """Return what ``memory proposals --json`` prints; ``unconfirmed`` are the notes of agents."""
    return {
        "proposals": [proposal_json(one) for one in proposals],
        "unconfirmed": [note_header_json(one) for one in unconfirmed],
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


def experience_json(one: Experience, now: str) -> dict[str, Any]:
    """Return the JSON object of an experience with its strength at a time."""
    left_out = {"fingerprint", "topic"}
    plain = {name: value for name, value in to_builtins(one).items() if name not in left_out}
    return {**plain, "tags": list(one.tags), "strength": strength(one, now)}


def experience_list_json(listed: ExperienceList, now: str) -> dict[str, Any]:
    """Return what ``experience list --json`` prints."""
    return {"total": listed.total, "experiences": [experience_json(one, now) for one in listed.experiences]}


def experience_search_json(query: str, result: ExperienceResult, *, explain: bool = False) -> dict[str, Any]:
    """Return what ``experience find --json`` prints; ``explain`` adds the parts of each score."""

    def hit_object(hit: ExperienceHit) -> dict[str, Any]:
        known = experience_json(hit.experience, hit.experience.last_used_at)
        why = {**why_json(hit.why), "strength": hit.strength, "success": hit.experience.success_score}
        shared = {"prior": hit.prior, "shared_tags": list(hit.shared_tags)}
        return {"score": hit.score, **known, "strength": hit.strength} | ({"why": why | shared} if explain else {})

    return {
        "query": query,
        "mode": result.mode,
        "confidence": round(result.confidence, 3),
        "notes": [note_json(note) for note in result.notes],
        "hits": list(map(hit_object, result.hits)),
    }


def experience_answer_json(result: ExperienceResult) -> dict[str, Any]:
    """Return the experiences that were found as a model gets them: what was done, and how it went.

    Text from elsewhere stands inside a boundary that it cannot forge.
    """

    def told(one: Experience) -> dict[str, Any]:
        words = {"intent": one.intent, "problem": one.problem, "solution": one.solution}
        said = {name: value for name, value in words.items() if value}
        if one.trust == "external":
            said = {"text": external_text(one.id, json.dumps(said, ensure_ascii=False))}
        known = {"id": one.id, "type": one.type, "outcome": one.outcome, "trust": one.trust, "tags": list(one.tags)}
        return {**known, **said, "used": one.use_count, "last_used_at": one.last_used_at}

    return {"notes": [note_json(note) for note in result.notes], "hits": [told(hit.experience) for hit in result.hits]}


def prune_json(report: PruneReport, now: str) -> dict[str, Any]:
    """Return what ``experience prune --json`` prints."""
    weak = [experience_json(one, now) for one in report.experiences]
    return {"min_weight": report.min_weight, "done": report.done, "experiences": weak}


def proposal_json(proposal: Proposal) -> dict[str, Any]:
    """Return the JSON object of a proposal: what it would do, and why."""
    plain = {name: value for name, value in to_builtins(proposal).items() if name not in {"draft", "fingerprint"}}
    return {**plain, "note": {name: value for name, value in to_builtins(proposal.draft).items() if value is not None}}


def model_json(model: ModelInfo) -> dict[str, Any]:
    """Return the JSON object of a model, with its files if they were asked for."""
    return {**to_builtins(model), "files": [file._asdict() for file in model.files]}


def session_json(session: "Session") -> dict[str, Any]:
    """Return the JSON object of a session."""
    counts = {name: getattr(session, f"{name}_pinned") for name in ("files", "notes", "experiences")}
    left_out = {"roots", *(f"{name}_pinned" for name in counts)}
    plain = {name: value for name, value in to_builtins(session).items() if name not in left_out}
    return {**plain, "roots": list(session.roots), "counts": counts}


def sessions_json(sessions: "Sequence[tuple[Session, Totals]]") -> list[dict[str, Any]]:
    """Return what ``session list --json`` prints: each session with the figures of its thread."""
    return [{**session_json(session), "totals": to_builtins(totals)} for session, totals in sessions]


def session_report_json(
    report: "SessionReport", totals: Totals | None = None, window: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the JSON object of a session with what has changed since it was pinned.

    ``totals`` are the figures of its thread and ``window`` is that of its last turn; both are optional.
    """
    since = {"files": report.files, "notes": report.notes, "experiences": report.experiences}
    changes = {name: {kind: list(value) for kind, value in to_builtins(one).items()} for name, one in since.items()}
    used = {} if totals is None else {"totals": to_builtins(totals), "window": window}
    return {"session": session_json(report.session), "current": report.is_current, "since": changes, **used}


def session_window_json(turn: TurnRecord | None) -> dict[str, Any] | None:
    """Return the JSON object of the window of a turn: how many tokens each layer has of it."""
    if turn is None:
        return None
    receipt = turn.receipt
    return {"turn": turn.number, "window": receipt.window, "tokens": receipt.tokens, "layers": receipt.by_layer()}


def examination_json(examination: Examination) -> dict[str, Any]:
    """Return what ``doctor --json`` prints."""
    return {
        "counts": dict(examination.counts),
        "findings": to_builtins(examination.findings),
        "threads": to_builtins(examination.threads),
        "well": examination.is_well,
    }


def install_json(
    agent: str, changes: Sequence[tuple[str, str]], left: Sequence[str], *, written: bool, error: str = ""
) -> dict[str, Any]:
    """Return what ``install --json`` prints: each file with its patch, whether it was written, why not, what stays."""
    files = [{"path": path, "diff": diff} for path, diff in changes]
    return {"agent": agent, "written": written, "files": files, "left": list(left)} | _error_json(error)


def undone_json(
    agent: str, done: Sequence[tuple[str, str, str, str]], *, undone: bool, error: str = ""
) -> dict[str, Any]:
    """Return what ``install --undo --json`` prints: what becomes of each file, its change, and why something stays."""
    files = [{"path": path, "done": how, "reason": why, "diff": diff} for path, how, why, diff in done]
    return {"agent": agent, "undone": undone, "files": files} | _error_json(error)


def kept_json(report: KeptReport) -> dict[str, Any]:
    """Return what ``backup --json``, ``restore --json`` and ``purge --json`` print."""
    return {"files": to_builtins(report.files), "bytes": report.bytes, "done": report.done, "notes": list(report.notes)}


def _error_json(error: str) -> dict[str, str]:
    return {"error": error} if error else {}
