"""Finished turns become experiences: by themselves, once, in the transaction of the turn, and never at its cost."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import Message
from promptuary.base.principals import Principal
from promptuary.blocking import Promptuary
from promptuary.experiences.store import ExperienceStore

PROBLEM = "ModuleNotFoundError: No module named 'numpy'"


def tried(*steps: tuple[str, str]) -> list[Message]:
    """Return a reply with these commands and what came of them."""
    messages: list[Message] = []
    for number, (command, result) in enumerate(steps):
        call = {"id": f"c{number}", "name": "bash", "arguments": json.dumps({"command": command})}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})  # type: ignore[list-item]
        messages.append({"role": "tool", "content": result, "tool_call_id": f"c{number}"})
    return [*messages, {"role": "assistant", "content": "Done."}]


RECOVERED = tried(("pytest tests", PROBLEM), ("uv run pytest tests", "3 passed"))


def opened(path: Path, **options: Any) -> Promptuary:
    return Promptuary.open(path, exact=True, **options)


def finish(promptuary: Promptuary, words: str, reply: Sequence[Message] | str) -> None:
    promptuary.threads.finish(promptuary.threads.prepare(words), reply)


def test_a_finished_turn_is_recorded_with_where_it_comes_from(tmp_path: Path) -> None:
    with opened(tmp_path) as promptuary:
        turn = promptuary.threads.prepare("Run the tests.")
        assert promptuary.experiences.list().total == 0
        promptuary.threads.finish(turn, RECOVERED)
    with opened(tmp_path) as promptuary:
        found = {one.type: one for one in promptuary.experiences.list().experiences}

    assert set(found) == {"tool_chain", "error_recovery"}
    recovery = found["error_recovery"]
    assert (recovery.problem, recovery.thread, recovery.turn, recovery.trust) == (PROBLEM, "main", turn.id, "agent")
    assert recovery.tags == ("modulenotfounderror", "bash")


def test_b9_the_same_again_adds_no_row_and_another_user_sees_none(tmp_path: Path) -> None:
    with opened(tmp_path) as promptuary:
        for _ in range(5):
            finish(promptuary, "Run the tests.", RECOVERED)
        listed = promptuary.experiences.list()
    with opened(tmp_path, principal=Principal(user="eve")) as other:
        assert other.experiences.list().total == 0

    assert listed.total == 2
    assert {one.use_count for one in listed.experiences} == {5}


def test_an_abandoned_turn_teaches_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as promptuary:
        promptuary.threads.abandon(promptuary.threads.prepare("The fix was to delete the lock file."))
        assert promptuary.experiences.list().total == 0


def test_what_the_person_says_that_they_learnt_is_recorded(tmp_path: Path) -> None:
    with opened(tmp_path) as promptuary:
        finish(promptuary, "The fix was to delete the lock file.", "Good.")
        [one] = promptuary.experiences.list().experiences

    assert (one.type, one.trust, one.base_weight, one.solution) == (
        "error_recovery",
        "person",
        0.4,
        {"fix": "delete the lock file"},
    )


def test_it_can_be_switched_off_by_the_person_and_not_by_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "promptuary.toml").write_text("experiences = false\n", encoding="utf-8")
    with opened(tmp_path, experiences=False) as promptuary:
        finish(promptuary, "Run the tests.", RECOVERED)
        assert promptuary.experiences.list().total == 0
    with opened(tmp_path) as promptuary:
        finish(promptuary, "Run the tests.", RECOVERED)
        assert promptuary.experiences.list().total == 2


def test_a_failure_to_record_is_in_the_receipt_and_the_answer_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    with opened(tmp_path) as promptuary:
        turn = promptuary.threads.prepare("Run the tests.")
        monkeypatch.setattr(ExperienceStore, "add", full)
        receipt = promptuary.threads.finish(turn, RECOVERED)
        history = promptuary.threads.history()

    assert [(one.layer, one.hook, one.reason) for one in receipt.failures] == [
        ("experiences", "record", "OSError: no space left")
    ]
    assert history[-1].content == "Done."


def test_an_agent_records_a_turn_itself_and_finishing_it_adds_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as promptuary:
        turn = promptuary.threads.prepare("Run the tests.")
        stored = promptuary.experiences.record(RECOVERED, turn=turn)
        promptuary.threads.finish(turn, RECOVERED)
        listed = promptuary.experiences.list().experiences

    assert {one.id for one in stored} == {one.id for one in listed}
    assert {one.use_count for one in listed} == {1}


def test_the_conversation_of_another_program_is_recorded_without_a_turn(tmp_path: Path) -> None:
    asked: Message = {"role": "user", "content": "Run the tests."}
    with opened(tmp_path) as promptuary:
        stored = promptuary.experiences.record([asked, *RECOVERED])
        assert [one.intent for one in stored] == ["Run the tests."] * 2
        with pytest.raises(PromptuaryError, match="begin with that of the person"):
            promptuary.experiences.record(RECOVERED)
        with pytest.raises(PromptuaryError, match="begin with that of the person"):
            promptuary.experiences.record("Run the tests.")  # type: ignore[arg-type]  # a slip


def test_a_turn_that_reached_out_is_kept_as_external_until_somebody_says_that_it_helped(tmp_path: Path) -> None:
    with opened(tmp_path) as promptuary:
        finish(promptuary, "Run the tests.", tried(("curl example.org", "a page")))
        [one] = promptuary.experiences.list().experiences
        assert one.trust == "external"
        assert promptuary.experiences.feedback(one.id, "helped").trust == "agent"


def test_what_follows_a_call_that_reached_out_is_external_too(tmp_path: Path) -> None:
    with opened(tmp_path) as promptuary:
        finish(promptuary, "Look it up.", tried(("curl example.org", "a page")))
        finish(promptuary, "Run the tests.", RECOVERED)
        assert {one.trust for one in promptuary.experiences.list().experiences} == {"external"}


def test_a_replay_tells_what_became_of_the_experiences_that_were_shown(tmp_path: Path) -> None:
    with opened(tmp_path, embedder="none") as promptuary:
        one = promptuary.experiences.add("task_solution", "deploy the parser", {"fix": "make ship"})
        turn = promptuary.threads.prepare("How do I deploy the parser?")
        assert one.address in [entry.source for entry in turn.receipt.entries if entry.status == "in"]
        promptuary.threads.finish(turn, "With make ship.")
        before = promptuary.threads.replay()
        promptuary.experiences.prune_expired(1.0)
        promptuary.experiences.apply_decay(0.000001)
        promptuary.experiences.prune_expired(1.0)
        after = promptuary.threads.replay()

    assert before.drift == []
    assert [(drift.path, drift.kind) for drift in after.drift] == [(one.address, "gone")]


@pytest.mark.parametrize("trust", ["a person's own", "what a tool said"])
def test_no_byte_of_a_forgotten_experience_is_left_in_the_prompts_that_showed_it(tmp_path: Path, trust: str) -> None:
    with opened(tmp_path) as promptuary:
        if trust == "what a tool said":
            asked: Message = {"role": "user", "content": "Open the zeppelin hangar Xq1int."}
            [one, *others] = promptuary.experiences.record([asked, *hangar()])
        else:
            one = promptuary.experiences.add("task_solution", "open the zeppelin hangar Xq1int", {"Xq1key": "Xq1way"})
            others = []
        for thread in ("done", "open"):
            turn = promptuary.threads.prepare("How do I open the zeppelin hangar?", thread=thread)
            assert "Xq1" in str(turn.messages)
            if thread == "done":
                promptuary.threads.finish(turn, "Like this.")
        for each in (one, *others):
            promptuary.experiences.forget(each.id)
        replays = [promptuary.threads.replay(thread=name) for name in ("done", "open")]

    assert [one.address in found.forgotten for found in replays] == [True, True]
    assert ["[forgotten: experience:" in str(found.turn.messages) for found in replays] == [True, True]
    assert [file for file in tmp_path.rglob("*") if file.is_file() and b"Xq1" in file.read_bytes()] == []


def hangar() -> list[Message]:
    """Return calls of a tool of which the first fails, with words that are nowhere else."""
    messages: list[Message] = []
    for number, (command, result, failed) in enumerate([("Xq1a", "Error: Xq1bad", True), ("Xq1b", "open", False)]):
        call = {"id": f"c{number}", "name": "bash", "arguments": json.dumps({"command": command})}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})  # type: ignore[list-item]
        messages.append({"role": "tool", "content": result, "tool_call_id": f"c{number}", "is_error": failed})
    return messages
