"""The functions of the tools that the server offers. ``tools.py`` describes them.

A mistake of the model gets an answer that says what to do. What belongs to others is answered as if it did not exist.
"""

import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

from promptuary.base.clock import now_in_seconds
from promptuary.base.errors import PromptuaryError
from promptuary.base.text import counted, one_line
from promptuary.engine import Promptuary
from promptuary.mcp.description import OFFERED
from promptuary.mcp.folders import is_wide
from promptuary.memory.tool_texts import answer_text, list_text
from promptuary.memory.values import NoteSelection, plain_arguments
from promptuary.models.json_answers import wrong_arguments
from promptuary.present.experiences import experiences_text
from promptuary.present.search import passages_text
from promptuary.references.expansion import Expansion
from promptuary.search.values import Filters, SearchQuery, note_text
from promptuary.tools import LIST_NOTES, SEARCH_FILES, SEARCH_NOTES, WRITE_NOTE

_MAX_TEXT: Final = 200_000
_MAX_NAME: Final = 1_000
_MAX_FILES: Final = 50_000
_LONG_FIELDS: Final = frozenset({"text", "reply", "content", "solution", "context", "intent", "problem"})


Report = Callable[[int, int, str], None]
"""Called with the amount done, the total, and a description; from any thread."""


class ToolRequest(NamedTuple):
    """A call of a tool: the workspace, checked arguments, where to report progress, and whether it was cancelled."""

    name: str
    workspace: Promptuary
    given: Mapping[str, Any]
    report: Report
    stopped: threading.Event


class ToolAnswer(NamedTuple):
    text: str
    is_error: bool = False


