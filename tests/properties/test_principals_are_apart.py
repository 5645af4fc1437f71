"""Two principals of one workspace never see anything of each other, on any read path there is.

Every way to read threads and notes is in a registry below. A new public method of a store, of a facade or of the
command line that is in none of the registries fails ``test_every_read_path_is_registered``.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from inspect import signature
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptuary import Layer, LayerContext, Principal, Recall, RecallRequest
from promptuary.base.errors import PromptuaryError, SourceError
from promptuary.base.messages import Message, ToolCall
from promptuary.base.principals import LOCAL
from promptuary.blocking import (
    BlockingExperiences,
    BlockingMemory,
    BlockingModels,
    BlockingPrompts,
    BlockingSearch,
    BlockingSessions,
    BlockingThreads,
    Promptuary,
)
from promptuary.cli.command_table import COMMANDS, make_parser
from promptuary.cli.main import main
from promptuary.cli.parsing import Asked
from promptuary.experiences.values import TYPES
from promptuary.layers.layer import PRIVATE_SCOPES, Scope, StateKey
from promptuary.memory.values import KINDS, STATUSES, NoteHeader
from promptuary.state import StateDatabase
from promptuary.testing.scripted import ScriptedModel, ScriptedStream, Spoken
from promptuary.threads.store.store import ThreadStore
from tests.conftest import TORTURE
from tests.stores import state_in

PRINCIPALS: Final = (
    LOCAL,
    Principal("ada"),
    Principal("ada", agent="reviewer"),
    Principal("ada", group="team"),
    Principal("bob", group="team"),
)
OWNERS: Final = dict(zip(PRINCIPALS, (0, 1, 2, 3, 3), strict=True))
"""The last two act in one group, and so have the same threads; each of the others has threads of their own."""

THREADS: Final = ("main", "review")


class Diary(Layer):
    """A layer that keeps what it reads, for the thread or for the user, and shows it."""

    def __init__(self, scope: Scope) -> None:
        self.id, self.scope = f"diary of the {scope}", scope

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | str | None:
        context.state = [*(context.state or []), request.query]
        return "\n".join(context.state)


@dataclass(frozen=True)
class Step:
    """Something that a principal does: a turn with a secret in it, and how it ends; or an attachment."""

    who: int
    thread: str
    kind: str
    number: int

    @property
    def secret(self) -> str:
        return f"secret-of-{OWNERS[PRINCIPALS[self.who]]}-number-{self.number}-"


def steps() -> st.SearchStrategy[list[Step]]:
    kinds = st.sampled_from(["finish", "abandon", "prepare", "attach", "queue"])
    each = st.tuples(st.integers(0, len(PRINCIPALS) - 1), st.sampled_from(THREADS), kinds)
    return st.lists(each, min_size=2, max_size=7).map(
        lambda drawn: [Step(*one, number) for number, one in enumerate(drawn)]
    )


# The registries: every public name of these classes is either read here or said to read nothing of a principal.

STORE_READS: Final[dict[str, Callable[[ThreadStore], object]]] = {
    "history": lambda store: [store.history(name) for name in THREADS],
    "items": lambda store: store.items(EVERY_ITEM),
    "turn": lambda store: [store.turn(name, number) for name in THREADS for number in (None, 1, 2, 3)],
    "last_number": lambda store: [store.last_number(name) for name in THREADS],
    "head": lambda store: [store.head(name, [StateKey("file_reference", "thread", name)]) for name in THREADS],
    "turn_status": lambda store: [store.turn_status(name, number) for name in THREADS for number in (1, 2)],
    "turns": lambda store: [store.turns(name) for name in THREADS],
    "recent": lambda store: [store.recent(thread=name, limit=9, before=10**9) for name in (None, *THREADS)],
    "seen_turn": lambda store: [store.seen_turn(name, number) for name in THREADS for number in (None, 1, 2)],
    "glances": lambda store: store.glances([(name, number) for name in THREADS for number in (1, 2)]),
    "sent_text": lambda store: [store.sent_text(name, 1, place, 0, 99) for name in THREADS for place in range(3)],
    "threads": lambda store: store.threads(),
    "uses": lambda store: [store.uses([one]) for one in (*store.addresses(), *EVERY_SOURCE)],
    "sources": lambda store: [store.sources(name, number) for name in THREADS for number in (1, 2, 3)],
    "addresses": lambda store: store.addresses(),
    "sizes": lambda store: store.sizes(),
    "said": lambda store: [store.said(name) for name in THREADS],
    "sent": lambda store: store.sent([("", "\U0010ffff")]),
    "ending_with": lambda store: store.ending_with([("", "\U0010ffff")]),
    "totals": lambda store: [store.totals(name) for name in THREADS],
    "states": lambda store: store.states(EVERY_STATE),
}
STORE_WRITES: Final = {"apply", "prune", "put_states", "rename"}
DATABASE: Final = {
    "threads",
    "sessions",
    "has_session",
    "experiences",
    "notes",
    "forgetting",
    "writeback_queue",
    "proposals",
    "transaction",
    "answering",
    "has_threads",
    "prune_recorded",
    "persistent",
    "is_current",
    "close",
    "name",
    "database",
    "verify",
}
"""``threads`` gives a store, whose reads are above; notes, proposals and experiences through the facades alone."""

THREAD_READS: Final[dict[str, Callable[[Promptuary], object]]] = {
    "attachments": lambda p: [p.threads.attachments(thread=name) for name in THREADS],
    "list": lambda p: p.threads.list(),
    "turns": lambda p: [p.threads.turns(thread=name) for name in THREADS],
    "recent": lambda p: [p.threads.recent(thread=name) for name in (None, *THREADS)],
    "seen": lambda p: [seen(p, name, number) for name in THREADS for number in (None, 1, 2)],
    "sent": lambda p: [sent(p, name, number) for name in THREADS for number in (1, 2)],
    "export": lambda p: [thread_text(p, name) for name in THREADS],
    "history": lambda p: [
        p.threads.history(thread=name, everything=whole) for name in THREADS for whole in (False, True)
    ],
    "replay": lambda p: [replayed(p, name, number) for name in THREADS for number in (None, 1, 2)],
    "rerun": lambda p: [rerun(p, name, number) for name in THREADS for number in (None, 1)],
    "audit": lambda p: [audited(p, source) for source in (*EVERY_SOURCE, "secret")],
    "sources": lambda p: [based_on(p, name, number) for name in THREADS for number in (None, 1, 2)],
    "totals": lambda p: [p.threads.totals(thread=name) for name in THREADS],
    "stats": lambda p: [p.threads.stats(thread=name) for name in THREADS],
    "pending": lambda p: [p.threads.pending(thread=name) for name in THREADS],
    "needs_compaction": lambda p: [p.threads.needs_compaction(thread=name) for name in THREADS],
    "prepare": lambda p: p.threads.prepare("what do you know?", thread="main").messages,
    "run": lambda p: p.threads.run("what do you know?", ScriptedModel(["Nothing."]), thread="main").turn.messages,
    "preview": lambda p: p.threads.preview("what do you know?", thread="main").messages,
    "tools": lambda p: asked_tools(p, "main"),
    "record": lambda p: recorded_messages(p, "of-a-client"),
    "recorded_as": lambda p: p.threads.recorded_as([{"role": "assistant", "content": "secret"}]),
}
THREAD_WRITES: Final = {
    "prune",
    "remove",
    "rename",
    "import_",
    "forget",
    "finish",
    "extend",
    "abandon",
    "compact",
    "undo",
    "attach",
    "attach_document",
    "detach",
    "detach_all",
    "pin",
}
ENGINE: Final = {
    "acting_as",
    "render",
    "open",
    "path",
    "settings",
    "principal",
    "expand",
    "measure",
    "typed",
    "keep_typed",
    "complete",
    "hint",
    "warm_up",
    "find_files",
    "read_lines",
    "copy",
    "adopt",
    "backup",
    "restore",
    "migrate",
    "migrate_notes",
    "purge",
    "purge_recorded",
    "examine",
    "notes",
    "close",
}
"""These read the files of the workspace, which its principals share; a backup is of whole files, for who owns these."""
ENGINE_READS: Final[dict[str, Callable[[Promptuary], object]]] = {
    "changes": lambda p: [p.changes("start", limit=1000), p.changes("unknown", limit=1000)],
}
"""What the engine reads of a principal: turns and notes at once."""
SEARCH: Final = {"index", "remove", "embed", "find", "status", "watch", "stop"}
"""The index of the workspace's folders, which its principals share."""
PROMPTS: Final = {"list", "get", "fill", "accept", "new", "rewrite"}
"""Files of the workspace, which its principals share, and of the person: `unit/prompts` says who gets which."""
MODELS: Final = {"list", "show", "add", "remove", "compare"}
"""The models of the person on this machine, which belong to no workspace; a comparison on its files returns figures."""

