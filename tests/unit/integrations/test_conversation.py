"""A thread as an agent of another framework talks in it: what all adapters share."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic

import promptuary
from promptuary import Message, PromptuaryError, Turn
from promptuary.blocking import Promptuary
from promptuary.integrations.anthropic_turns import run_turn
from promptuary.integrations.conversation import (
    Conversation,
    assistant,
    persons_words,
    tool_call,
    tool_result,
    user,
)
from promptuary.integrations.path_notes import PathNotes
from tests.conftest import Files

CALL = assistant("", [tool_call("c1", "look", {"at": "it"})])
RESULT = tool_result("c1", "It says: see @file:b.py")


def opened(root: Path, window: int = 16_000) -> Promptuary:
    return Promptuary.open(root, exact=True, embedder="none", window=window, reply_reserve=500)


@pytest.fixture
def root(files: Files) -> Path:
    return files({"a.py": "LIMIT = 41\n", "b.py": "HIDDEN = 1\n"})


@pytest.fixture
def p(root: Path) -> Iterator[Promptuary]:
    with opened(root) as one:
        yield one


def statuses(p: Promptuary, thread: str = "main") -> list[str]:
    return [turn.status for turn in p.threads.turns(thread=thread)]


def test_a_turn_is_prepared_extended_and_finished(p: Promptuary) -> None:
    conversation = Conversation(p)

    first = conversation.request("Look at @file:a.py", [])
    second = conversation.request("Look at @file:a.py", [CALL, RESULT])
    conversation.finish("Look at @file:a.py", [CALL, RESULT, assistant("41.")])

    assert "LIMIT = 41" in first.messages[-1]["content"]
    assert first.loop == []
    assert second.messages == first.messages
    assert second.loop == [0, 1], "as the framework has them"
    assert "HIDDEN" not in str(second.turn.messages)
    assert statuses(p) == ["continued", "finished"]
    assert [item.role for item in p.threads.history()] == ["user", "assistant", "tool", "assistant"]


def test_a_turn_goes_on_after_a_restart(root: Path) -> None:
    with opened(root) as p:
        Conversation(p).request("Look at @file:a.py", [])
    with opened(root) as p:
        Conversation(p).request("Look at @file:a.py", [CALL, RESULT])
    with opened(root) as p:
        Conversation(p).finish("Look at @file:a.py", [CALL, RESULT, assistant("41.")])

        assert statuses(p) == ["continued", "finished"]
        assert [item.role for item in p.threads.history()] == ["user", "assistant", "tool", "assistant"]


def test_a_turn_that_another_program_began_is_not_taken_for_this_one(p: Promptuary) -> None:
    Conversation(p).request("Look at @file:a.py", [])

    Conversation(p).request("Something else", [CALL, RESULT])

    assert [(turn.text, turn.status) for turn in p.threads.turns()] == [
        ("Look at @file:a.py", "prepared"),
        ("Something else", "continued"),
        ("Something else", "prepared"),
    ]


def test_a_call_that_waits_for_its_result_leaves_the_turn_waiting(p: Promptuary) -> None:
    conversation = Conversation(p)
    conversation.request("Do it", [])

    conversation.finish("Do it", [CALL])
    assert statuses(p) == ["prepared"]

    conversation.request("Do it", [CALL, RESULT])
    conversation.finish("Do it", [CALL, RESULT, assistant("Done.")])
    assert statuses(p) == ["continued", "finished"]


def test_a_run_that_failed_is_abandoned_when_the_next_one_begins(
    p: Promptuary, caplog: pytest.LogCaptureFixture
) -> None:
    conversation = Conversation(p)
    conversation.request("Do it", [])

    conversation.request("Do it", [])

    assert statuses(p) == ["abandoned", "prepared"]
    assert "got no answer" in caplog.text


def test_a_message_that_does_not_fit_is_refused_before_the_model_is_asked(root: Path) -> None:
    with opened(root, window=1_000) as p:
        with pytest.raises(PromptuaryError, match="does not fit into the window of 1,000 tokens"):
            Conversation(p).request("word " * 2_000, [])

        assert statuses(p) == ["abandoned"]
        assert p.threads.pending() is None


def test_an_answer_that_cannot_be_recorded_is_logged_and_raises_nothing(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(root) as p:
        conversation = Conversation(p)
        conversation.request("Do it", [])
    conversation.finish("Do it", [assistant("Done.")])

    (record,) = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert record.name == "promptuary.integrations.conversation"
    assert "the answer in thread 'main' was not recorded: " in record.getMessage()


def test_an_answer_to_a_turn_that_nobody_prepared_is_logged(p: Promptuary, caplog: pytest.LogCaptureFixture) -> None:
    Conversation(p).finish("Do it", [assistant("Done.")])

    assert "no turn with this message waits" in caplog.text


def test_a_reference_that_fails_is_logged_and_the_rest_is_sent(p: Promptuary, caplog: pytest.LogCaptureFixture) -> None:
    request = Conversation(p).request("Compare @file:a.py with @file:missing.py", [])

    assert "LIMIT = 41" in request.messages[-1]["content"]
    assert "@file:missing.py" in caplog.text


ADAPTERS: dict[str, Callable[[Any], object]] = {
    "a conversation": Conversation,
    "notes by path": lambda given: PathNotes(given, "x"),
    "a turn with Anthropic's client": lambda given: run_turn(given, Anthropic(api_key="any"), "Hello"),
}


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=ADAPTERS)
def test_a_facade_with_async_is_refused_with_a_sentence(root: Path, adapter: Callable[[Any], object]) -> None:
    given = promptuary.Promptuary.open(root, exact=True)

    with pytest.raises(PromptuaryError, match=r"adapters take promptuary\.blocking\.Promptuary"):
        adapter(given)


@pytest.mark.parametrize("thread", [5, None, b"review"])
def test_a_thread_that_is_no_name_is_refused_with_a_sentence(p: Promptuary, thread: Any) -> None:
    said = r"thread is the name of a thread, such as 'review', and not"
    with pytest.raises(PromptuaryError, match=said):
        Conversation(p, thread)
    with pytest.raises(PromptuaryError, match=said):
        run_turn(p, Anthropic(api_key="any"), "Hello", thread=thread)


def test_a_new_thread_begins_with_what_the_framework_remembers_and_nothing_in_it_is_expanded(p: Promptuary) -> None:
    earlier = [user("Look at @file:a.py"), CALL, RESULT, assistant("See @file:b.py.")]
    conversation = Conversation(p, "new")

    request = conversation.request("And now?", [], earlier)
    conversation.finish("And now?", [assistant("Now.")])
    again = conversation.request("Again?", [], [*earlier, user("Unknown here"), assistant("Yes")])

    assert [one["content"] for one in request.messages] == [one["content"] for one in [*earlier, user("And now?")]]
    assert "LIMIT" not in str(request.turn.messages)
    assert "Unknown here" not in str(again.turn.messages), "the thread has a history of its own"


def test_what_a_framework_says_in_the_role_of_the_user_is_sent_in_its_place_and_not_expanded(p: Promptuary) -> None:
    said = [CALL, RESULT, user("Reminder: @file:b.py")]
    conversation = Conversation(p)
    conversation.request("Do it", [])

    request = conversation.request("Do it", said)
    later = conversation.request("Do it", [*said, assistant("Hm."), user("Try again")])

    assert request.loop == [0, 1, 2]
    assert later.loop == [0, 1, 2, 3, 4]
    assert "HIDDEN" not in str(later.turn.messages)


def test_a_result_that_is_too_long_is_shortened(root: Path) -> None:
    with opened(root, window=2_000) as p:
        conversation = Conversation(p)
        conversation.request("Do it", [])
        long = tool_result("c1", "a line of a result that goes on\n" * 2_000)

        request = conversation.request("Do it", [CALL, long, user("Go on")])

        assert request.loop[0] == 0
        assert isinstance(request.loop[1], dict)
        assert len(request.loop[1]["content"]) < 10_000
        assert request.loop[2] == 2
        conversation.finish("Do it", [CALL, long, assistant("Done.")])
        assert p.threads.history()[2].content == long["content"], "the history has it whole"


def test_every_request_is_shown_before_it_is_sent(p: Promptuary) -> None:
    seen: list[Turn] = []
    conversation = Conversation(p, on_turn=seen.append)

    conversation.request("Look at @file:a.py", [])
    conversation.request("Look at @file:a.py", [CALL, RESULT])

    assert [turn.number for turn in seen] == [1, 2]
    assert "a.py" in seen[0].receipt.explain()


def test_a_note_of_a_turn_without_foreign_text_is_the_agents_own_and_any_other_is_not(p: Promptuary) -> None:
    conversation, note = Conversation(p), {"type": "project", "title": "T", "content": "Deploy on Fridays."}
    conversation.request("We deploy on Fridays", [])
    assert "elsewhere" not in conversation.call_tool("write_memory", note)

    conversation.request("We deploy on Fridays", [CALL, RESULT])
    assert "as text from elsewhere" in conversation.call_tool(
        "write_memory", note | {"content": "Do as the tool says."}
    )
    assert "as text from elsewhere" in Conversation(p).call_tool("write_memory", note | {"content": "Without a turn."})


def test_a_tool_that_fails_answers_the_model(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(root) as p:
        conversation = Conversation(p)
    answer = conversation.call_tool("search_recall_memories", {"query": "x"})

    assert answer == "This Promptuary is closed; open the workspace again."
    assert "search_recall_memories" in caplog.text


@pytest.mark.parametrize(
    ("roles", "place", "start"),
    [("u", 0, 0), ("uu", 1, 0), ("auu", 2, 1), ("atu", 2, 2), ("atuu", 3, 3), ("ua", 0, 0)],
)
def test_messages_in_a_row_are_said_in_one_go_unless_a_tool_may_have_said_the_first(
    roles: str, place: int, start: int
) -> None:
    made: dict[str, Callable[[str], Message]] = {
        "u": user,
        "a": assistant,
        "t": lambda text: tool_result("c", text),
    }
    messages = [made[role](str(at)) for at, role in enumerate(roles)]

    assert persons_words(messages, place) == (start, "\n\n".join(map(str, range(start, place + 1))))
