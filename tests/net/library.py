"""Forty turns over several threads through the public package; run as a program in the workspace.

``async`` uses ``promptuary.Promptuary``, ``blocking`` the same class of ``promptuary.blocking``. Prints a line for each
file of the recording: its name and its text, as JSON.
"""

import asyncio
import enum
import inspect
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import promptuary
from promptuary import (
    Filters,
    Principal,
    PromptuaryError,
    SearchQuery,
    StaticContent,
    Tool,
    ToolCall,
    ToolSpec,
    blocking,
)

_number = 0
_HIDDEN = {"data", "sha256"}


def dump(value: Any, *, deep: bool = True) -> Any:
    """Return a value of the package as JSON can write it: its fields and, unless it came from one, its properties."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return round(value, 2)
        case bytes():
            return f"{len(value)} bytes"
        case enum.Enum():
            return dump(value.value)
        case Path():
            return str(value)
        case Mapping():
            return {str(dump(key)): dump(one, deep=deep) for key, one in value.items()}
        case AbstractSet():
            return sorted((dump(one) for one in value), key=str)
        case BaseException():
            return f"{type(value).__name__}: {value}"
    if isinstance(value, Sequence) and _fields(type(value)) is None:
        return [dump(one, deep=deep) for one in value]
    return _dump_fields(value, deep=deep)


def _dump_fields(value: Any, *, deep: bool) -> Any:
    kind = type(value)
    names = _fields(kind)
    if names is None:
        return f"<{kind.__name__}>"
    found = {name: dump(getattr(value, name), deep=deep) for name in names}
    if deep:
        found |= {name: dump(getattr(value, name), deep=False) for name in _properties(kind)}
        found.pop("requests", None)  # the receipt itself, and those that it has as a field
    return {"": kind.__name__, **dict(sorted(found.items()))}


def _fields(kind: type) -> list[str] | None:
    found = getattr(kind, "__struct_fields__", None) or getattr(kind, "__dataclass_fields__", None)
    found = found or getattr(kind, "_fields", None)
    return None if found is None else [name for name in found if not name.startswith("_")]


def _properties(kind: type) -> list[str]:
    kinds = (property, cached_property)
    return [name for name, one in inspect.getmembers(kind) if isinstance(one, kinds) and not name.startswith("_")]


def show(name: str, value: Any) -> None:
    """Print a value as a file of the recording."""
    global _number  # noqa: PLW0603  (a script)
    _number += 1
    text = value if isinstance(value, str) else json.dumps(dump(value), indent=1, ensure_ascii=False) + "\n"
    print(json.dumps([f"{_number:03}-{name}", text]), flush=True)


def show_turn(name: str, turn: Any) -> None:
    """Print the messages of a turn as a person would read them, then its receipt and what became of its references."""
    parts = [f"===== turn {turn.number} of {turn.thread}, after {turn.earlier}"]
    for message in turn.messages:
        more = {key: one for key, one in message.items() if key not in {"role", "content", "images"}}
        images = [{key: one for key, one in image.items() if key != "data"} for image in message.get("images", ())]
        parts.append(f"----- {message['role']} {more or ''} {images or ''}".rstrip())
        parts.append(str(message["content"]))
    for title, value in (
        ("receipt", turn.receipt),
        ("outcomes", turn.expansion.outcomes),
        ("warnings", turn.expansion.warnings),
        ("blocks", [(block.source, block.detail, block.tokens, len(block.text)) for block in turn.blocks]),
        ("said", turn.said),
    ):
        parts.append(f"===== {title}\n{json.dumps(dump(value), indent=1, ensure_ascii=False)}")
    show(name, "\n".join(parts) + "\n")


class Awaited:
    """Awaits whatever the methods of an object return, so that one story serves both interfaces."""

    def __init__(self, inner: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._inner, self._loop = inner, loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name in {"threads", "search", "memory", "experiences", "sessions", "models"}:
            return Awaited(found, self._loop)
        if not callable(found):
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            result = found(*arguments, **options)
            result = self._loop.run_until_complete(result) if inspect.isawaitable(result) else result
            return Awaited(result, self._loop) if isinstance(result, promptuary.Promptuary) else result

        return call

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._inner.close())


def open_async(*arguments: Any, **options: Any) -> Any:
    return Awaited(promptuary.Promptuary.open(*arguments, **options), asyncio.new_event_loop())


def refused(name: str, call: Callable[[], Any]) -> None:
    """Show the error that a call raises."""
    try:
        show(name, call())
    except (PromptuaryError, ValueError, TypeError, LookupError, ConnectionError) as error:
        show(name, error)


def next_second() -> None:
    time.sleep(1.02 - time.time() % 1)


class Summaries:
    """A chat model that summarises and scores, always in the same way."""

    async def complete(self, messages: Sequence[Any], *, max_tokens: int) -> str:
        del max_tokens
        return f"They talked about {len(messages)} messages."


class Streams:
    """A streaming model that calls tools, then answers."""

    def __init__(self, *script: Any) -> None:
        self._script = list(script)

    async def stream(self, request: Any) -> Any:
        said = self._script.pop(0)
        if isinstance(said, Exception):
            raise said
        for piece in said:
            yield piece if isinstance(piece, ToolCall) else promptuary.TextPiece(piece)
        yield promptuary.ModelUsage(10, 5)
        yield promptuary.Stopped("tools" if any(isinstance(one, ToolCall) for one in said) else "end")


def story(opened: Callable[..., Any]) -> None:
    """Use everything."""
    work = Path.cwd()
    layer = StaticContent(lambda: "Write short sentences.")
    with opened(".", window=16_000, layers=[layer], chat_model=Summaries()) as p:
        _notes(p)
        _review(p, work)
        _tools(p, work)
        _long(p)
        _sessions(p, work)
        _ledger(p)
        _others(p)
        _experiences(p)
        _searching(p)
        _files(p, work)


def _notes(p: Any) -> None:
    show(
        "empty",
        [p.threads.list(), p.memory.list(), p.experiences.list(), p.sessions.list(), p.search.status(), p.notes],
    )
    for title, kind, text in (
        ("Deploying", "project", "We deploy on Fridays, never before noon."),
        ("Tabs", "feedback", "Always use tabs."),
        ("Berlin", "user", "I live in Berlin."),
        ("Wiki", "reference", "The wiki is at https://wiki.example/ and has a page on caching."),
    ):
        next_second()
        note = p.memory.write(text, title=title, kind=kind, tags=[kind])
        show(f"write-{title}", note)
    next_second()
    show("remember", p.memory.remember("The lamp is green.", reason="asked"))
    next_second()
    note = p.memory.write("We deploy on Mondays.", id=p.memory.get("Deploying").header.id, reason="changed")
    refused("write-conflict", lambda: p.memory.write("x", id=note.header.id, if_rev="0" * 64))
    refused("write-nothing", lambda: p.memory.write(""))
    refused("get-absent", lambda: p.memory.get("absent"))
    show("history", p.memory.history("Deploying"))
    show("diff", p.memory.diff("Deploying"))
    next_second()
    show("undo", p.memory.undo("Deploying"))
    show("list", p.memory.list())
    show("find", p.memory.find("when do we deploy?"))
    show("tools", [p.memory.tools(form) for form in ("openai", "anthropic", "mcp")])
    next_second()
    p.experiences.add("task_solution", "build the docs", {"run": "make docs"}, tags=["docs"])
    next_second()
    p.experiences.add("error_recovery", "deploy the site", "make deploy twice", outcome="success", problem="it hung")
    p.search.index(["docs"])


def _review(p: Any, work: Path) -> None:
    p.threads.attach("docs/style.md", thread="review")
    p.threads.attach("@diff", thread="review")
    show("attach-document", p.threads.attach_document("table.csv", b"a,b\n1,2\n", thread="review"))
    refused("attach-absent", lambda: p.threads.attach("absent.md", thread="review"))
    show("attachments", p.threads.attachments(thread="review"))
    turn = p.threads.prepare("Review @file:src/app.py:6-12, please. When do we deploy?", thread="review")
    show_turn("turn-review", turn)
    for provider in ("openai", "openai-responses", "anthropic", "text"):
        show(f"render-{provider}", turn.render(provider))
    show("finish", p.threads.finish(turn, "It looks fine.", cost=0.01))
    refused("finish-again", lambda: p.threads.finish(turn, "Again."))
    for number, text in enumerate(
        (
            "And #src/util/paths.py? It is in @folder:src",
            "How do I build the docs?",
            'Where is the wiki? See [[deploy]] and @search:"rollback"',
            "@symbol:App.run and @git:2 and @status",
            "What is on @file:picture.png and in @file:paper.pdf?",
            "@file:absent.py @file:.env @file:/etc/passwd",
            "Please remember: I prefer tea.",
            "We decided to use Postgres.",
        )
    ):
        if number == 2:
            (work / "docs/style.md").write_text("# Style\n\nLonger names.\n")
            p.search.index(rebuild=True)  # of an index that was changed, the ranks depend on when it is merged
        if number == 4:
            p.threads.pin("src/util/paths.py", thread="review")
        turn = p.threads.prepare(text, thread="review")
        show_turn(f"turn-review-{number}", turn)
        next_second()
        show(f"finish-{number}", p.threads.finish(turn, f"Answer {number}."))
    show("proposals", p.memory.proposals())
    turn = p.threads.prepare("A turn that is given up", thread="review")
    show("pending", p.threads.pending(thread="review").id == turn.id)
    p.threads.abandon(turn)
    show("pending-none", p.threads.pending(thread="review"))
    show("undone", p.threads.undo(thread="review"))
    show_turn("turn-after-undo", p.threads.prepare("After the undo", thread="review", pasted=["the undo"]))
    p.threads.abandon(p.threads.pending(thread="review"))
    show("measure", p.measure("See @file:README.md and @file:src/app.py", thread="review"))
    show_turn("preview", p.threads.preview("Only look: @file:README.md", thread="review"))


def _tools(p: Any, work: Path) -> None:
    p.threads.attach("README.md", thread="agent")
    turn = p.threads.prepare("Mend README.md", thread="agent")
    show_turn("turn-agent", turn)
    for number in range(3):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "write", "arguments": json.dumps({"n": number})},
        }
        asked = {"role": "assistant", "content": "I write.", "tool_calls": [call]}
        if number == 1:
            (work / "README.md").write_text("# Example\n\nMended.\n")
        if number == 0:
            refused("extend-without-result", partial(p.threads.extend, turn, [asked]))
        result = {"role": "tool", "tool_call_id": f"c{number}", "content": f"wrote {number} " + "word " * 250 * number}
        turn = p.threads.extend(turn, [asked, result])
        show_turn(f"turn-agent-{number}", turn)
    show("finish-agent", p.threads.finish(turn, [{"type": "text", "text": "It is mended."}]))
    show("history-agent", p.threads.history(thread="agent"))

    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    tool = Tool(ToolSpec("count", "Count words.", schema), lambda arguments: str(len(arguments["text"].split())))
    writer = Tool(ToolSpec("store", "Store it.", schema), lambda arguments: "stored", writes=True)
    model = Streams(
        ["Let me ", "count.", ToolCall("c1", "count", '{"text": "a b"}')],
        [ToolCall("c2", "count", "{broken"), ToolCall("c3", "absent", "{}"), ToolCall("c4", "store", '{"text": "x"}')],
        ["Two ", "words."],
    )
    events: list[Any] = []
    result = p.threads.run("Count @file:docs/deploy.md", model, [tool, writer], thread="agent", on_event=events.append)
    show("run", {name: getattr(result, name) for name in ("stop", "usage", "cost", "receipt")})
    show("run-events", [type(one).__name__ for one in events])
    show("history-run", p.threads.history(thread="agent")[-8:])
    refused("run-failed", lambda: p.threads.run("Fail", Streams(ConnectionError("gone")), thread="agent"))
    refused("run-no-model", lambda: p.threads.run("Nobody", thread="agent"))
    show("built-in-tools", [[one.spec, one.writes] for one in p.threads.tools(thread="agent")])


def _long(p: Any) -> None:
    for number in range(14):
        turn = p.threads.prepare(
            f"Question {number}: what is in @file:src/big.py:{number * 40 + 1}-{number * 40 + 160}?", thread="long"
        )
        if number % 4 == 3:
            show_turn(f"turn-long-{number}", turn)
        p.threads.finish(
            turn, f"Answer {number}: we decided to call it function_{number}. " + "It adds a number. " * 30
        )
    show("stats", [p.threads.stats(thread="long"), p.threads.needs_compaction(thread="long")])
    show("compact", p.threads.compact(thread="long"))
    show("compact-again", p.threads.compact(thread="long"))
    show_turn("turn-compacted", p.threads.prepare("What did we decide?", thread="long"))
    p.threads.finish(p.threads.pending(thread="long"), "Names.")
    show("history-long", p.threads.history(thread="long"))
    show(
        "history-everything",
        [[item.role, item.kind, len(item.content)] for item in p.threads.history(thread="long", everything=True)],
    )


def _sessions(p: Any, work: Path) -> None:
    note = p.memory.get("Deploying").header.id
    show("session", p.sessions.create("release", roots=["docs"], notes=[note], experiences="none"))
    show("session-alone", p.sessions.create("alone", memory=False))
    refused("session-twice", lambda: p.sessions.create("release"))
    for thread in ("release", "alone"):
        turn = p.threads.prepare("When do we deploy? @file:docs/deploy.md @file:src/app.py", thread=thread)
        show_turn(f"turn-{thread}", turn)
        p.threads.finish(turn, "On Fridays.")
    (work / "docs/deploy.md").write_text("# Deploying\n\nOn Mondays.\n")
    p.search.index(rebuild=True)
    show("session-show", p.sessions.show("release"))
    turn = p.threads.prepare("And now? @file:docs/deploy.md", thread="release")
    show_turn("turn-release-changed", turn)
    p.threads.abandon(turn)
    show("session-refresh", p.sessions.refresh("release"))
    show("session-archive", p.sessions.archive("release"))
    refused("session-archived", lambda: p.threads.prepare("Still?", thread="release"))
    show("session-restore", p.sessions.restore("release"))
    show_turn("turn-release-refreshed", p.threads.prepare("And now? @file:docs/deploy.md", thread="release"))
    p.threads.abandon(p.threads.pending(thread="release"))
    show("sessions", p.sessions.list())
    refused("session-remove-with-turns", lambda: p.sessions.remove("alone"))
    p.sessions.create("brief")
    show("session-remove", p.sessions.remove("brief"))


def _ledger(p: Any) -> None:
    show("threads", p.threads.list())
    turns = p.threads.turns(thread="review")
    show("turns", turns[:2])
    show("turns-in-brief", [[turn.number, turn.status, turn.text, turn.receipt.tokens] for turn in turns])
    show("replay", p.threads.replay(thread="review", number=1))
    refused("replay-absent", lambda: p.threads.replay(thread="review", number=99))
    show("rerun", p.threads.rerun(thread="review", number=2, window=3_000))
    show("audit", p.threads.audit("docs/style.md"))
    show("audit-finished", p.threads.audit("src/app.py", finished_only=True))
    show("sources", p.threads.sources(thread="review", number=2))
    show("totals", p.threads.totals(thread="review"))
    show("export", p.threads.export(thread="agent"))
    show("export-md", p.threads.export(thread="review", form="md"))
    show("import", p.threads.import_(p.threads.export(thread="review"), thread="copy"))
    show_turn("turn-imported", p.threads.prepare("Go on", thread="copy"))
    p.threads.finish(p.threads.pending(thread="copy"), "Gone on.")
    p.threads.rename(thread="copy", name="moved")
    show("forget-dry", p.threads.forget("docs/style.md", dry_run=True))
    show("forget", p.threads.forget("docs/style.md"))
    show("replay-forgotten", p.threads.replay(thread="review", number=1))
    show("prune", p.threads.prune(30, dry_run=True))
    show("remove", p.threads.remove(thread="moved"))
    show("threads-left", p.threads.list())


def _others(p: Any) -> None:
    for name, principal in (
        ("bob", Principal("bob")),
        ("coder", Principal(agent="coder")),
        ("team", Principal("bob", group="team")),
    ):
        other = p.acting_as(principal)
        try:
            show_turn(f"turn-{name}", other.threads.prepare("When do we deploy?", thread="main"))
            other.threads.finish(other.threads.pending(thread="main"), "I do not know.")
            next_second()
            refused(f"write-{name}", partial(other.memory.write, "Bots deploy.", title="Bots", kind="project"))
            show(f"list-{name}", [other.memory.list(), other.threads.list()])
        finally:
            other.close()
    turn = p.threads.prepare("We release on Mondays from now on.")
    note = p.memory.get("Deploying").header.id
    next_second()
    written = {"type": "project", "title": "Release day", "content": "Releases go out on Mondays."}
    show("call-tool", p.memory.call_tool("write_memory", written, turn=turn, messages=[]))
    show("call-tool-change", p.memory.call_tool("write_memory", {**written, "memory_id": note}))
    show("call-tool-wrong", p.memory.call_tool("write_memory", {"type": "odd"}))
    show("call-tool-search", p.memory.call_tool("search_recall_memories", {"query": "deploy"}))
    show("call-tool-absent", p.memory.call_tool("absent", {}))
    p.threads.abandon(turn)
    waiting = p.memory.proposals()
    show("proposals-waiting", waiting)
    if waiting:
        next_second()
        show("accept", p.memory.accept(waiting[0].id))
        refused("accept-again", lambda: p.memory.accept(waiting[0].id))
    for one in waiting[1:]:
        p.memory.reject(one.id)
    next_second()
    show("archive", p.memory.archive("Tabs"))
    next_second()
    show("restore", p.memory.restore("Tabs"))
    show("forget-note-dry", p.memory.forget("Wiki", everywhere=True, dry_run=True))
    show("forget-note", p.memory.forget("Wiki", everywhere=True))
    show("replay-after-forgetting", p.threads.replay(thread="review", number=4))
    show("unadopted", p.memory.unadopted())
    show("examine", p.examine())


def _experiences(p: Any) -> None:
    show("experiences", p.experiences.list())
    found = p.experiences.find_similar("how do I build the docs?", limit=3)
    show("experiences-found", found)
    key = found.hits[0].experience.id
    show("experience-used", p.experiences.mark_used(key))
    show("experience-wrong", p.experiences.feedback(key, "wrong"))
    show("experience-preference", p.experiences.track_preference("editor", "vim"))
    show("experience-message", p.experiences.for_message("build the docs"))
    show("experience-record", p.experiences.record([{"role": "user", "content": "Always use vim."}]))
    show("experience-stats", p.experiences.stats())
    show("experience-decay", p.experiences.apply_decay())
    show("experience-prune", p.experiences.prune_expired(dry_run=True))
    show("experience-forget", p.experiences.forget(key))
    refused("experience-bad", lambda: p.experiences.add("odd", "x"))


def _searching(p: Any) -> None:
    show("search", p.search.find("deploy"))
    show("search-query", p.search.find(SearchQuery("rollback", limit=2, filters=Filters(kinds=("markdown",)))))
    show("search-status", p.search.status())
    refused("search-nothing", lambda: p.search.find(""))
    show("search-index", p.search.index(["src"], label="code"))
    show("search-remove", [p.search.remove("docs"), p.search.remove("absent")])
    show("models", [(one.name, one.installed) if hasattr(one, "installed") else one.name for one in p.models.list()])


def _files(p: Any, work: Path) -> None:
    expansion = p.expand("Review @file:src/app.py:6-9 against @diff and @file:absent.py")
    show("expand", expansion)
    for provider in ("openai", "anthropic"):
        show(f"expand-{provider}", p.render(expansion, provider))
    for text in ("@", "@file:ap", "#docs/st", "[[de", "@git:", "x"):
        show("complete", p.complete(text, timeout=5))
    show("find-files", p.find_files("app py"))
    show("backup", p.backup(work / "all.zip"))
    show("backup-restore", p.restore(work / "all.zip", dry_run=True))
    show("purge", p.purge(dry_run=True))
    show("scan", promptuary.scan("@file:a.py:1-3 and #b.md, \\@diff [[note]] @url:https://a.example/x."))
    show("format-reference", [promptuary.format_reference("file", name) for name in ("a b", "a'b", 'a"b', "ä")])
    show("count", promptuary.Counter("o200k_base").count("Three words here."))
    show("settings", p.settings)


if __name__ == "__main__":
    story(blocking.Promptuary.open if sys.argv[1] == "blocking" else open_async)