MEMORY_READS: Final[dict[str, Callable[[Promptuary, str], object]]] = {
    "get": lambda p, key: p.memory.get(key),
    "list": lambda p, _: [
        p.memory.list(statuses=STATUSES),
        p.memory.list(as_of="2099-01-01"),
        [p.memory.list(kinds=[kind]) for kind in KINDS],
    ],
    "find": lambda p, key: [
        p.memory.find(query, limit=100, as_of=as_of) for query in ("secret", key) for as_of in (None, "2099-01-01")
    ],
    "history": lambda p, key: p.memory.history(key),
    "diff": lambda p, key: p.memory.diff(key),
    "unadopted": lambda p, _: p.memory.unadopted(),
    "proposals": lambda p, _: p.memory.proposals(),
    "archive": lambda p, key: p.memory.archive(key),
    "restore": lambda p, key: p.memory.restore(key),
    "undo": lambda p, key: p.memory.undo(key),
    "write": lambda p, key: p.memory.write(id=key, pinned=True),
    "adopt": lambda p, key: p.memory.adopt([key]),
    "call_tool": lambda p, key: [
        p.memory.call_tool("search_recall_memories", {name: value})
        for name, value in (("memory_id", key), ("relative_path", key), ("query", "secret"))
    ],
    "forget": lambda p, key: p.memory.forget(key, dry_run=True),
    "accept": lambda p, key: p.memory.accept(key),
    "reject": lambda p, key: p.memory.reject(key),
    "edit": lambda p, key: p.memory.edit(key),
    "export": lambda p, _: exported(p),
    "import_notes": lambda p, _: [p.memory.import_notes(p.path / ".promptuary" / "memory", dry_run=True)],
    "edit_proposal": lambda p, key: p.memory.edit_proposal(key, content="mine now"),
    "catch_up": lambda p, _: p.memory.catch_up(),
}
"""Each with the id or the path of a note of everybody: what changes a note must not change, or tell of, another's."""
MEMORY_WRITES: Final = {"learn", "learn_later", "tools", "remember"}
"""It takes no id, so there is nothing of others that it could return."""

