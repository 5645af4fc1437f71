"""Taking the last turn back, and compacting a history at once."""

from pathlib import Path

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import Item, Message, Replacement
from promptuary.blocking import Promptuary
from promptuary.memory.writeback.values import QueuedTurn
from promptuary.testing.scripted import ScriptedStream
from promptuary.threads.records import ThreadChange
from promptuary.threads.values import AttachmentList
from tests.conftest import Files


@pytest.fixture
def project(files: Files) -> Path:
    return files({"a.py": "x = 1\n", "b.md": "Be brief.\n"})


def opened(path: Path) -> Promptuary:
    return Promptuary.open(path, exact=True, window=8_000)


def say(promptuary: Promptuary, text: str, reply: str | list[Message]) -> None:
    promptuary.threads.finish(promptuary.threads.prepare(text), reply)


def test_an_undone_turn_leaves_the_history_and_stays_in_the_ledger(project: Path) -> None:
    with opened(project) as promptuary:
        say(promptuary, "What is in @a.py?", "One line.")
        before = promptuary.threads.history()
        say(promptuary, "And in @b.md?", "Wrong.")

        undone = promptuary.threads.undo()

        assert (undone.number, undone.text, undone.reply) == (2, "And in @b.md?", "Wrong.")
        assert (undone.answered, undone.messages) == (True, 2)
        assert promptuary.threads.history() == before
        assert [turn.status for turn in promptuary.threads.turns()] == ["finished", "undone"]
        assert "Be brief." in promptuary.threads.replay(number=2).turn.messages[-1]["content"]
        assert promptuary.threads.prepare("Again?").prompt.history == [
            {"role": item.role, "content": item.content} for item in before
        ]


def test_turns_are_undone_one_after_the_other_until_none_is_left(project: Path) -> None:
    with opened(project) as promptuary:
        say(promptuary, "one", "1")
        say(promptuary, "two", "2")

        assert [promptuary.threads.undo().text for _ in range(2)] == ["two", "one"]
        assert promptuary.threads.history() == ()
        with pytest.raises(PromptuaryError, match="nothing to undo"):
            promptuary.threads.undo()


def test_a_turn_with_tools_is_undone_as_a_whole(project: Path) -> None:
    call: Message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "name": "look", "arguments": "{}"}],
    }
    with opened(project) as promptuary:
        turn = promptuary.threads.prepare("look")
        turn = promptuary.threads.extend(turn, [call, {"role": "tool", "content": "seen", "tool_call_id": "c1"}])
        promptuary.threads.finish(turn, "I saw it.")

        undone = promptuary.threads.undo()

        assert (undone.text, undone.reply, undone.messages) == ("look", "I saw it.", 4)
        assert promptuary.threads.history() == ()


def test_a_turn_that_waits_for_its_reply_is_abandoned(project: Path) -> None:
    with opened(project) as promptuary:
        say(promptuary, "one", "1")
        promptuary.threads.prepare("two")

        undone = promptuary.threads.undo()

        assert (undone.text, undone.answered) == ("two", False)
        assert [turn.status for turn in promptuary.threads.turns()] == ["finished", "abandoned"]
        assert promptuary.threads.pending() is None


def test_what_went_with_an_undone_turn_waits_again_and_what_it_put_into_view_leaves_it(project: Path) -> None:
    with opened(project) as promptuary:
        threads = promptuary.threads
        threads.attach("b.md")
        say(promptuary, "one", "1")
        before = threads.attachments()
        threads.attach("@folder:.")
        threads.attach_document("plan.txt", b"We begin on Monday.")
        say(promptuary, "See #a.py and #b.md", "2")
        threads.attach("@status")

        undone = threads.undo()

        assert undone.queued == ("@folder:.", "plan.txt")
        assert undone.untracked == ("a.py",)
        after = threads.attachments()
        assert [one.path for one in after.tracked] == [one.path for one in before.tracked] == ["b.md"]
        assert after.queued == ["@folder:.", "@status"]
        again = threads.prepare("two")
        assert "We begin on Monday." in again.messages[-1]["content"]
        assert not any("x = 1" in one["content"] for one in again.messages)


