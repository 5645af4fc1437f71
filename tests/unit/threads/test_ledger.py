"""Looking back: which threads there were, exactly what was sent, and what became of its sources."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from promptuary.base.errors import Code, PromptuaryError, SourceError
from promptuary.blocking import Promptuary
from promptuary.threads.records import Totals
from tests.conftest import Files

if TYPE_CHECKING:
    from promptuary.base.messages import Message


@pytest.fixture
def project(files: Files) -> Path:
    return files({"src/app.py": "x = 1\ny = 2\n", "docs/style.md": "Be brief.\n", "notes.txt": "remember\n"})


def opened(path: Path) -> Promptuary:
    return Promptuary.open(path, exact=True)


def test_a_replay_is_exactly_what_was_sent_in_a_new_program_too(project: Path) -> None:
    with opened(project) as promptuary:
        turn = promptuary.threads.prepare("Compare #docs/style.md with @file:src/app.py 🧑‍🚀\u200b\ud800")
        promptuary.threads.finish(turn, "Done.")
        promptuary.threads.prepare("And?")
    with opened(project) as promptuary:
        replay = promptuary.threads.replay(number=1)

    assert list(replay.turn.messages) == turn.messages
    assert (replay.turn.id, replay.turn.status, replay.turn.text) == (turn.id, "finished", turn.text)
    assert list(replay.drift) == []


def test_totals_count_what_was_sent_what_was_answered_and_what_it_cost(project: Path) -> None:
    calls: Message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c", "name": "look", "arguments": '{"at": "app"}'}],
    }
    with opened(project) as promptuary:
        turns = [promptuary.threads.prepare("One")]
        promptuary.threads.finish(turns[0], "It is fine.", cost=0.5)
        turns.append(promptuary.threads.prepare("Two"))
        answers: list[Message] = [
            calls,
            {"role": "tool", "content": "a long answer of a tool", "tool_call_id": "c"},
            {"role": "assistant", "content": "Yes."},
        ]
        promptuary.threads.finish(turns[1], answers, cost=1)
        turns.append(promptuary.threads.prepare("Three"))
        promptuary.threads.abandon(turns[2])
        totals = promptuary.threads.totals()
        count = promptuary.threads._app.counter.count

    sent = tuple(turn.receipt.tokens for turn in turns)
    replied = sum(map(count, ("It is fine.", "look", '{"at": "app"}', "Yes.")))
    assert totals == Totals(3, 2, 6, sum(sent), replied, 1.5, sent)


@pytest.mark.parametrize("cost", [-1, -0.01, math.nan, math.inf, "3", True])
def test_a_cost_that_is_no_amount_is_refused_and_the_turn_stays_pending(project: Path, cost: float) -> None:
    with opened(project) as promptuary:
        turn = promptuary.threads.prepare("One")
        with pytest.raises(PromptuaryError, match="cost must be a number, 0 or more"):
            promptuary.threads.finish(turn, "Done.", cost=cost)

        assert promptuary.threads.replay().turn.status == "prepared"


def test_the_last_turn_is_replayed_if_none_is_named(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.threads.prepare("One")
        promptuary.threads.prepare("Two")

        assert promptuary.threads.replay().turn.text == "Two"


def test_a_replay_says_which_sources_have_changed_or_are_gone(project: Path) -> None:
    with opened(project) as promptuary:
        turn = promptuary.threads.prepare("See #docs/style.md, #notes.txt, @file:src/app.py and @file:src/app.py:1")
        (project / "docs/style.md").write_text("Be long.\n")
        (project / "notes.txt").unlink()
        changed = promptuary.threads.replay()
        (project / "docs/style.md").write_text("Be brief.\n")
        (project / "notes.txt").write_text("remember\n")
        restored = promptuary.threads.replay()

    assert [(one.path, one.kind) for one in changed.drift] == [("docs/style.md", "changed"), ("notes.txt", "gone")]
    assert list(changed.turn.messages) == turn.messages
    assert list(restored.drift) == []


def test_lines_from_the_index_are_not_taken_for_a_file_that_changed(project: Path) -> None:
    with Promptuary.open(project, exact=True, embedder="none") as promptuary:
        promptuary.search.index([project])
        turn = promptuary.threads.prepare("What should I remember? @search:remember")

        assert next(entry.source for entry in turn.receipt.entries) == "index:notes.txt"
        assert list(promptuary.threads.replay().drift) == []


def test_a_part_of_a_file_is_told_by_its_file(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.threads.prepare("See @file:src/app.py:1")
        same = promptuary.threads.replay()
        (project / "src/app.py").write_text("x = 3\n")
        changed = promptuary.threads.replay()
        (project / "src/app.py").unlink()
        (project / "src/app.py").mkdir()
        folder = promptuary.threads.replay()

    assert list(same.drift) == []
    assert [(one.path, one.kind) for one in changed.drift] == [("src/app.py", "changed")]
    assert [(one.path, one.kind) for one in folder.drift] == [("src/app.py", "not readable")]


def test_threads_are_listed_the_last_used_first(project: Path) -> None:
    with opened(project) as promptuary:
        for name in ("a", "b", "a"):
            promptuary.threads.finish(promptuary.threads.prepare("Hi", thread=name), "Hello.")
        threads = [(one.id, one.turns, one.items) for one in promptuary.threads.list()]

    assert threads == [("a", 2, 4), ("b", 1, 2)]


@pytest.mark.parametrize("number", [0, -1, 2, 10**12])
def test_a_turn_that_is_not_there_is_not_found(project: Path, number: int) -> None:
    with opened(project) as promptuary:
        promptuary.threads.prepare("Hi")
        expected = f"no turn {number} of thread main; its turns are numbered from 1 to 1"
        with pytest.raises(SourceError, match=expected) as error:
            promptuary.threads.replay(number=number)
        with pytest.raises(SourceError, match="there is no turn of thread other; the threads are"):
            promptuary.threads.replay(thread="other")

    assert error.value.code is Code.NOT_FOUND


def test_a_workspace_without_threads_says_so(project: Path) -> None:
    with opened(project) as promptuary:
        assert list(promptuary.threads.list()) == []
        with pytest.raises(SourceError, match="no thread has been used yet"):
            promptuary.threads.replay()