CALLED: Final[Sequence[Message]] = (
    {"role": "user", "content": "what everybody does"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "name": "same", "arguments": "{}"}]},
    {"role": "tool", "content": "the same", "tool_call_id": "c"},
)
EXPERIENCE_READS: Final[dict[str, Callable[[Promptuary, str], object]]] = {
    "get": lambda p, key: p.experiences.get(key),
    "list": lambda p, _: [
        p.experiences.list(),
        [p.experiences.list(type=one) for one in TYPES],
        p.experiences.list(tags=["shared"]),
    ],
    "find_similar": lambda p, key: [
        p.experiences.find_similar(query, ["shared"], 100, strict_tags=strict)
        for query in ("secret intent", key)
        for strict in (False, True)
    ],
    "for_message": lambda p, key: [p.experiences.for_message(query) for query in ("secret intent", key)],
    "stats": lambda p, _: p.experiences.stats(),
    "mark_used": lambda p, key: p.experiences.mark_used(key),
    "feedback": lambda p, key: p.experiences.feedback(key, "helped"),
    "prune_expired": lambda p, _: p.experiences.prune_expired(1.0, dry_run=True),
    "apply_decay": lambda p, _: p.experiences.apply_decay(),
    "add": lambda p, _: p.experiences.add("task_solution", "what everybody does", "the same"),
    "record": lambda p, _: p.experiences.record(CALLED),
    "track_preference": lambda p, _: p.experiences.track_preference("indentation", "of mine"),
    "forget": lambda p, key: p.experiences.forget(key),
}
"""Each with the id of an experience of everybody; ``forget`` is the last, since its owner loses it."""

SESSION_READS: Final[dict[str, Callable[[Promptuary, str], object]]] = {
    "list": lambda p, _: p.sessions.list(),
    "show": lambda p, key: p.sessions.show(key),
    "refresh": lambda p, key: p.sessions.refresh(key),
    "archive": lambda p, key: p.sessions.archive(key),
    "restore": lambda p, key: p.sessions.restore(key),
    "create": lambda p, key: p.sessions.create("another", notes=[key]),
    "remove": lambda p, key: p.sessions.remove(key),
}
"""Each with the name of a session of everybody."""