def check_arguments(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call without null values. Raises ``PromptuaryError`` if they are not valid."""
    given = {str(name): value for name, value in arguments.items() if value is not None}
    if tool in {SEARCH_NOTES, LIST_NOTES, WRITE_NOTE}:
        given = plain_arguments(given)
    if problem := wrong_arguments(tool, given, OFFERED[tool].schema()):
        raise PromptuaryError(problem)
    for name, value in given.items():
        longest = _MAX_TEXT if name in _LONG_FIELDS else _MAX_NAME
        if len(value if isinstance(value, str) else json.dumps(value)) > longest:
            raise PromptuaryError(f"{name} is too long: at most {longest:,} characters are allowed")
    return given


READING: Final = frozenset({"expand_references", *(name for name, tool in OFFERED.items() if tool.reads_only)})
"""The tools that can be used without changing anything."""


def changes_something(tool: str, given: Mapping[str, Any]) -> bool:
    """Return whether a call records or writes something. References are expanded without that, unless in a thread."""
    return tool not in READING or (not OFFERED[tool].reads_only and bool({"thread", "reply"} & given.keys()))


async def _expand(call: ToolRequest) -> ToolAnswer:
    given = call.given
    if "thread" not in given and "reply" not in given:
        expansion = await call.workspace.expand(given["text"])
        return _expansion_answer(expansion, str(expansion.messages[-1]["content"]))
    thread = given.get("thread", "main")
    said = await _end_pending_turn(call, thread)
    turn = await call.workspace.threads.prepare(given["text"], thread=thread)
    answer = _expansion_answer(turn.expansion, turn.render("text"))
    return answer._replace(text=f"{answer.text}\n(turn {turn.number} of thread {one_line(thread)}{said})")


async def _end_pending_turn(call: ToolRequest, thread: str) -> str:
    """End the waiting turn of a thread, with the reply or without one. Return a remark about that for the answer."""
    threads, reply = call.workspace.threads, call.given.get("reply")
    waiting = await threads.pending(thread=thread)
    if reply is None:
        if waiting is None:
            return ""
        await threads.abandon(waiting)
        return f"; turn {waiting.number} got no reply and was given up"
    if waiting is None:
        raise PromptuaryError(
            f"the reply was not kept, since no turn of thread {one_line(thread)[:80]} waits for one; expand a message "
            "with this thread first, then reply with the next one, or leave out reply"
        )
    if not reply.strip():
        raise PromptuaryError("the reply is empty; leave out reply to give up the turn before")
    await threads.finish(waiting, reply)
    return ""


def _expansion_answer(expansion: Expansion, text: str) -> ToolAnswer:
    said = "".join(f"\n[warning: {one_line(warning)}]" for warning in expansion.warnings)
    if expansion.blocked:
        return ToolAnswer(
            f"The message and what it points at do not fit into the window; point at less.{said}", is_error=True
        )
    return ToolAnswer(f"{text}{said}")


async def _search(call: ToolRequest) -> ToolAnswer:
    query, paths = _query(call), tuple(call.given.get("paths", ()))
    for path in paths:
        if not (plain := path.removeprefix("!").strip()) or ".." in plain.split("/"):
            raise PromptuaryError(f"paths are globs in the workspace, such as src/**, not {one_line(path)[:80]!r}")
    said = await _ensure_indexed(call)
    limit, per_file = (min(max(1, call.given.get(name, most)), 50) for name, most in (("limit", 10), ("passages", 1)))
    found = await call.workspace.search.find(SearchQuery(query, limit, Filters(paths=paths), per_file=per_file))
    notes = [*said, *(one_line(note_text(note)) for note in found.notes)]
    return ToolAnswer(passages_text(found, notes, per_file))


async def _ensure_indexed(call: ToolRequest) -> list[str]:
    """Index the whole workspace if nothing in it is indexed yet; return sentences about that."""
    workspace = call.workspace
    if (await workspace.search.status()).folders:
        return []
    if is_wide(workspace.path):
        raise PromptuaryError("nothing is indexed, and the workspace contains a home folder; run promptuary index")

    def progress(done: int, total: int) -> None:
        if call.stopped.is_set():
            raise PromptuaryError("the client cancelled the call; the files that were indexed so far stay indexed")
        if total > _MAX_FILES:
            raise PromptuaryError(f"the workspace has {total:,} files; index only what you need: promptuary index")
        call.report(done, total, "indexing")

    synced = await workspace.search.index([workspace.path], progress=progress)
    return [f"the workspace was indexed first: {counted(synced.added, 'file')}"]


def _query(call: ToolRequest) -> str:
    query: str = call.given["query"].strip()
    if not query:
        raise PromptuaryError("there is nothing to search for; give some words")
    return query


async def _find_experiences(call: ToolRequest) -> ToolAnswer:
    query, limit = _query(call), min(max(1, call.given.get("limit", 5)), 50)
    return ToolAnswer(experiences_text(await call.workspace.experiences.find_similar(query, (), limit)))


async def _record_experience(call: ToolRequest) -> ToolAnswer:
    given = dict(call.given)
    kind, intent, solution = given.pop("type"), given.pop("intent"), given.pop("solution", None)
    # It is unknown what the model has read before: its text may come from a web page.
    stored = await call.workspace.experiences.add(kind, intent, solution, trust="external", **given)
    shown = f"promptuary experience feedback helped {stored.id}"
    return ToolAnswer(f"Recorded: {stored.address}. Turns show it after the person confirms it: {shown}")


async def _track(call: ToolRequest) -> ToolAnswer:
    thread, path = call.given.get("thread", "main"), call.given["path"]
    threads = call.workspace.threads
    if call.given.get("stop"):
        await threads.detach(path, thread=thread)
    else:
        await threads.attach(path, thread=thread)
    tracked = (await threads.attachments(thread=thread)).tracked
    files = [f"{one_line(file.path)} ({file.code or counted(file.tokens, 'token')})" for file in tracked]
    return ToolAnswer(f"Thread {one_line(thread)} tracks {', '.join(files) or 'no files'}.")


async def _explain(call: ToolRequest) -> ToolAnswer:
    found = await call.workspace.threads.replay(thread=call.given.get("thread", "main"), number=call.given.get("turn"))
    turn = found.turn
    lines = [f"turn {turn.number} ({turn.status}, {turn.created}): {one_line(turn.text)[:200]}", turn.receipt.explain()]
    lines += [f"{one_line(drift.path)}: {drift.kind} since" for drift in found.drift]
    return ToolAnswer("\n".join(lines))


async def _call_note_tool(call: ToolRequest) -> ToolAnswer:
    answer = await call.workspace.memory.call_tool(call.name, call.given)
    return ToolAnswer(answer_text(answer), is_error="error" in answer)


async def _list_notes(call: ToolRequest) -> ToolAnswer:
    given = call.given
    selection: NoteSelection = {}
    if "type" in given:
        selection["kinds"] = (given["type"],)
    if "tag" in given:
        selection["tags"] = (given["tag"],)
    limit = min(max(1, given.get("limit", 20)), 200)
    return ToolAnswer(list_text(await call.workspace.memory.list(limit=limit, **selection), now_in_seconds()))


CALLS: Final[Mapping[str, Callable[[ToolRequest], Awaitable[ToolAnswer]]]] = {
    "expand_references": _expand,
    SEARCH_FILES: _search,
    SEARCH_NOTES: _call_note_tool,
    LIST_NOTES: _list_notes,
    WRITE_NOTE: _call_note_tool,
    "find_experiences": _find_experiences,
    "record_experience": _record_experience,
    "track_file": _track,
    "explain_turn": _explain,
}
"""The functions of the tools, by name."""
