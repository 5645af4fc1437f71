"""Two principals of one workspace never see anything of each other, on any read path there is.

Every way to read threads and notes is in a registry below. A new public method of a store, of a facade or of the
command line that is in none of the registries fails ``test_every_read_path_is_registered``.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptuary import Layer, LayerContext, Principal, Recall, RecallRequest
from promptuary.blocking import BlockingMemory, BlockingModels, BlockingSearch, BlockingThreads, Promptuary
from promptuary.cli.arguments import COMMANDS, make_parser
from promptuary.cli.main import main
from promptuary.core.errors import PromptuaryError, SourceError
from promptuary.core.layers import Scope
from promptuary.core.notes import KINDS, STATUSES, NoteHeader
from promptuary.core.ports.threads import PRIVATE_SCOPES, StateDatabase, StateKey, ThreadStore
from promptuary.core.principals import LOCAL
from promptuary.storage.sqlite.state import SqliteState
from tests.conftest import TORTURE

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
    "turns": lambda store: [store.turns(name) for name in THREADS],
    "threads": lambda store: store.threads(),
    "states": lambda store: store.states(EVERY_STATE),
}
STORE_WRITES: Final = {"apply"}
DATABASE: Final = {
    "threads",
    "notes",
    "forgetting",
    "writeback_queue",
    "proposals",
    "transaction",
    "persistent",
    "is_current",
    "close",
}
"""``threads`` gives a store, whose reads are above; notes and proposals are read through memory alone."""

THREAD_READS: Final[dict[str, Callable[[Promptuary], object]]] = {
    "attachments": lambda p: [p.threads.attachments(thread=name) for name in THREADS],
    "list": lambda p: p.threads.list(),
    "turns": lambda p: [p.threads.turns(thread=name) for name in THREADS],
    "history": lambda p: [
        p.threads.history(thread=name, everything=whole) for name in THREADS for whole in (False, True)
    ],
    "replay": lambda p: [replayed(p, name, number) for name in THREADS for number in (None, 1, 2)],
    "stats": lambda p: [p.threads.stats(thread=name) for name in THREADS],
    "needs_compaction": lambda p: [p.threads.needs_compaction(thread=name) for name in THREADS],
    "prepare": lambda p: p.threads.prepare("what do you know?", thread="main").messages,
}
THREAD_WRITES: Final = {"finish", "abandon", "attach", "detach", "detach_all", "pin"}
ENGINE: Final = {
    "open",
    "path",
    "settings",
    "principal",
    "expand",
    "complete",
    "find_files",
    "adopt",
    "examine",
    "notes",
    "close",
}
"""These read the files of the workspace, which its principals share."""
SEARCH: Final = {"index", "remove", "embed", "find", "status", "watch", "stop"}
"""The index of the workspace's folders, which its principals share."""
MODELS: Final = {"list", "show", "add", "remove"}
"""The models of the person on this machine, which belong to no workspace."""

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
}
"""Each with the id or the path of a note of everybody: what changes a note must not change, or tell of, another's."""
MEMORY_WRITES: Final = {"tools", "remember"}
"""It takes no id, so there is nothing of others that it could return."""

COMMAND_READS: Final[dict[str, Sequence[Sequence[str]]]] = {
    "expand": [["what?", "--thread", name, "--json"] for name in THREADS],
    "context": [["list", "--json", "-t", name] for name in THREADS],
    "thread": [
        ["list", "--json"],
        *([action, "--json", "-t", name] for action in ("show", "history", "replay") for name in THREADS),
    ],
}
COMMAND_ACTIONS: Final = {
    "context": {"add", "drop", "pin", "unpin", "list", "tokens", "find", "clear"},
    "thread": {"list", "show", "history", "replay"},
}
MEMORY_COMMANDS: Final[dict[str, Sequence[Sequence[str]]]] = {
    "list": [[], ["--status", "all"], ["--as-of", "2099-01-01"]],
    "search": [["secret"], ["KEY"], ["--as-of", "2099-01-01", "secret"]],
    **{action: [["KEY"]] for action in ("show", "history", "diff", "archive", "restore", "undo", "accept", "reject")},
    "write": [["--id", "KEY", "--pin"]],
    "adopt": [[], ["KEY"], ["--all"]],
    "proposals": [[]],
    "edit": [["KEY"]],
    "forget": [["KEY", "--dry-run"], ["KEY", "--yes", "--everywhere"]],
    "export": [["FOLDER"]],
    "import": [[".promptuary"], [".promptuary/memory/agents/default"], [".", "--dry-run"]],
}
"""The actions of ``memory``; KEY is the id or the path of a note of everybody, FOLDER a new folder."""
COMMANDS_WITHOUT_THREADS: Final = {
    "memory",
    "remember",
    "adopt",
    "complete",
    "doctor",
    "index",
    "search",
    "model",
    "watch",
    "config",
}