COMMAND_READS: Final[dict[str, Sequence[Sequence[str]]]] = {
    "expand": [["what?", "--thread", name, "--json"] for name in THREADS],
    "ask": [["what?", "--thread", name, "--json"] for name in THREADS],
    "reply": [["Fine.", "-t", name] for name in THREADS],
    "context": [["list", "--json", "-t", name] for name in THREADS],
    "thread": [
        ["list", "--json"],
        *([action, "--json", "-t", name] for action in ("show", "history", "replay", "export") for name in THREADS),
        *(["rename", name, "another"] for name in THREADS),
        *(["abandon", "-t", name] for name in THREADS),
        ["audit", "secret"],
        ["limits", "--json"],
        *([action, "secret", "--json"] for action in ("limits", "refresh", "archive", "rm")),
        *(["audit", "--json", "--turn", "1", "-t", name] for name in THREADS),
        ["prune", "--older-than", "0d", "--dry-run", "--json"],
        ["forget", "secret", "--dry-run"],
        *(["replay", "-t", name, "--window", "20k", "--json"] for name in THREADS),
    ],
}
COMMAND_ACTIONS: Final = {
    "context": {"add", "drop", "pin", "unpin", "list", "find", "clear"},
    "thread": {
        *("list", "show", "history", "replay", "rename", "export", "import", "rm", "abandon"),
        *("create", "limits", "refresh", "archive", "audit", "prune", "forget"),
    },
}
MEMORY_COMMANDS: Final[dict[str, Sequence[Sequence[str]]]] = {
    "list": [[], ["--status", "all"], ["--as-of", "2099-01-01"]],
    "search": [["secret"], ["KEY"], ["--as-of", "2099-01-01", "secret"]],
    **{action: [["KEY"]] for action in ("show", "history", "diff", "undo", "accept", "reject")},
    "archive": [["KEY"], ["--undo", "KEY"]],
    "write": [["--id", "KEY", "--pin"]],
    "adopt": [[], ["KEY"], ["--all"]],
    "proposals": [[]],
    "edit": [["KEY"]],
    "forget": [["KEY", "--dry-run"], ["KEY", "--yes", "--everywhere"]],
    "export": [["FOLDER"]],
    "import": [[".promptuary"], [".promptuary/memory/agents/default"], [".", "--dry-run"]],
    "learn": [[]],
}
"""The actions of ``memory``; KEY is the id or the path of a note of everybody, FOLDER a new folder."""
EXPERIENCE_COMMANDS: Final[dict[str, Sequence[Sequence[str]]]] = {
    "list": [[], ["--plot"], ["--tag", "shared"]],
    "find": [["--lexical", "secret", "intent"], ["--tag", "shared", "--explain", "KEY"]],
    "show": [["KEY"]],
    "feedback": [["wrong", "KEY"]],
    "prune": [["--min-weight", "1", "--dry-run"]],
    "decay": [[]],
    "add": [["what", "everybody", "does"], ["--prefer", "indentation", "mine"]],
    "forget": [["KEY", "--yes"]],
}
"""The actions of ``experience``; KEY is the id of an experience of everybody."""
COMMANDS_WITHOUT_THREADS: Final = {
    "chat",  # needs a terminal, and reads by the facade of the person alone
    "gateway",
    "completion",
    "experience",
    "memory",
    "remember",
    "backup",
    "restore",
    "migrate",
    "purge",
    "complete",
    "doctor",
    "index",
    "search",
    "model",
    "watch",
    "config",
    "prompt",
    # These act for the local person alone; test_mcp_hostile.py asks a server for what belongs to others.
    "hook",
    "install",
    "mcp",
    # Only the person who serves uses these; tests/server asks a server for what belongs to others.
    "serve",
    "open",
    "token",
}

EVERY_STATE: list[StateKey] = [
    StateKey(layer, scope, name)
    for layer in ("diary of the thread", "diary of the user", "file_reference", "attachments")
    for scope in ("thread", "user")
    for name in ("", *THREADS)
]
EVERY_SOURCE: list[str] = []
"""The addresses of all sources of all principals."""
EVERY_ITEM: list[str] = []
"""The ids of all items of all principals: who knows an id must still not get what is not theirs."""


def exported(p: Promptuary) -> object:
    """Return what an export says, and everything that it writes."""
    with TemporaryDirectory() as place:
        headers = p.memory.export(place)
        files = [(str(file.relative_to(place)), file.read_text()) for file in Path(place).rglob("*.md")]
        return headers, files


def thread_text(p: Promptuary, thread: str) -> str:
    with suppress(PromptuaryError):
        return p.threads.export(thread=thread)
    return ""


def replayed(p: Promptuary, thread: str, number: int | None) -> object:
    with suppress(SourceError):
        return p.threads.replay(thread=thread, number=number)
    return None


def seen(p: Promptuary, thread: str, number: int | None) -> object:
    with suppress(SourceError):
        return p.threads.seen(thread=thread, number=number)
    return None


