"""The JSON shapes of values that leave the process: what ``--json`` prints and what the ledger stores.

Every shape is written here and nowhere else. JSON that an older version stored can still be read.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from promptuary.core.blocks import Detail, Trust
from promptuary.core.expansion import Expansion, Measured, Outcome
from promptuary.core.experiences import (
    Experience,
    ExperienceHit,
    ExperienceList,
    ExperienceResult,
    PruneReport,
    strength,
)
from promptuary.core.json.index import fields_json, note_json, why_json
from promptuary.core.ledger import Audit, AuditRow, KeptReport, Pruned
from promptuary.core.messages import Item, Message, as_message, as_recorded
from promptuary.core.notes import (
    Examination,
    ForgetReport,
    ImportReport,
    MemoryResult,
    Note,
    NoteChange,
    NoteHeader,
    NoteList,
)
from promptuary.core.ports.models import ModelInfo
from promptuary.core.ports.threads import ThreadInfo, Totals, TurnRecord
from promptuary.core.ports.writeback import Proposal
from promptuary.core.receipts import Failure, HookRun, Receipt, ReceiptEntry
from promptuary.core.references import Completion
from promptuary.core.render import external_text
from promptuary.core.threads import AttachmentList, HistoryStats, ImportedThread, Replay, Rerun

if TYPE_CHECKING:
    from promptuary.core.runs import CallEnded, RunResult
    from promptuary.core.sessions import Session, SessionReport


def expansion_json(expansion: Expansion) -> dict[str, Any]:
    """Return what ``expand --json`` prints."""
    return {
        "text": expansion.text,
        "messages": list(map(as_recorded, expansion.messages)),
        "references": [_outcome(one) for one in expansion.outcomes],
        "slips": [fields_json(one) for one in expansion.slips],
        "tokens": fields_json(expansion.spend),
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
        "items": [fields_json(item) for item in completion.items],
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
        "entries": [fields_json(entry) for entry in receipt.entries],
        "hooks": [fields_json(run) for run in receipt.hooks],
        "failures": [fields_json(failure) for failure in receipt.failures],
        "warnings": list(receipt.warnings),
        "blocked": receipt.blocked,
    }


def threads_json(threads: Sequence[ThreadInfo]) -> list[dict[str, Any]]:
    """Return the JSON array of ``threads``."""
    return [fields_json(thread) for thread in threads]


def listed_json(name: str, values: Sequence[object]) -> dict[str, Any]:
    """Return the JSON object of a list: every answer is an object, so that it may get more fields."""
    return {name: list(values)}


def totals_json(totals: Totals) -> dict[str, Any]:
    """Return the JSON object of the figures of a thread."""
    return fields_json(totals)


def audit_json(audit: Audit) -> dict[str, Any]:
    """Return the JSON object of the turns that a source influenced."""
    return {"sources": list(audit.sources), "turns": audit_rows_json(audit.rows), "more": audit.more}


def audit_rows_json(rows: Sequence[AuditRow]) -> list[dict[str, Any]]:
    """Return the JSON array of the sources of a turn."""
    return [fields_json(row) for row in rows]


def pruned_json(pruned: Pruned, *, dry_run: bool) -> dict[str, Any]:
    """Return the JSON object of what was removed, or would be."""
    return {**fields_json(pruned), "done": not dry_run}


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
    called = [fields_json(one.call) | {"result": one.result, "is_error": one.is_error} for one in calls]
    answer = {"answer": result.said, "stop": result.stop, "requests": result.requests, "calls": called}
    took = {
        "tokens": fields_json(result.tokens),
        "usage": fields_json(result.usage) if result.usage.is_known else None,
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


def abandoned_json(thread: str, number: int) -> dict[str, Any]:
    """Return what ``abandon --json`` prints."""
    return {"thread": thread, "turn": number, "status": "abandoned"}


def renamed_json(before: str, thread: str) -> dict[str, Any]:
    """Return what ``thread rename --json`` prints."""
    return {"thread": thread, "before": before}


def imported_json(imported: ImportedThread) -> dict[str, Any]:
    """Return what ``thread import --json`` prints."""
    return fields_json(imported)


def messages_json(thread: str, messages: Sequence[Message]) -> dict[str, Any]:
    """Return a conversation from elsewhere in the format in which a thread is imported."""
    items = [{"id": str(number), **message} for number, message in enumerate(messages)]
    return {"format": "promptuary-thread", "version": 1, "thread": thread, "items": items}


def tool_failure_json(error: Exception) -> dict[str, Any]:
    """Return what a model gets as the result of a tool that failed."""
    return {"error": str(error)}


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
        "drift": [fields_json(one) for one in replay.drift],
        "forgotten": list(replay.forgotten),
    }


def rerun_json(rerun: Rerun) -> dict[str, Any]:
    """Return the JSON object of a past turn that was run again."""
    return {
        "turn": rerun.turn.number,
        "messages": list(rerun.messages),
        "receipt": receipt_json(rerun.receipt) if rerun.receipt else None,
        "differences": [
            {
                "layer": one.layer,
                "label": one.label,
                "before": fields_json(one.before) if one.before else None,
                "after": fields_json(one.after) if one.after else None,
            }
            for one in rerun.differences
        ],
        "answer": rerun.answer,
        "drift": [fields_json(one) for one in rerun.drift],
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
        "tracked": [fields_json(file) for file in attached.tracked],
        "queued": list(attached.queued),
        **counted,
        "history": fields_json(stats),
    }


def receipt_from_json(value: Mapping[str, Any]) -> Receipt:
    """Return the receipt whose JSON object is ``value``, made by this or an earlier version."""
    return Receipt(
        turn=value["turn"],
        thread=value["thread"],
        window=value["window"],
        reserve=value["reserve"],
        tokens=value["tokens"],
        entries=[_entry(entry) for entry in value["entries"]],
        hooks=[HookRun(**run) for run in value["hooks"]],
        failures=[Failure(**failure) for failure in value["failures"]],
        warnings=list(value["warnings"]),
        blocked=value["blocked"],
    )


def note_header_json(header: NoteHeader) -> dict[str, Any]:
    """Return the JSON object of the header of a note: everything but its text."""
    owner = header.owner
    whose = None if owner is None else {"kind": owner.kind, "name": owner.name, "agent": owner.agent}
    left_out = {"fingerprint", "owner"}
    plain = {name: value for name, value in fields_json(header).items() if name not in left_out}
    return {**plain, "tags": list(header.tags), "owner": whose}


def memory_note_json(note: Note) -> dict[str, Any]:
    """Return the JSON object of a note of durable memory."""
    hint = {"hint": note.hint} if note.hint else {}
    return {**note_header_json(note.header), "body": note.body, "text": note.text, **hint}


def learning_json(learnt: int, waiting: int) -> dict[str, Any]:
    """Return what ``memory learn --json`` prints: from how many turns it learnt, and how many still wait."""
    return {"learnt": learnt, "waiting": waiting}


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


def note_change_json(change: NoteChange) -> dict[str, Any]:
    """Return the JSON object of an entry of a note's history."""
    return fields_json(change)