EVERY_STATE: list[StateKey] = [
    StateKey(layer, scope, name)
    for layer in ("diary of the thread", "diary of the user", "file_reference", "attachments")
    for scope in ("thread", "user")
    for name in ("", *THREADS)
]
EVERY_ITEM: list[str] = []
"""The ids of all items of all principals: who knows an id must still not get what is not theirs."""


def exported(p: Promptuary) -> object:
    """Return what an export says, and everything that it writes."""
    with TemporaryDirectory() as place:
        headers = p.memory.export(place)
        files = [(str(file.relative_to(place)), file.read_text()) for file in Path(place).rglob("*.md")]
        return headers, files


def replayed(p: Promptuary, thread: str, number: int | None) -> object:
    with suppress(SourceError):
        return p.threads.replay(thread=thread, number=number)
    return None


def test_every_read_path_is_registered() -> None:
    def public(cls: type) -> set[str]:
        return {name for name in vars(cls) if not name.startswith("_")}

    assert public(ThreadStore) == STORE_READS.keys() | STORE_WRITES
    assert public(StateDatabase) == DATABASE
    assert public(BlockingThreads) == THREAD_READS.keys() | THREAD_WRITES
    assert public(BlockingSearch) == SEARCH
    assert public(BlockingModels) == MODELS
    assert public(BlockingMemory) == MEMORY_READS.keys() | MEMORY_WRITES
    assert set(choices("memory")) == MEMORY_COMMANDS.keys()
    assert public(Promptuary) == ENGINE
    assert {command.name for command in COMMANDS} == COMMAND_READS.keys() | COMMANDS_WITHOUT_THREADS
    assert set(get_args(Scope)) - {"execution", "resource", "global"} == PRIVATE_SCOPES
    for command, known in COMMAND_ACTIONS.items():
        assert set(choices(command)) == known


def choices(command: str) -> Sequence[str]:
    parser = make_parser(command)._subparsers._group_actions[0].choices[command]  # type: ignore[union-attr,index]
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


@settings(max_examples=300 if TORTURE else 12)
@given(done=steps())
def test_no_principal_sees_a_thread_turn_item_state_receipt_or_count_of_another(done: list[Step]) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place)
        carry_out(folder, done)
        with closing(SqliteState(folder / ".promptuary" / "state.db")) as state:
            every = [
                one.id for principal in PRINCIPALS for name in THREADS for one in state.threads(principal).history(name)
            ]
            EVERY_ITEM[:] = every
            for principal in PRINCIPALS:
                store, mine = state.threads(principal), own(principal, done)
                seen = {name: repr(read(store)) for name, read in STORE_READS.items()}
                assert_apart(seen, strangers(principal, done))
                turns = [step for step in mine if step.kind not in {"attach", "queue"}]
                assert sum(one.turns for one in store.threads()) == len(turns)
                assert {one.id for one in store.threads()} == {step.thread for step in mine}
        for principal in PRINCIPALS:
            with opened(folder, principal) as promptuary:
                seen = {name: repr(read(promptuary)) for name, read in THREAD_READS.items()}
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


def seen_by(promptuary: Promptuary, keys: Sequence[str]) -> dict[str, str]:
    """Return what every read path of memory gives for every key, errors included; the key itself is left out."""
    seen: dict[str, str] = {}
    for name, read in MEMORY_READS.items():
        for key in keys:
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
    keys = [name for headers in written.values() for header in headers[:2] for name in (header.id, header.path)]
    for principal in PRINCIPALS:
        own_ids = {one.id for other in PRINCIPALS if OWNERS[other] == OWNERS[principal] for one in written[other]}
        with Promptuary.open(tmp_path, principal=principal, exact=True, embedder="none") as p:
            listed = p.memory.list(statuses=STATUSES)
            assert {one.id for one in listed.headers} == own_ids
            assert listed.total == len(own_ids)
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