def sent(p: Promptuary, thread: str, number: int) -> object:
    with suppress(SourceError):
        return [p.threads.sent(thread=thread, number=number, message=place) for place in range(3)]
    return None


def audited(p: Promptuary, source: str) -> object:
    """Return what an audit says of a source, without its name: whoever names it knows it."""
    try:
        return repr(p.threads.audit(source)).replace(source, "SOURCE")
    except SourceError as error:
        return error.reason.replace(source, "SOURCE")


def rerun(p: Promptuary, thread: str, number: int | None) -> object:
    with suppress(SourceError):
        return p.threads.rerun(thread=thread, number=number, window=50_000)
    return None


def based_on(p: Promptuary, thread: str, number: int | None) -> object:
    with suppress(SourceError):
        return p.threads.sources(thread=thread, number=number)
    return None


def recorded_messages(p: Promptuary, thread: str) -> object:
    """Return what is sent for a client that keeps its conversation."""
    found = p.threads.record([{"role": "user", "content": "what do you know?"}], thread=thread)
    return found and (found.turn.messages, found.added, found.live)


def asked_tools(p: Promptuary, thread: str) -> object:
    """Return what the model of a thread is told by the tools that read."""
    known = {one.name: one for one in p.threads.tools(thread=thread)}
    script: list[Spoken] = [[ToolCall("1", "search_recall_memories", '{"query": "secret"}')], ["Done."]]
    told: list[object] = []
    p.threads.run("look", ScriptedStream(script), list(known.values()), thread=None, on_event=told.append)
    return told


def test_every_read_path_is_registered() -> None:
    def public(cls: type) -> set[str]:
        return {name for name in vars(cls) if not name.startswith("_")}

    assert public(ThreadStore) == STORE_READS.keys() | STORE_WRITES
    assert public(StateDatabase) == DATABASE
    assert public(BlockingThreads) == THREAD_READS.keys() | THREAD_WRITES
    assert public(BlockingSearch) == SEARCH
    assert public(BlockingModels) == MODELS
    assert public(BlockingPrompts) == PROMPTS
    assert public(BlockingExperiences) == EXPERIENCE_READS.keys()
    assert public(BlockingSessions) == SESSION_READS.keys()
    assert public(BlockingMemory) == MEMORY_READS.keys() | MEMORY_WRITES
    assert set(choices("memory")) == MEMORY_COMMANDS.keys()
    assert set(choices("experience")) == EXPERIENCE_COMMANDS.keys()
    assert public(Promptuary) == ENGINE | ENGINE_READS.keys()
    assert {command.name for command in COMMANDS} == COMMAND_READS.keys() | COMMANDS_WITHOUT_THREADS
    assert set(get_args(Scope)) - {"execution", "resource", "global"} == PRIVATE_SCOPES
    for command, known in COMMAND_ACTIONS.items():
        assert set(choices(command)) == known


def choices(command: str) -> Sequence[str]:
    parser = make_parser(Asked(command))._subparsers._group_actions[0].choices[command]  # type: ignore[union-attr,index]
    (found,) = [action.choices for action in parser._actions if action.dest == "action"]
    return list(found or ())


@contextmanager
def opened(folder: Path, principal: Principal) -> Iterator[Promptuary]:
    layers = [Diary("thread"), Diary("user")]
    with Promptuary.open(folder, principal=principal, exact=True, layers=layers) as promptuary:
        yield promptuary


def carry_out(folder: Path, done: Sequence[Step]) -> None:
    with ExitStack() as stack:
        engines = [stack.enter_context(opened(folder, principal)) for principal in PRINCIPALS]
        for step in done:
            threads = engines[step.who].threads
            if step.kind == "attach":
                (folder / f"{step.secret}.md").write_text(step.secret)
                threads.attach(f"{step.secret}.md", thread=step.thread)
                (folder / f"{step.secret}.md").unlink()
            elif step.kind == "queue":
                threads.attach(f"@git:{step.secret}", thread=step.thread)
            else:
                turn = threads.prepare(step.secret, thread=step.thread)
                if step.kind == "finish":
                    threads.finish(turn, f"reply to {step.secret}")
                elif step.kind == "abandon":
                    threads.abandon(turn)


def strangers(who: Principal, done: Sequence[Step]) -> list[str]:
    """Return the secrets of everybody who has other threads than ``who``."""
    return [step.secret for step in done if OWNERS[PRINCIPALS[step.who]] != OWNERS[who]]