def proposals_json(proposals: Sequence[Proposal], unconfirmed: Sequence[NoteHeader]) -> dict[str, Any]:
    """Return what ``memory proposals --json`` prints; ``unconfirmed`` are the notes of agents."""
    return {
        "proposals": [proposal_json(one) for one in proposals],
        "unconfirmed": [note_header_json(one) for one in unconfirmed],
    }


def note_diff_json(note: str, patch: str) -> dict[str, Any]:
    """Return what ``memory diff --json`` prints."""
    return {"note": note, "patch": patch}


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


def forget_json(report: ForgetReport) -> dict[str, Any]:
    """Return what ``memory forget --json`` prints for one note."""
    return {**fields_json(report), "places": [fields_json(place) for place in report.places]}


def experience_json(one: Experience, now: str) -> dict[str, Any]:
    """Return the JSON object of an experience with its strength at a time."""
    left_out = {"fingerprint", "topic"}
    plain = {name: value for name, value in fields_json(one).items() if name not in left_out}
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


def experiences_changed_json(changed: int, half_life_days: float) -> dict[str, Any]:
    """Return what ``experience decay --json`` prints."""
    return {"changed": changed, "half_life_days": half_life_days}


def prune_json(report: PruneReport, now: str) -> dict[str, Any]:
    """Return what ``experience prune --json`` prints."""
    weak = [experience_json(one, now) for one in report.experiences]
    return {"min_weight": report.min_weight, "done": report.done, "experiences": weak}


def proposal_json(proposal: Proposal) -> dict[str, Any]:
    """Return the JSON object of a proposal: what it would do, and why."""
    plain = {name: value for name, value in fields_json(proposal).items() if name not in {"draft", "fingerprint"}}
    return {**plain, "note": {name: value for name, value in fields_json(proposal.draft).items() if value is not None}}


def model_json(model: ModelInfo) -> dict[str, Any]:
    """Return the JSON object of a model, with its files if they were asked for."""
    return {**asdict(model), "files": [file._asdict() for file in model.files]}


def session_json(session: "Session") -> dict[str, Any]:
    """Return the JSON object of a session."""
    counts = {name: getattr(session, f"{name}_pinned") for name in ("files", "notes", "experiences")}
    left_out = {"roots", *(f"{name}_pinned" for name in counts)}
    plain = {name: value for name, value in fields_json(session).items() if name not in left_out}
    return {**plain, "roots": list(session.roots), "counts": counts}


def sessions_json(sessions: "Sequence[tuple[Session, Totals]]") -> list[dict[str, Any]]:
    """Return what ``session list --json`` prints: each session with the figures of its thread."""
    return [{**session_json(session), "totals": totals_json(totals)} for session, totals in sessions]


def session_report_json(
    report: "SessionReport", totals: Totals | None = None, window: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the JSON object of a session with what has changed since it was pinned.

    ``totals`` are the figures of its thread and ``window`` is that of its last turn; both are optional.
    """
    since = {"files": report.files, "notes": report.notes, "experiences": report.experiences}
    changes = {name: {kind: list(value) for kind, value in fields_json(one).items()} for name, one in since.items()}
    used = {} if totals is None else {"totals": totals_json(totals), "window": window}
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
        "findings": [fields_json(one) for one in examination.findings],
        "threads": [fields_json(one) for one in examination.threads],
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
    files = [fields_json(one) for one in report.files]
    return {"files": files, "bytes": report.bytes, "done": report.done, "notes": list(report.notes)}


def _error_json(error: str) -> dict[str, str]:
    return {"error": error} if error else {}


def _entry(stored: Mapping[str, Any]) -> ReceiptEntry:
    fields = dict(stored)
    if "fate" in fields:  # what earlier versions called the status
        fields["status"] = fields.pop("fate")
    fields["detail"] = Detail(fields["detail"]) if fields["detail"] else None
    fields["trust"] = Trust(fields["trust"]) if fields.get("trust") else None
    fields["lines"] = (fields["lines"][0], fields["lines"][1]) if fields.get("lines") else None
    return ReceiptEntry(**fields)
