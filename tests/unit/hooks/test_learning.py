"""What a hook learns from: every turn once, and again if learning failed."""

import json
from pathlib import Path

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.hooks.agents import AGENTS
from promptuary.hooks.answers import HookAnswers
from promptuary.hooks.transcripts import turns as turns_of
from tests.conftest import Files


def test_a_turn_that_could_not_be_learnt_from_is_learnt_from_the_next_time(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ("We decided to use Postgres.", "We decided to use Python.")
    told = {"cwd": str(files({"a.md": "A."})), "session_id": "s1", "transcript_path": str(tmp_path / "t.jsonl")}
    turns = [
        line
        for number, text in enumerate(said)
        for line in (
            {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": text}},
            {"type": "assistant", "uuid": f"a{number}", "message": {"role": "assistant", "content": "Noted."}},
        )
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in turns))
    agent = AGENTS["claude-code"]
    with Promptuary.open(told["cwd"], exact=True, embedder="none") as promptuary:
        hooks = HookAnswers(promptuary)

        def fail(*_: object, **__: object) -> None:
            raise PromptuaryError("the disk is full")

        with monkeypatch.context() as broken:
            broken.setattr(promptuary.memory, "learn", fail)
            with pytest.raises(PromptuaryError, match="disk is full"):
                hooks.learn(agent, told)
        assert list(promptuary.memory.proposals()) == []

        assert [hooks.learn(agent, told), hooks.learn(agent, told)] == [2, 0]
        assert [one.draft.content for one in promptuary.memory.proposals()] == list(said)


@pytest.mark.parametrize("mark", ["isMeta", "isSidechain"])
def test_what_an_agent_tells_itself_or_another_agent_is_not_taken_for_the_persons_words(mark: str) -> None:
    lines = [
        {"type": "user", "uuid": "1", "message": {"role": "user", "content": "Use Postgres."}},
        {"type": "user", "uuid": "2", "message": {"role": "user", "content": "Use MySQL."}, mark: True},
        {"type": "assistant", "uuid": "3", "message": {"role": "assistant", "content": "MySQL it is."}, mark: True},
        {"type": "assistant", "uuid": "4", "message": {"role": "assistant", "content": "Noted."}},
    ]
    (turn,) = turns_of("".join(f"{json.dumps(line)}\n" for line in lines).encode(), "claude-code")

    assert [message["content"] for message in turn.messages] == ["Use Postgres.", "Noted."]
