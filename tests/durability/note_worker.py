"""Processes that work with notes and say which of their writes they were told are safe; and what must then be there.

A process starts as the fork of one that has loaded everything, so that a thousand of them can be killed in minutes.
Every text that is written ends with its own hash: whoever reads half of one notices.
"""

import hashlib
import json
import multiprocessing
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Final, Literal

from promptuary.base import durable
from promptuary.base.errors import NoteConflictError, PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.memory.memory import Memory
from promptuary.memory.values import Note, NoteDraft, NoteHeader, NoteKind

AGENT: Final = "memory/agents/default"
KINDS: Final[Sequence[NoteKind]] = ("user", "feedback", "project", "reference")
WORDS: Final = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
MOST_NOTES: Final = 20
"""So many notes are written; then those are changed."""

Operation = Literal["create", "update", "if_rev", "archive", "restore", "undo", "move", "adopt"]
OPERATIONS: Final[Sequence[Operation]] = (
    *("create", "update", "update", "if_rev", "if_rev", "archive", "restore", "undo", "undo", "move", "adopt"),
)

Work = Callable[[Path, Connection, int, int], None]
"""Works in a workspace, says what is done, and is given a seed and a count."""

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [
        *(__name__, "tests.durability.test_notes_and_faults"),
        # What a process imports when it first needs it: these import the rest.
        *(f"promptuary.{name}" for name in ("search.chunks.chunker", "models.minilm", "storage.index.index")),
        *("promptuary.state", "promptuary.memory.memories", "promptuary.database.tenant"),
        *("promptuary.memory.store.journal", "promptuary.threads.store.forgetting", "tantivy"),
        "promptuary.state",
    ]
)


@dataclass(frozen=True, slots=True)
class Ack:
    """A write that was acknowledged: what was done, to which note, and which revision it has since.

    ``before`` is the revision that the writer asked for. ``conflict``: it was told that the note has another.
    """

    operation: str
    note: str
    rev: str
    before: str = ""
    conflict: bool = False


def sealed(text: str) -> str:
    """Return a text that ends with its own hash."""
    said = text.strip()
    return f"{said}\n\nseal {hashlib.sha256(said.encode()).hexdigest()[:16]}"


def is_whole(text: str) -> bool:
    """Return whether the text of a file, below its front matter, is as it was sealed."""
    said, _, seal = text.partition("\n---\n")[2].strip().rpartition("\n\nseal ")
    return seal == hashlib.sha256(said.encode()).hexdigest()[:16]


def some_text(chance: random.Random) -> str:
    """Return a text of a few words up to several pages."""
    words = " ".join(chance.choices(WORDS, k=chance.choice([5, 30, 300, 3000])))
    return sealed(f"{chance.choice(WORDS)} {chance.randrange(10**9)}: {words}")


@contextmanager
def opened(workspace: Path) -> Iterator[Memory]:
    """Open the memory of a workspace, without any model."""
    with Promptuary.open(workspace, exact=True, embedder="none") as promptuary:
        yield promptuary._app.memory.of()


def roots(workspace: Path) -> Mapping[str, Path]:
    """Return the folders of notes of each scope."""
    own = Path(os.environ["HOME"]) / ".local/share/promptuary"
    return {"project": workspace / ".promptuary" / AGENT, "user": own / AGENT}


def files(workspace: Path) -> Iterator[Path]:
    """Yield every file of a note."""
    for root in roots(workspace).values():
        yield from root.glob("*/*/*.md")