def own(who: Principal, done: Sequence[Step]) -> list[Step]:
    return [step for step in done if OWNERS[PRINCIPALS[step.who]] == OWNERS[who]]


@settings(max_examples=300 if TORTURE else 4)
@given(done=steps())
def test_no_principal_sees_a_thread_turn_item_state_receipt_or_count_of_another(done: list[Step]) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place)
        carry_out(folder, done)
        with closing(state_in(folder)) as state:
            every = [
                one.id for principal in PRINCIPALS for name in THREADS for one in state.threads(principal).history(name)
            ]
            EVERY_ITEM[:] = every
            EVERY_SOURCE[:] = [one for principal in PRINCIPALS for one in state.threads(principal).addresses()]
            for principal in PRINCIPALS:
                store, mine = state.threads(principal), own(principal, done)
                seen = {name: repr(read(store)) for name, read in STORE_READS.items()}
                assert_apart(seen, strangers(principal, done))
                turns = [step for step in mine if step.kind not in {"attach", "queue"}]
                assert sum(one.turns for one in store.threads()) == len(turns)
                assert sum(store.totals(name).turns for name in THREADS) == len(turns)
                assert {one.id for one in store.threads()} == {step.thread for step in mine}
        for principal in PRINCIPALS:
            with opened(folder, principal) as promptuary:
                seen = {name: repr(read(promptuary)) for name, read in (THREAD_READS | ENGINE_READS).items()}
                told = {one.id for one in promptuary.changes("start", limit=1000).changes if one.kind == "turn"}
                listed = promptuary.threads.list()
                assert told == {turn.id for one in listed for turn in promptuary.threads.turns(thread=one.id)}
            assert_apart(seen, strangers(principal, done))
            finished = [step.secret for step in own(principal, done) if step.kind == "finish" and step.thread == "main"]
            assert [secret for secret in finished if secret not in seen["prepare"]] == []
        assert_apart(commanded(folder), strangers(LOCAL, done))


def commanded(folder: Path) -> dict[str, str]:
    """Return what each command prints; the person on this machine uses the command line."""
    seen: dict[str, str] = {}
    for command, each in COMMAND_READS.items():
        for arguments in each:
            printed = io.StringIO()
            with redirect_stdout(printed), redirect_stderr(printed):
                main([command, *arguments, "--workspace", str(folder)])
            seen[" ".join([command, *arguments])] = printed.getvalue()
    assert all(seen.values())
    return seen


def assert_apart(seen: dict[str, str], secrets: Sequence[str]) -> None:
    assert [(path, secret) for path, text in seen.items() for secret in secrets if secret in text] == []


def test_the_check_sees_what_is_shared(tmp_path: Path) -> None:
    """The control: in one group, what one does is seen by the other on every read path."""
    done = [Step(3, "main", "finish", 0)]
    carry_out(tmp_path, done)
    with opened(tmp_path, PRINCIPALS[4]) as promptuary:
        seen = {
            name: repr(read(promptuary))
            for name, read in THREAD_READS.items()
            if name in {"turns", "history", "prepare"}
        }

    with pytest.raises(AssertionError):
        assert_apart(seen, [done[0].secret])
    assert all(done[0].secret in text for text in seen.values())


# Notes


def write_notes(folder: Path) -> dict[Principal, list[NoteHeader]]:
    """Let everybody write notes: private ones of every kind, one of them changed, one archived."""
    written: dict[Principal, list[NoteHeader]] = {}
    for number, principal in enumerate(PRINCIPALS):
        secret = f"secret-of-{OWNERS[principal]}-number-{number}-"
        with Promptuary.open(folder, principal=principal, exact=True, embedder="none") as p:
            notes = [
                p.memory.write(f"{secret} {kind}", title=f"{secret} title {kind}", kind=kind, tags=[f"{secret}tag"])
                for kind in KINDS
            ]
            p.memory.write(id=notes[0].header.id, content=f"{secret} changed", reason=f"{secret} why")
            p.memory.archive(notes[1].header.id)
            written[principal] = [note.header for note in notes]
    return written


def foreign(who: Principal, written: dict[Principal, list[NoteHeader]]) -> list[str]:
    """Return the secrets, ids and paths that ``who`` must not see."""
    others = [(number, one) for number, one in enumerate(PRINCIPALS) if OWNERS[one] != OWNERS[who]]
    names = [name for _, one in others for header in written[one] for name in (header.id, header.path)]
    return [*(f"secret-of-{OWNERS[one]}-number-{number}-" for number, one in others), *names]


