"""A past turn run again: with another window, by another model, and nothing of it is recorded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from promptuary.base.errors import ConfigError, PromptuaryError, SourceError
from promptuary.base.messages import Item, Message
from promptuary.blocking import Promptuary
from promptuary.threads.ledger_values import history_before
from tests.conftest import Files


class Heard:
    """A chat model that remembers what it was sent."""

    def __init__(self, error: Exception | None = None) -> None:
        self.heard: list[Sequence[Message]] = []
        self.error = error

    async def complete(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        self.heard.append(messages)
        if self.error is not None:
            raise self.error
        return f"at most {max_tokens}"


@pytest.fixture
def project(files: Files) -> Path:
    return files({"src/app.py": "x = 1\n" * 40, "docs/style.md": "Be brief.\n"})


def opened(path: Path, **options: Any) -> Promptuary:
    return Promptuary.open(path, exact=True, embedder="none", **options)


def converse(promptuary: Promptuary, turns: int) -> list[list[Message]]:
    sent = []
    for number in range(turns):
        turn = promptuary.threads.prepare(f"Message {number} about @file:src/app.py")
        promptuary.threads.finish(turn, f"Answer {number}. " + "There is much to be said about this. " * 12)
        sent.append(turn.messages)
    return sent


def test_a_model_gets_exactly_what_was_sent_then(project: Path) -> None:
    model = Heard()
    with opened(project, models={"fast": model}) as promptuary:
        (sent, *_) = converse(promptuary, 3)
        before = promptuary.threads.turns()
        done = promptuary.threads.rerun(number=1, model="fast")

        assert [list(one) for one in model.heard] == [sent]
        assert (done.answer, done.receipt, list(done.messages)) == ("at most 4096", None, sent)
        assert (promptuary.threads.turns(), len(promptuary.threads.history())) == (before, 6)


def test_another_window_shows_what_would_be_in_and_what_out(project: Path) -> None:
    with opened(project) as promptuary:
        converse(promptuary, 6)
        ledger, history = promptuary.threads.turns(), promptuary.threads.history()
        small = promptuary.threads.rerun(window=1_200)
        same = promptuary.threads.rerun(window=promptuary.settings.effective_window)

        assert (promptuary.threads.turns(), promptuary.threads.history()) == (ledger, history)
    assert small.receipt is not None
    assert small.receipt.window == 1_200
    assert small.receipt.tokens <= 1_200 < small.turn.receipt.tokens
    (changed, *_) = [one for one in small.differences if one.layer == "history"]
    assert changed.before is not None
    assert changed.after is not None
    assert changed.after.tokens < changed.before.tokens
    assert (list(same.differences), list(same.messages)) == ([], list(same.turn.messages))


def test_a_larger_window_has_back_what_had_to_be_compacted_for_the_turn(project: Path) -> None:
    with opened(project, window=1_600) as promptuary:
        converse(promptuary, 8)
        for number in range(2, 9):
            done = promptuary.threads.rerun(number=number, window=100_000)
            said = [message["content"] for message in done.messages]
            assert f"Message {number - 2} about" in "".join(said)  # the last message before it is whole


def test_a_window_and_a_model_together_send_what_was_prepared_anew(project: Path) -> None:
    model = Heard()
    with opened(project, models={"fast": model}) as promptuary:
        converse(promptuary, 5)
        done = promptuary.threads.rerun(number=5, window=1_200, model="fast")

    assert [list(one) for one in model.heard] == [list(done.messages)]
    assert list(done.messages) != list(done.turn.messages)


def test_what_a_message_asks_to_be_remembered_is_not_remembered_again(project: Path) -> None:
    with opened(project) as promptuary:
        turn = promptuary.threads.prepare('Do it so: @remember:"We deploy on Fridays."')
        promptuary.threads.finish(turn, "Yes.")
        (note,) = promptuary.memory.list().headers
        promptuary.memory.forget(note.id)
        promptuary.threads.rerun(number=1, window=8_000)

        assert list(promptuary.memory.list().headers) == []


def test_a_model_that_fails_is_told_in_a_sentence(project: Path) -> None:
    with opened(project, models={"fast": Heard(ValueError("no such luck"))}) as promptuary:
        converse(promptuary, 1)
        with pytest.raises(PromptuaryError, match="the model did not answer: ValueError: no such luck"):
            promptuary.threads.rerun(model="fast")
        with pytest.raises(ConfigError, match="no chat model is called 'slow'"):
            promptuary.threads.rerun(model="slow")
        with pytest.raises(PromptuaryError, match="a window, a model, or both"):
            promptuary.threads.rerun()
        with pytest.raises(PromptuaryError, match="a window has at least 100 tokens"):
            promptuary.threads.rerun(window=3)
        with pytest.raises(SourceError, match="there is no turn 7"):
            promptuary.threads.rerun(number=7, window=4_000)


def item(name: str, turn: str = "", behind: tuple[str, ...] = ()) -> Item:
    return Item(name, "user", name, turn=turn, stands_for=behind, kind="summary" if behind else "message")


def test_the_history_before_a_turn_has_the_summaries_of_then_and_not_those_made_for_the_turn() -> None:
    early = [item("a", "1"), item("b", "2"), item("S", behind=("a",)), item("c", "3")]
    made_for_4 = [item("T", behind=("S", "a", "b"))]
    items = [*early, *made_for_4, item("d", "4"), item("U", behind=("T", "c"))]

    assert [one.id for one in history_before(items, "4")] == ["S", "b", "c"]
    assert [one.id for one in history_before(items, "3")] == ["a", "b"]
    assert [one.id for one in history_before(items, "1")] == []
    assert [one.id for one in history_before(items, None)] == ["T", "c", "d"]
