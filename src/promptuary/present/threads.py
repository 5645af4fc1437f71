"""Threads, their turns and what is attached to them, as lines and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import to_builtins

from promptuary.base.messages import Item, Message, as_message
from promptuary.base.text import one_line
from promptuary.context.receipt import receipt_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from promptuary.context.history import HistoryStats
    from promptuary.references.expansion import Measured
    from promptuary.threads.ledger_values import Audit, Pruned
    from promptuary.threads.values import AttachmentList, DriftKind, Replay, Rerun

_DRIFT: Final[Mapping[DriftKind, str]] = {
    "forgotten": "was forgotten",
    "not fetched again": "was not fetched again",
    "not compared": "was not compared",
}


def drift_lines(replay: Replay) -> Iterator[str]:
    """Yield how the sources of a turn have changed since."""
    for drift in replay.drift:
        yield f"since then: {one_line(drift.path)} {_DRIFT.get(drift.kind, f'is {drift.kind}')}"
    yield from (f"since then: {one_line(address)} was forgotten" for address in replay.forgotten)


def message_text(message: Message) -> str:
    """Return what a message says, and the tools that it calls."""
    calls = [f"(calls {call['name']} with {call['arguments']})" for call in message.get("tool_calls", ())]
    return "\n".join([*([message["content"]] if message["content"] else []), *calls])


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


def audit_json(audit: Audit) -> dict[str, Any]:
    """Return the JSON object of the turns that a source influenced."""
    return {"sources": list(audit.sources), "turns": to_builtins(audit.rows), "more": audit.more}


def pruned_json(pruned: Pruned, *, dry_run: bool) -> dict[str, Any]:
    """Return the JSON object of what was removed, or would be."""
    return {**to_builtins(pruned), "done": not dry_run}