def test_each_of_several_undone_turns_gives_back_what_it_took(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.threads.attach("@folder:.")
        say(promptuary, "See #a.py", "1")
        say(promptuary, "See #b.md", "2")
        say(promptuary, "three", "3")

        undone = [promptuary.threads.undo() for _ in range(3)]

        assert [one.untracked for one in undone] == [(), ("b.md",), ("a.py",)]
        assert [one.queued for one in undone] == [(), (), ("@folder:.",)]
        assert promptuary.threads.attachments() == AttachmentList((), ["@folder:."])


def test_a_waiting_turn_that_is_undone_gives_back_what_it_took(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.threads.attach("@folder:.")
        promptuary.threads.prepare("See #a.py")

        assert promptuary.threads.undo().queued == ("@folder:.",)
        assert promptuary.threads.attachments() == AttachmentList((), ["@folder:."])


def test_what_only_a_message_without_an_answer_named_does_not_stay_in_view(project: Path) -> None:
    with opened(project) as promptuary:
        threads = promptuary.threads
        say(promptuary, "See #b.md", "1")
        with pytest.raises(PromptuaryError):
            threads.run("See #a.py and #b.md", ScriptedStream([[PromptuaryError("the line is dead")]]))

        assert [one.path for one in threads.attachments().tracked] == ["b.md"]
        assert "x = 1" not in str(threads.prepare("two").messages)


def test_a_misspelt_file_gets_one_warning_that_says_what_to_write(project: Path) -> None:
    with opened(project) as promptuary:
        turn = promptuary.threads.prepare("See #aa.py and #nothing-like-it.txt")

        (said,) = [one for one in turn.receipt.warnings if "aa.py" in one]
        assert said == "#aa.py is sent as text: there is no such file or folder. Did you mean #a.py?"
        (other,) = [one for one in turn.receipt.warnings if "nothing-like-it" in one]
        assert other.startswith("#nothing-like-it.txt: there is no such file")


def test_a_turn_that_is_in_a_summary_is_not_undone(project: Path) -> None:
    with opened(project) as promptuary:
        say(promptuary, "one", "1")
        said = tuple(item.id for item in promptuary.threads.history())
        summary = Item("s", "user", "They counted.", kind="summary", stands_for=said)
        store = promptuary._app.threads()._options.store
        store.apply(ThreadChange("main", replacements=[Replacement(said, summary)]))

        with pytest.raises(PromptuaryError, match="compacted since"):
            promptuary.threads.undo()


def test_a_turn_whose_results_were_shortened_is_undone(project: Path) -> None:
    with opened(project) as promptuary:
        call: list[Message] = [
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "name": "look", "arguments": "{}"}]},
            {"role": "tool", "content": "word " * 4_000, "tool_call_id": "c"},
        ]
        turn = promptuary.threads.extend(promptuary.threads.prepare("look"), call)
        promptuary.threads.finish(turn, "Much to read.")
        assert promptuary.threads.compact().replaced

        promptuary.threads.undo()

        assert promptuary.threads.history() == ()


def test_what_was_undone_is_not_learnt_from(project: Path) -> None:
    with opened(project) as promptuary:
        queue = promptuary._app.threads()._database.writeback_queue(promptuary.principal)
        turn = promptuary.threads.prepare("We always deploy on Tuesdays.")
        promptuary.threads.finish(turn, "I see.")
        queue.add(QueuedTurn(turn.id, "main", "2026-01-02T03:04:05Z", "it waits for a model", due=None))

        promptuary.threads.undo()

        assert list(queue.waiting()) == []


def test_a_history_is_compacted_at_once_though_that_is_not_due(project: Path) -> None:
    with opened(project) as promptuary:
        for number in range(12):
            say(promptuary, f"Question {number}: " + "why is that so? " * 20, f"Answer {number}: " + "because. " * 20)
        assert not promptuary.threads.needs_compaction()
        before = promptuary.threads.stats()

        done = promptuary.threads.compact()

        after = promptuary.threads.stats()
        assert (done.tokens_before, done.tokens_after) == (before.tokens, after.tokens)
        assert after.tokens < before.tokens / 2
        assert after.summaries == 1
        assert len(promptuary.threads.history(everything=True)) == 24


def test_there_is_nothing_to_compact_in_an_empty_thread(project: Path) -> None:
    with opened(project) as promptuary:
        done = promptuary.threads.compact()

    assert (done.tokens_before, done.tokens_after, done.replaced) == (0, 0, 0)
