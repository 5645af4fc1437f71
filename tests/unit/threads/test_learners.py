"""Those who learn from finished turns: each in the transaction of the turn, and none at its cost."""

from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.context.receipt import Receipt
from promptuary.experiences.store import ExperienceStore
from promptuary.memory.writeback.store import NoteQueue
from promptuary.testing.scripted import ScriptedModel
from tests.conftest import Files

SAID = "We decided to use Postgres. The fix was to delete the lock file."


@pytest.mark.parametrize(
    ("message", "count"),
    [
        ("Always use tabs here.", 1),
        ("Always use tabs here. See @file:a.py, #a.py and @file:gone.py", 1),
        ('Always use tabs here. @remember:"we use tabs"', 0),
    ],
)
def test_only_a_turn_that_wrote_a_note_itself_is_not_learnt_from(files: Files, message: str, count: int) -> None:
    with Promptuary.open(files({"a.py": "a = 1\n"}), exact=True, embedder="none") as promptuary:
        promptuary.threads.finish(promptuary.threads.prepare(message), "All right.")

        assert len(promptuary.memory.proposals()) == count


def learnt(folder: Path) -> tuple[Receipt, list[str], list[str]]:
    """Return the receipt of a turn, what it proposes as notes, and the types of experiences that it taught."""
    with Promptuary.open(folder, exact=True, embedder="none") as p:
        receipt = p.threads.finish(p.threads.prepare(SAID), "Good day.", cost=0.5)
        assert not p.memory.catch_up(10)
        assert [item.content for item in p.threads.history()] == [SAID, "Good day."]
        stored = p.threads.replay().turn
        assert list(stored.receipt.failures) == list(receipt.failures)
        assert stored.cost == 0.5
        notes = [proposal.draft.content or "" for proposal in p.memory.proposals()]
        return receipt, notes, sorted(experience.type for experience in p.experiences.list().experiences)


def test_all_learn_from_the_messages_of_a_turn(tmp_path: Path) -> None:
    receipt, notes, experiences = learnt(tmp_path)

    assert notes == ["We decided to use Postgres."]
    assert experiences == ["error_recovery", "task_solution"]
    assert not receipt.failures


@pytest.mark.parametrize(("store", "failing"), [(NoteQueue, "writeback"), (ExperienceStore, "experiences")])
def test_one_who_fails_loses_neither_the_turn_nor_what_the_others_learn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: type, failing: str
) -> None:
    add = store.add  # type: ignore[attr-defined]

    def fail(self: Any, given: Any) -> None:
        add(self, given)
        raise RuntimeError(f"no room\nfor {failing}")

    monkeypatch.setattr(store, "add", fail)
    receipt, notes, experiences = learnt(tmp_path)

    assert bool(notes) == (failing != "writeback")
    assert bool(experiences) == (failing != "experiences")
    [failure] = receipt.failures
    assert (failure.layer, failure.hook, failure.code) == (failing, "record", "ERROR")
    assert failure.reason == f"RuntimeError: no room⏎for {failing}"


def test_what_was_undone_waits_for_no_learner(tmp_path: Path) -> None:
    models = {"m": ScriptedModel(lambda _: ValueError("down"))}
    options: dict[str, Any] = {"models": models, "writeback_model": "m", "experience_model": "m", "embedder": "none"}
    with Promptuary.open(tmp_path, exact=True, **options) as p:
        p.memory.learn_later()
        p.threads.finish(p.threads.prepare(SAID), "Good day.")
        assert len(p.memory.catch_up()) == 2
        p.threads.undo()
        assert not p.memory.catch_up()
