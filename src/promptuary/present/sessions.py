"""The JSON of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptuary.sessions.values import Session, SessionReport
    from promptuary.threads.records import Totals, TurnRecord


def session_json(session: Session) -> dict[str, Any]:
    """Return the JSON object of a session."""
    counts = {name: getattr(session, f"{name}_pinned") for name in ("files", "notes", "experiences")}
    left_out = {"roots", *(f"{name}_pinned" for name in counts)}
    plain = {name: value for name, value in to_builtins(session).items() if name not in left_out}
    return {**plain, "roots": list(session.roots), "counts": counts}


def sessions_json(sessions: Sequence[tuple[Session, Totals]]) -> list[dict[str, Any]]:
    """Return what ``thread limits --json`` prints: each session with the figures of its thread."""
    return [{**session_json(session), "totals": to_builtins(totals)} for session, totals in sessions]


def session_report_json(
    report: SessionReport, totals: Totals | None = None, window: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the JSON object of a session with what has changed since it was pinned.

    ``totals`` are the figures of its thread and ``window`` is that of its last turn; both are optional.
    """
    since = {"files": report.files, "notes": report.notes, "experiences": report.experiences}
    changes = {name: {kind: list(value) for kind, value in to_builtins(drift).items()} for name, drift in since.items()}
    used = {} if totals is None else {"totals": to_builtins(totals), "window": window}
    return {"session": session_json(report.session), "current": report.is_current, "since": changes, **used}


def session_window_json(turn: TurnRecord | None) -> dict[str, Any] | None:
    """Return the JSON object of the window of a turn: how many tokens each layer has of it."""
    if turn is None:
        return None
    receipt = turn.receipt
    return {"turn": turn.number, "window": receipt.window, "tokens": receipt.tokens, "layers": receipt.by_layer()}