def keys_for(read: Callable[[Promptuary, str], object], keys: Sequence[str]) -> Sequence[str]:
    """Return the keys to try a read path with; what takes none, and calls it ``_``, is read once."""
    return keys[:1] if "_" in signature(read).parameters else keys


def seen_by(promptuary: Promptuary, keys: Sequence[str]) -> dict[str, str]:
    """Return what every read path of memory gives for every key, errors included; the key itself is left out."""
    seen: dict[str, str] = {}
    for name, read in MEMORY_READS.items():
        for key in keys_for(read, keys):
            try:
                result = repr(read(promptuary, key))
            except PromptuaryError as error:
                result = repr(error)
            seen[f"{name} {key}"] = result.replace(key, "KEY")
    return seen


def test_no_principal_sees_a_note_title_id_path_or_count_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    written = write_notes(tmp_path)
    every = [name for headers in written.values() for header in headers[:2] for name in (header.id, header.path)]
    keys = every if TORTURE else every[::3]  # some of everybody: ids and paths, of a changed note and an archived one
    for principal in PRINCIPALS:
        own_ids = {one.id for other in PRINCIPALS if OWNERS[other] == OWNERS[principal] for one in written[other]}
        with Promptuary.open(tmp_path, principal=principal, exact=True, embedder="none") as p:
            listed = p.memory.list(statuses=STATUSES)
            assert {one.id for one in listed.headers} == own_ids
            assert listed.total == len(own_ids)
            told = p.changes("start", limit=1000).changes
            assert {one.id for one in told if one.kind == "note"} == own_ids
            assert_apart(
                {name: repr(read(p)) for name, read in ENGINE_READS.items()},
                foreign(principal, written),
            )
            assert_apart(seen_by(p, keys), foreign(principal, written))
            prompt = repr(p.threads.prepare("what is the secret?").messages)
        assert_apart({"prepare": prompt}, foreign(principal, written))
    for principal in PRINCIPALS:  # whatever the others tried, every note is whole and pinned by nobody else
        with Promptuary.open(tmp_path, principal=principal, exact=True, embedder="none") as p:
            for header in written[principal]:
                note = p.memory.get(header.id)
                assert note is not None
                assert "secret-of" in note.text


def test_no_command_about_notes_shows_what_is_somebody_elses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    monkeypatch.setenv("EDITOR", "cat")
    monkeypatch.chdir(tmp_path)
    written = write_notes(tmp_path)
    others = [header for one in PRINCIPALS if OWNERS[one] != OWNERS[LOCAL] for header in written[one]]
    folders = count()
    for action, each in MEMORY_COMMANDS.items():
        for arguments in each:
            for key in [name for header in others[:1] for name in (header.id, header.path)]:
                for form in ([], ["--json"]):
                    words = {"KEY": key, "FOLDER": f"{tmp_path}-{next(folders)}"}
                    given = [words.get(word, word) for word in arguments]
                    code = main(["memory", action, *given, *form, "--workspace", str(tmp_path)])
                    out, err = capsys.readouterr()
                    assert_apart({f"{action} {given}": (out + err).replace(key, "KEY")}, foreign(LOCAL, written))
                    assert code != 0 or "KEY" not in arguments or action == "search"


