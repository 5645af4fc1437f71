"""Threads: their list, what was said in one, and a box to go on with it."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.base.messages import Item, ToolCall
from promptuary.config.named_models import NO_MODEL
from promptuary.server.page.view import Asked, Consent, Page, Redirect, Run, View
from promptuary.server.proxy.upstreams import is_configured, list_models
from promptuary.threads.records import ThreadInfo
from promptuary.tools import READ_FILE, SEARCH_FILES, SEARCH_NOTES, WRITE_NOTE

_AT_ONCE: Final = 50
_MESSAGES: Final = 30
_LETTERS: Final = 48_000
"""How many messages a page has, and about how many characters: Markdown takes time."""
_MAX_SHOWN: Final = 12_000
"""The most characters of one message that are shown at once."""
_MAX_CALL: Final = 4_000
_MAX_TEXT: Final = 1 << 20
"""The most characters of a message that is typed."""
_MENU_ROWS: Final = 12
_MENU_TEXT: Final = 8_000
"""How much before the cursor is looked at for a menu."""
_TRACKED: Final = re.compile(r"\[(#[^\]\n]{1,500})\]\(#[^)\s]{1,500}\)")
"""A tracked path as a model sees it: a link to its block. The person typed only the path."""
_TURNS: Final = 100
"""How many of the newest turns are linked from their messages."""
_TOOLS: Final = (READ_FILE, SEARCH_FILES, SEARCH_NOTES, WRITE_NOTE)


class ThreadList(Struct, frozen=True):
    """Threads, the last used first. ``following`` is the cursor of the next ones, empty if there are none."""

    threads: Sequence[ThreadInfo]
    total: int
    following: str = ""


class Attached(Struct, frozen=True):
    """What was attached to a message, and the file and lines that it came from, if it came from one."""

    label: str
    path: str
    lines: str
    detail: str


class Called(Struct, frozen=True):
    """A call of a tool with its result, as far as they are shown; without a result it was never carried out."""

    name: str
    arguments: str
    result: str | None = None
    is_error: bool = False


class Said(Struct, frozen=True):
    """A message as it is shown: ``cut`` characters are left out, ``turn`` is the number of its turn, if it is known."""

    id: str
    role: str
    kind: str
    text: str
    cut: int = 0
    turn: int | None = None
    attached: Sequence[Attached] = ()
    calls: Sequence[Called] = ()
    images: int = 0
    stands_for: Sequence[str] = ()
    is_imported: bool = False


class Talk(Struct, frozen=True):
    """A part of what was said in a thread, the oldest first. ``earlier`` is the cursor of what was said before it."""

    thread: str
    messages: Sequence[Said]
    earlier: str = ""
    pending: int | None = None
    """The number of a turn that waits for its reply."""


async def threads(asked: Asked) -> View | Redirect:
    """Show the threads, or go to the one that is named."""
    if opened := asked.query.get("open", "").strip():
        return Redirect(asked.url("/threads", opened))
    every = await asked.workspace.threads.list()
    after = asked.query.get("cursor", "")
    # A cursor names the thread that came last: what is used meanwhile moves before it.
    start = next((place for place, thread in enumerate(every, 1) if thread.id == after), 0) if after else 0
    some = every[start : start + _AT_ONCE]
    following = some[-1].id if start + _AT_ONCE < len(every) else ""
    return View("threads/list.html", ThreadList(some, len(every), following), {"is_first": not start})


async def thread(asked: Asked) -> View:
    """Show what was said in a thread."""
    name, before = asked.parts["thread"], asked.query.get("before", "")
    items, pending, newest = await asyncio.gather(
        asked.workspace.threads.history(thread=name),
        asked.workspace.threads.pending(thread=name),
        asked.workspace.threads.recent(thread=name, limit=_TURNS),
    )
    numbers = {turn.id.partition(".")[0]: turn.number for turn in newest.turns}
    messages, earlier = _part(items, before, numbers)
    messages = await _as_sent(asked, messages)
    found = Talk(name, messages, earlier, pending.number if pending else None)
    more = {"is_newest": not before, "has_turns": bool(newest.turns), **_who_answers(asked)}
    return View("threads/thread.html", found, more)


async def _as_sent(asked: Asked, messages: Sequence[Said]) -> Sequence[Said]:
    """Return messages with what their turns attached: in the history, it may have been shortened since."""
    if not any(one.stands_for and one.attached for one in messages):
        return messages
    every = await asked.workspace.threads.history(thread=asked.parts["thread"], everything=True)
    sent = {item.id: _attached(item) for item in every}
    return [
        replace(one, attached=next((sent[name] for name in one.stands_for if name in sent), one.attached))
        if one.attached
        else one
        for one in messages
    ]


def _who_answers(asked: Asked) -> Mapping[str, object]:
    """Return which models may answer, and why none does."""
    settings, token = asked.workspace.settings, asked.token
    names = [name for name in list_models(settings, token) if is_configured(settings, token, settings.chat(name))]
    answering = settings.answer_model if settings.answer_model in names else next(iter(names), "")
    why = ""
    if "proxy" not in token.scopes:
        why = "Your token may read threads, but not let a model answer: that needs the scope proxy."
    elif not names:
        why = f"{NO_MODEL[0].upper()}{NO_MODEL[1:]}." if not token.models else "Your token names no model that is here."
    return {"models": names, "model": answering, "why_not": why}


async def answer(asked: Asked) -> View:
    """Show what was answered in a turn, with the tools that were called."""
    found = await asked.workspace.threads.seen(
        thread=asked.parts["thread"], number=asked.number("the turn", asked.parts["number"])
    )
    every = await asked.workspace.threads.history(thread=found.thread, everything=True)
    items = [item for item in every if item.turn == found.id]
    results = {item.tool_call_id: item for item in items if item.tool_call_id}
    value = [_said(item, results, {}, _MAX_SHOWN) for item in items if item.role == "assistant"]
    return View("turns/answer.html", value, {"thread": found.thread, "number": found.number, "status": found.status})


async def message(asked: Asked) -> View:
    """Show the text of a message, a long one in parts."""
    every = await asked.workspace.threads.history(thread=asked.parts["thread"], everything=False)
    item = next((item for item in every if item.id == asked.parts["message"]), None)
    if item is None:
        raise PromptuaryError("this message is not in the history of the thread; it may have been compacted or undone")
    start = asked.number("from", asked.query.get("from", "0"))
    whole = _said(item, {}, {}, len(item.content))
    end = start + _LETTERS
    part = replace(whole, text=whole.text[start:end], cut=max(0, len(whole.text) - end))
    more = {"thread": asked.parts["thread"], "start": start, "before": max(0, start - _LETTERS), "end": end}
    return View("threads/message.html", part, more)


def _part(items: Sequence[Item], before: str, numbers: Mapping[str, int]) -> tuple[Sequence[Said], str]:
    """Return the last messages before a cursor, as many as a page has, and the cursor of those before them."""
    end = next((place for place, item in enumerate(items) if item.id == before), len(items)) if before else len(items)
    results = {item.tool_call_id: item for item in items if item.tool_call_id}
    shown, room, start = list[Said](), _LETTERS, end
    while start and len(shown) < _MESSAGES and room > 0:
        start -= 1
        item = items[start]
        if item.role != "tool":  # it is shown with its call
            shown.append(_said(item, results, numbers, _MAX_SHOWN))
            room -= len(shown[-1].text)
    # Results at the beginning belong to what comes before.
    return shown[::-1], items[start].id if start and any(item.role != "tool" for item in items[:start]) else ""


def _said(item: Item, results: Mapping[str, Item], numbers: Mapping[str, int], most: int) -> Said:
    words = _TRACKED.sub(r"\1", item.words) if item.role == "user" else item.words
    return Said(
        id=item.id,
        role=item.role,
        kind=item.kind,
        text=words[:most],
        cut=max(0, len(words) - most),
        turn=numbers.get(item.turn.partition(".")[0]),
        attached=_attached(item),
        calls=[_called(call, results.get(call.id)) for call in item.tool_calls],
        images=len(item.images),
        stands_for=item.stands_for,
        is_imported=item.imported,
    )


def _attached(item: Item) -> Sequence[Attached]:
    return [Attached(one.label, one.path, "-".join(map(str, one.lines or ())), one.detail) for one in item.attachments]


def _called(call: ToolCall, result: Item | None) -> Called:
    if result is None:
        return Called(call.name, call.arguments[:_MAX_CALL])
    return Called(call.name, call.arguments[:_MAX_CALL], result.content[:_MAX_CALL], bool(result.is_error))


# Going on with a thread


async def run(asked: Asked) -> Run:
    """Let a model answer a message."""
    text = _typed(asked)
    if not text.strip():
        raise ConfigError("write something to send")
    name, is_streamed = asked.parts["thread"], asked.form.get("stream") == "1"
    # Nobody can be asked for consent before the page is there.
    tools = _TOOLS if is_streamed else [tool for tool in _TOOLS if tool != WRITE_NOTE]
    arguments = {
        "text": text,
        "model": asked.form.get("model") or None,
        "thread": name,
        "pasted": _pasted(asked, text),
        "max_requests": 50,
        "tools": tools,
        "client_tools": [],
    }
    return Run(arguments, is_streamed, asked.url("/threads", name) + "#end")


async def consent(asked: Asked) -> Consent:
    """Say whether a call may be carried out."""
    return Consent(asked.parts["run"], asked.parts["call"], asked.form.get("agreed") == "yes")


async def menu(asked: Asked) -> View:
    """Show what a menu offers at the end of a text."""
    text = _typed(asked)
    cut = max(0, len(text) - _MENU_TEXT)
    wants_hints = asked.form.get("hints") == "1"
    found = await asked.workspace.complete(
        text[cut:], limit=_MENU_ROWS, timeout=0.2 if wants_hints else 0.0, hints=wants_hints
    )
    return View("threads/menu.html", found, {"start": found.start + cut})


async def measure(asked: Asked) -> View:
    """Show what a message would cost."""
    text = _typed(asked)
    found = await asked.workspace.measure(text, pasted=_pasted(asked, text), thread=asked.parts["thread"])
    return View("threads/meter.html", found)


def _typed(asked: Asked) -> str:
    """Return the text of a form, with the ends of lines that it was typed with."""
    text = asked.form.get("text", "").replace("\r\n", "\n")
    if len(text) > _MAX_TEXT:
        raise ConfigError(f"a message has at most {_MAX_TEXT:,} characters here; put it into a file, and refer to that")
    return text


def _pasted(asked: Asked, text: str) -> Sequence[str]:
    """Return the pasted parts that are still in a text: nothing in them is a reference."""
    try:
        given = msgspec.json.decode(asked.form.get("pasted") or "[]", type=list[str])
    except msgspec.DecodeError as error:
        raise ConfigError("pasted must be a list of texts") from error
    return [one for one in given if one and one in text]


PAGES: Final = (
    Page("GET", "/threads", threads, nav="Threads"),
    Page("GET", "/threads/{thread}", thread),
    Page("GET", "/threads/{thread}/messages/{message}", message),
    Page("GET", "/turns/{thread}/{number}/answer", answer),
    Page("POST", "/threads/{thread}/run", run, scope="proxy"),
    Page("POST", "/threads/{thread}/measure", measure),
    Page("POST", "/runs/{run}/calls/{call}", consent, scope="proxy"),
    Page("POST", "/complete", menu),
)