class Worker:
    """Does one operation after the other, each drawn by chance."""

    def __init__(self, memory: Memory, workspace: Path, chance: random.Random) -> None:
        self._memory, self._workspace, self._chance = memory, workspace, chance
        self._seen: Sequence[NoteHeader] = ()

    def step(self) -> Ack:
        """Do something, and return what was acknowledged. What is known of the notes is a few steps old."""
        if not self._seen or self._chance.random() < 0.3:
            self._seen = self._memory.list(statuses=("active", "archived")).headers
        every = self._seen
        drawn = self._chance.choice(OPERATIONS) if every else "create"
        is_by_hand = drawn == "adopt" and os.environ.get("PROMPTUARY_NOTES") == "database"
        if is_by_hand or (drawn == "create" and len(every) >= MOST_NOTES):
            drawn = "update"
        if drawn in ("create", "adopt"):
            return self._created() if drawn == "create" else self._adopted()
        header = self._chance.choice(every)
        before = header.rev if drawn == "if_rev" else ""
        try:
            return Ack(drawn, header.id, self._new_rev(drawn, header), before)
        except NoteConflictError:
            return Ack(drawn, header.id, "", before, conflict=True)
        except PromptuaryError:
            if drawn == "undo" and not self._memory.history(header.id):  # it came by hand, and nobody changed it
                return Ack(drawn, header.id, "", before, conflict=True)
            raise

    def _new_rev(self, operation: Operation, header: NoteHeader) -> str:
        """Change a note, and return its revision; empty if nothing changed, for which the journal has no entry."""
        found = self._memory.exact(header.id)
        rev = self._changed(operation, header).header.rev
        return "" if found is not None and found.header.rev == rev else rev

    def _created(self) -> Ack:
        draft = NoteDraft(
            content=some_text(self._chance),
            kind=self._chance.choice(KINDS),
            audience=self._chance.choice(("private", "shared")),
        )
        note = self._memory.put(draft)
        return Ack("create", note.header.id, note.header.rev)

    def _changed(self, operation: Operation, header: NoteHeader) -> Note:
        match operation:
            case "archive":
                return self._memory.archive(header.id)
            case "restore":
                return self._memory.restore(header.id)
            case "undo":
                return self._memory.undo(header.id)
            case "move":
                other = "private" if header.audience == "shared" else "shared"
                return self._memory.put(NoteDraft(id=header.id, audience=other))  # type: ignore[arg-type]
            case _:
                draft = NoteDraft(id=header.id, content=some_text(self._chance))
                return self._memory.put(draft, if_rev=header.rev if operation == "if_rev" else None)

    def _adopted(self) -> Ack:
        """Adopt a file that a clone might have brought, unless another process has changed it since."""
        name = f"{self._chance.randrange(10**6):06}"
        folder = roots(self._workspace)["project"] / "shared" / "reference"
        folder.mkdir(parents=True, exist_ok=True)
        text = f"---\nid: hand-{name}\nowner: somebody\n---\n{some_text(self._chance)}\n"
        # Made elsewhere: another process takes a temporary file beside the notes for one that was left behind.
        durable.replace(self._workspace / f"{name}-{os.getpid()}.md", text.encode(), mode=0o644)
        (self._workspace / f"{name}-{os.getpid()}.md").rename(folder / f"hand-{name}.md")
        durable.sync_folder(folder)
        self._memory.refresh(wait=True)
        try:
            taken = self._memory.adopt([f"shared/reference/hand-{name}.md"])
        except PromptuaryError:
            return Ack("adopt", f"hand-{name}", "", conflict=True)
        return Ack("adopt", taken[0].id, taken[0].rev)


def work_for_ever(workspace: Path, tells: Connection, seed: int, _: int) -> None:
    """Write until killed."""
    with opened(workspace) as memory:
        worker = Worker(memory, workspace, random.Random(seed))
        while True:
            tell(tells, worker.step())


def work(workspace: Path, tells: Connection, seed: int, count: int) -> None:
    """Do ``count`` operations, and no more."""
    with opened(workspace) as memory:
        worker = Worker(memory, workspace, random.Random(seed))
        for _ in range(count):
            tell(tells, worker.step())


def tell(tells: Connection, ack: Ack) -> None:
    """Say so at once and in one piece: this process may not live to say more."""
    tells.send_bytes(json.dumps(asdict(ack)).encode())


def start(target: Work, workspace: Path, seed: int, count: int = 0) -> tuple[ForkServerProcess, Connection]:
    """Start a process, and return it with what it says."""
    hears, tells = _context.Pipe(duplex=False)
    process = _context.Process(target=_run, args=(_settings(), target, workspace, tells, seed, count))
    process.start()
    tells.close()
    return process, hears


def _settings() -> Mapping[str, str]:
    """Return where this process has its files and its database: the process that forks was started before."""
    return {name: value for name, value in os.environ.items() if name == "HOME" or name.startswith("PROMPTUARY_")}


def _run(settings: Mapping[str, str], target: Work, *given: Any) -> None:
    # The process that forks has the settings of the test that started it, which may have been another.
    for name in [name for name in os.environ if name.startswith("PROMPTUARY_")]:
        del os.environ[name]
    os.environ.update(settings)
    target(*given)


def told(hears: Connection) -> Ack:
    """Return what a process says next. Raises ``EOFError`` when it has ended."""
    return Ack(**json.loads(hears.recv_bytes()))


def heard(hears: Connection) -> list[Ack]:
    """Return everything that a process said until it ended."""
    acks: list[Ack] = []
    try:
        while True:
            acks.append(told(hears))
    except EOFError:
        return acks
    finally:
        hears.close()


def history_problems(memory: Memory, acks: Sequence[Ack]) -> Iterator[str]:
    """Yield what is wrong with the histories of notes, given what was acknowledged of them."""
    for note in sorted({ack.note for ack in acks}):
        try:
            changes = memory.history(note)
        except PromptuaryError as error:
            yield f"{note}: {error}"
            continue
        revs = [change.rev for change in changes]
        for change in changes:
            if change.text is not None and hashlib.sha256(change.text.encode()).hexdigest() != change.rev:
                yield f"{note}: the text of {change.kind} {change.number} is not its revision"
        for earlier, later in pairwise(changes):
            if later.before != earlier.rev:
                yield f"{note}: {later.kind} {later.number} does not follow {earlier.kind} {earlier.number}"
        lost = [ack for ack in acks if ack.note == note and ack.rev and ack.rev not in revs]
        yield from (f"{note}: {ack.operation} {ack.rev} is not in the journal" for ack in lost)
        if not revs:  # a file by hand that nobody adopted or changed has no history
            continue
        found = memory.get(note)
        if found is None or found.header.rev != revs[-1]:
            there = "missing" if found is None else f"{found.header.rev[:8]} at {found.header.path}"
            told = [f"{one.kind} {one.rev[:8]} after {one.before[:8]} at {one.path}" for one in changes]
            yield f"{note}: the file is {there}, which is not what the journal has last: {told}"
