"""Any generated turn is replayed with the exact bytes that were sent, or names each source that has changed.

There are 200 of them under ``make torture``.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from promptuary.blocking import Promptuary
from promptuary.context.receipt import Receipt
from tests.conftest import TORTURE, Files, git

if TYPE_CHECKING:
    from promptuary.base.messages import Message
    from promptuary.memory.values import NoteHeader

TURNS: Final = 200 if TORTURE else 60
THREADS: Final = ("main", "review", "side")
FILES: Final = ("src/a.py", "src/b.py", "docs/c.md")
SEED: Final = 8


class Conversation:
    """Turns about files, notes and commits, with what each of them was sent."""

    def __init__(self, promptuary: Promptuary, folder: Path) -> None:
        self.promptuary, self.folder = promptuary, folder
        self.random = random.Random(SEED)
        self.sent: dict[tuple[str, int], tuple[list[Message], Receipt]] = {}
        self.notes: list[NoteHeader] = []

    def remember(self, number: int) -> None:
        note = self.promptuary.memory.write(f"Fact {number} about the code.", title=f"Fact {number}")
        self.notes.append(note.header)

    def run(self) -> None:
        steps: tuple[tuple[Callable[[int], str], int], ...] = (
            (lambda _: f"@file:{self.random.choice(FILES)}", 30),
            (lambda _: f"@file:{self.random.choice(FILES)}:2-3", 20),
            (lambda _: f"@memory:{self.random.choice(self.notes).id}", 20),
            (lambda _: "@diff", 1),
            (lambda _: "@commit:HEAD", 1),
            (lambda _: "@folder:docs", 1),
            (lambda _: f"#{self.random.choice(FILES)}", 5),
            (lambda number: f"nothing, {number}", 30),
        )
        for number in range(1, 4):
            self.remember(number)
        for number in range(TURNS):
            if number == TURNS // 2:
                self.remember(0)
            if self.random.random() < 0.2:
                path = self.folder / self.random.choice(FILES)
                path.write_text(f"line of {number}\n" * 5)
            thread = self.random.choice(THREADS)
            (what,) = self.random.choices([one for one, _ in steps], [weight for _, weight in steps])
            if number < len(steps):  # each of them at least once, the rare ones, too
                what = steps[number][0]
            turn = self.promptuary.threads.prepare(f"Turn {number}: see {what(number)}", thread=thread)
            self.sent[thread, turn.number] = turn.messages, turn.receipt
            if self.random.random() < 0.85:
                self.promptuary.threads.finish(turn, f"Answer {number}. " + "It goes on and on. " * 10)


def changed_paths(receipt: Receipt, read: Callable[[str], str]) -> set[str]:
    """Return the files of a receipt that are no longer what it says."""
    seen = {
        entry.source.removeprefix("file:"): entry.revision
        for entry in receipt.entries
        if entry.source.startswith("file:") and entry.status != "out" and entry.revision
    }
    return {path for path, revision in seen.items() if read(path) != revision}


@pytest.mark.torture
def test_session_replay_was_promised_and_never_built_here_any_turn_is_exact_or_names_each_changed_source(
    files: Files,
) -> None:
    folder = files({"AGENTS.md": "Be kind.\n", **{name: f"the first {name}\n" * 5 for name in FILES}})
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    with Promptuary.open(folder, exact=True, embedder="none", window=3_000) as promptuary:
        conversation = Conversation(promptuary, folder)
        conversation.run()
        changed, archived, _, forgotten = conversation.notes
        (folder / "src/a.py").write_text("something else\n")
        (folder / "src/b.py").unlink()
        (folder / "AGENTS.md").write_text("Be brief.\n")
        promptuary.memory.write("Fact 1 is another now.", id=changed.id)
        promptuary.memory.archive(archived.id)
        promptuary.memory.forget(forgotten.id)
        git(folder, "commit", "-qam", "second")
        revisions = {
            path: promptuary.threads._app.workspace.read(path).sha256
            for path in (*FILES, "AGENTS.md")
            if (folder / path).exists()
        }
        named: set[tuple[str, str]] = set()
        untouched = 0
        for (thread, number), (messages, receipt) in conversation.sent.items():
            replay = promptuary.threads.replay(thread=thread, number=number)
            drift = {one.path: one.kind for one in replay.drift}
            named |= set(drift.items())
            assert changed_paths(receipt, lambda path: revisions.get(path, "")) <= drift.keys()
            notes = {entry.source for entry in receipt.entries if entry.status != "out"}
            assert (drift.get(changed.address) == "changed") >= (changed.address in notes)
            assert (drift.get(archived.address) == "archived") >= (archived.address in notes)
            if list(replay.turn.messages) == messages:
                untouched += 1
            else:
                assert list(replay.forgotten) == [forgotten.address]
                assert "Fact 0" not in repr(replay.turn)

    assert untouched >= TURNS // 4
    kinds = {("src/b.py", "gone"), ("src/a.py", "changed"), ("AGENTS.md", "changed"), ("commit:HEAD", "changed")}
    assert kinds <= named
    assert {(changed.address, "changed"), (archived.address, "archived"), ("memory:digest", "changed")} <= named
    assert {"diff"} <= {path for path, _ in named}
