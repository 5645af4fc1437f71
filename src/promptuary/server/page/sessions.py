"""Sessions: what a conversation may see, what has changed since it was pinned, and what its answers rest on."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from promptuary.api.problems import problem_of
from promptuary.base.errors import PromptuaryError
from promptuary.server.page.view import Asked, Page, Redirect, View
from promptuary.sessions.values import Session, SessionReport
from promptuary.threads.ledger_values import AuditRow
from promptuary.threads.records import Totals

_TURNS: Final = 10
"""How many of the newest turns of a session are shown."""
_MAX_ROWS: Final = 300


class SessionPage(Struct, frozen=True):
    """A session, what has changed since it was pinned, the figures of its thread, and what its last turn rests on."""

    report: SessionReport
    totals: Totals
    sources: Sequence[AuditRow] = ()
    turn: int | None = None


async def sessions(asked: Asked) -> View:
    """Show the sessions."""
    return await _sessions(asked, {"memory": "yes"})


async def _sessions(asked: Asked, typed: Mapping[str, str], problem: str = "", status: int = 200) -> View:
    more = {"typed": typed, "problem": problem}
    return View("sessions/list.html", await asked.workspace.sessions.list(), more, status)


async def session(asked: Asked) -> View:
    """Show one session, with the audit of one of its turns: the last, unless another is named."""
    report = await asked.workspace.sessions.show(asked.parts["session"])
    thread = report.session.thread
    totals, recent = await asyncio.gather(
        asked.workspace.threads.totals(thread=thread), asked.workspace.threads.recent(thread=thread, limit=_TURNS)
    )
    named = asked.query.get("turn", "")
    number = asked.number("turn", named) if named else next((turn.number for turn in recent.turns), None)
    sources: Sequence[AuditRow] = ()
    if number is not None:
        sources = (await asked.workspace.threads.sources(thread=thread, number=number))[:_MAX_ROWS]
    return View("sessions/session.html", SessionPage(report, totals, sources, number), {"turns": recent.turns})


async def create(asked: Asked) -> View | Redirect:
    """Create a session for a new thread."""
    name = asked.form.get("name", "").strip()
    if not name:
        return await _sessions(asked, asked.form, "give the session a name", 422)
    roots = [root.strip() for root in asked.form.get("roots", "").splitlines() if root.strip()]
    try:
        made = await asked.workspace.sessions.create(name, roots=roots, memory=asked.form.get("memory") == "yes")
    except PromptuaryError as error:
        problem = problem_of(error)
        return await _sessions(asked, asked.form, asked.hide(problem.detail), problem.status)
    return Redirect(asked.url("/sessions", made.name))


async def archive(asked: Asked) -> Redirect:
    """Archive a session."""
    return _to(asked, await asked.workspace.sessions.archive(asked.parts["session"]))


async def restore(asked: Asked) -> Redirect:
    """Restore an archived session."""
    return _to(asked, await asked.workspace.sessions.restore(asked.parts["session"]))


async def refresh(asked: Asked) -> Redirect:
    """Pin everything as it is now."""
    return _to(asked, (await asked.workspace.sessions.refresh(asked.parts["session"])).session)


def _to(asked: Asked, changed: Session) -> Redirect:
    return Redirect(asked.url("/sessions", changed.name))


PAGES: Final = (
    Page("GET", "/sessions", sessions, nav="Sessions"),
    Page("POST", "/sessions", create, scope="write"),
    Page("GET", "/sessions/{session}", session),
    Page("POST", "/sessions/{session}/archive", archive, scope="write"),
    Page("POST", "/sessions/{session}/restore", restore, scope="write"),
    Page("POST", "/sessions/{session}/refresh", refresh, scope="write"),
)