def test_the_check_of_notes_sees_what_one_may_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the owner reads on every path what the others must not."""
    monkeypatch.setenv("EDITOR", "true")
    written = write_notes(tmp_path)
    changed = written[LOCAL][0]
    with Promptuary.open(tmp_path, exact=True, embedder="none") as p:
        seen = seen_by(p, [changed.id])

    showing = {
        "get",
        "list",
        "find",
        "history",
        "diff",
        "archive",
        "restore",
        "undo",
        "write",
        "edit",
        "export",
        "forget",
        "call_tool",
    }
    assert {name.split()[0] for name, text in seen.items() if "secret-of-0" in text} == showing


# Experiences


def learn(folder: Path) -> dict[Principal, list[str]]:
    """Let everybody learn the same and something of their own; return the ids."""
    learnt: dict[Principal, list[str]] = {}
    for number, principal in enumerate(PRINCIPALS):
        secret = f"secret-of-{OWNERS[principal]}-number-{number}-"
        with Promptuary.open(folder, principal=principal, exact=True, embedder="none") as p:
            own = p.experiences.add(
                "task_solution", f"{secret} intent", secret, tags=["shared", secret], problem=secret
            )
            liked = p.experiences.track_preference("indentation", secret)
            learnt[principal] = [own.id, liked.id]
    return learnt


def experienced(p: Promptuary, keys: Sequence[str]) -> dict[str, str]:
    """Return what every read path of experiences gives for every key, errors included; the key itself is left out."""
    seen: dict[str, str] = {}
    for name, read in EXPERIENCE_READS.items():
        for key in keys:
            try:
                result = repr(read(p, key))
            except PromptuaryError as error:
                result = repr(error)
            seen[f"{name} {key}"] = result.replace(key, "KEY")
    return seen


def test_no_principal_sees_an_experience_id_tag_or_count_of_another(tmp_path: Path) -> None:
    """B9: another user's experiences were found, and put into prompts."""
    learnt = learn(tmp_path)
    for principal in PRINCIPALS:
        mine = {one for other in PRINCIPALS if OWNERS[other] == OWNERS[principal] for one in learnt[other]}
        with Promptuary.open(tmp_path, principal=principal, exact=True, embedder="none") as p:
            seen = {one.id for one in p.experiences.list().experiences}
            assert (seen, p.experiences.stats().total) == (mine, len(mine))
    for principal in PRINCIPALS:
        others = [(at, one) for at, one in enumerate(PRINCIPALS) if OWNERS[one] != OWNERS[principal]]
        strange = [f"secret-of-{OWNERS[one]}-number-{at}-" for at, one in others]
        with Promptuary.open(tmp_path, principal=principal, exact=True, embedder="none") as p:
            keys = [one for _, other in others for one in learnt[other]]
            assert_apart(experienced(p, keys), [*strange, *keys])
            own = p.experiences.get(learnt[principal][0])
            assert own is not None
            assert own.use_count == 1


def test_no_command_about_experiences_shows_what_is_somebody_elses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)
    learnt = learn(tmp_path)
    others = [(at, one) for at, one in enumerate(PRINCIPALS) if OWNERS[one] != OWNERS[LOCAL]]
    keys = [one for _, other in others for one in learnt[other]]
    strange = [*keys, *(f"secret-of-{OWNERS[one]}-number-{at}-" for at, one in others)]
    for action, each in EXPERIENCE_COMMANDS.items():
        for arguments in each:
            given = [keys[0] if word == "KEY" else word for word in arguments]
            code = main(["experience", action, *given, "--workspace", str(tmp_path)])
            out, err = capsys.readouterr()
            assert_apart({f"{action} {given}": (out + err).replace(keys[0], "KEY")}, strange)
            assert code != 0 or "KEY" not in arguments or action == "find"


def test_the_check_of_experiences_sees_what_is_ones_own(tmp_path: Path) -> None:
    """The control: the owner reads on every path what the others must not."""
    learnt = learn(tmp_path)
    with Promptuary.open(tmp_path, exact=True, embedder="none") as p:
        seen = experienced(p, learnt[LOCAL][:1])

    showing = {"get", "list", "find_similar", "for_message", "mark_used", "feedback", "prune_expired", "forget"}
    assert {name.split()[0] for name, text in seen.items() if "secret-of-0" in text} == showing


# Sessions


def make_sessions(folder: Path) -> dict[Principal, str]:
    """Let everybody make a session with a note of theirs; those of one group share one."""
    made: dict[Principal, str] = {}
    for number, principal in enumerate(PRINCIPALS):
        secret = f"secret-of-{OWNERS[principal]}-number-{number}-"
        with Promptuary.open(folder, principal=principal, exact=True, embedder="none") as p:
            note = p.memory.write(f"{secret} of the harbour", title=f"{secret} title")
            p.sessions.create(secret, thread=f"{secret}thread", notes=[note.header.id])
            made[principal] = secret
    return made


def test_no_principal_sees_a_session_of_another(tmp_path: Path) -> None:
    made = make_sessions(tmp_path)
    for principal in PRINCIPALS:
        own_names = {name for other, name in made.items() if OWNERS[other] == OWNERS[principal]}
        foreign_names = [name for name in made.values() if name not in own_names]
        with Promptuary.open(tmp_path, principal=principal, exact=True, embedder="none") as p:
            assert {one.name for one in p.sessions.list()} == own_names
            for name, read in SESSION_READS.items():
                for key in foreign_names:
                    try:
                        seen = repr(read(p, key))
                    except PromptuaryError as error:
                        seen = repr(error)
                    assert_apart({f"{name} {key}": seen.replace(key, "KEY")}, foreign_names)
    for principal, name in made.items():
        with Promptuary.open(tmp_path, principal=principal, exact=True, embedder="none") as p:
            session = p.sessions.show(name).session
            assert (session.status, session.version, session.notes_pinned) == ("active", 1, 1)
