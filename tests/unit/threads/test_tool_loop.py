"""A turn goes on while the model calls tools: every request fits, has the current files, and is in the ledger."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from promptuary import Principal
from promptuary.base.errors import ConflictError, PromptuaryError
from promptuary.base.messages import Message
from promptuary.blocking import Promptuary
from promptuary.context.history import groups
from promptuary.threads.prepared import Turn
from tests.conftest import Files
from tests.current_files import CHANGED, current_files
from tests.properties.test_turn_properties import cost_of

BODY = "".join(f"line {number} of a file that is long enough to be worth a diff\n" for number in range(60))


@pytest.fixture
def project(files: Files) -> Path:
    return files({"a.py": BODY, "AGENTS.md": "Be brief.\n"})


def opened(path: Path, **options: Any) -> Promptuary:
    return Promptuary.open(path, exact=True, embedder="none", principal=Principal("ada"), **options)


def step(number: int, result: str = "done") -> list[Message]:
    """Return a call of a tool and its result."""
    call: Message = {"role": "assistant", "content": "", "tool_calls": [_call(number)]}
    return [call, {"role": "tool", "content": result, "tool_call_id": f"c{number}"}]


def _call(number: int) -> Any:
    return {"id": f"c{number}", "name": "edit", "arguments": f'{{"step": {number}}}'}


def is_sound(turn: Turn) -> None:
    """Check what holds of every request."""
    receipt = turn.receipt
    assert receipt.tokens == cost_of(turn.messages)
    assert receipt.tokens <= receipt.window - receipt.reserve
    assert receipt.total == sum(one.tokens for one in receipt.requests)
    assert not receipt.blocked
    assert_pairs(turn.messages)


def assert_pairs(messages: Sequence[Mapping[str, Any]]) -> None:
    calls = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert calls == results


def test_a_turn_of_a_session_that_was_archived_meanwhile_does_not_go_on(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.sessions.create("s")
        second = promptuary.threads.extend(promptuary.threads.prepare("Mend #a.py", thread="s"), step(1))
        promptuary.sessions.archive("s")

        with pytest.raises(ConflictError, match="archived"):
            promptuary.threads.extend(second, step(2))


def test_a_turn_goes_on_with_the_calls_and_their_results_and_keeps_them_in_the_history(project: Path) -> None:
    with opened(project) as promptuary:
        first = promptuary.threads.prepare("Mend #a.py")
        second = promptuary.threads.extend(first, step(1))
        third = promptuary.threads.extend(second, step(2, "better"))
        receipt = promptuary.threads.finish(third, "It is done.")

        assert second.messages[: len(first.messages)] == first.messages
        assert third.messages[: len(second.messages)] == second.messages
        assert [one["role"] for one in third.messages[-4:]] == ["assistant", "tool", "assistant", "tool"]
        assert [len(turn.receipt.requests) for turn in (first, second, third)] == [1, 2, 3]
        assert receipt.total == first.receipt.tokens + second.receipt.tokens + third.receipt.tokens
        for turn in (first, second, third):
            is_sound(turn)
        history = promptuary.threads.history()
        assert [item.content for item in history][1:] == ["", "done", "", "better", "It is done."]
        assert [len(group.sendable) for group in groups(history)] == [1, 2, 2, 1]
        following = promptuary.threads.prepare("Thanks.")
        assert following.messages[: len(third.messages)] == third.messages


def test_each_request_can_be_replayed_and_counts_once(project: Path) -> None:
    with opened(project) as promptuary:
        first = promptuary.threads.prepare("Mend #a.py")
        second = promptuary.threads.extend(first, step(1))
        promptuary.threads.finish(second, "It is done.")

        for turn in (first, second):
            assert list(promptuary.threads.replay(number=turn.number).turn.messages) == turn.messages
        assert [turn.status for turn in promptuary.threads.turns()] == ["continued", "finished"]
        totals = promptuary.threads.totals()
        assert (totals.turns, totals.finished) == (1, 1)
        assert totals.tokens == second.receipt.total
        assert {row.number for row in promptuary.threads.audit("a.py").rows} == {1, 2}


def test_a_file_that_a_tool_changes_is_current_in_the_next_request_and_behind_the_results(project: Path) -> None:
    with opened(project) as promptuary:
        turn = promptuary.threads.prepare("Mend #a.py. " + "These are many words, to make an edit worth a diff. " * 60)
        text = BODY
        for number in range(6):
            text = BODY.replace(f"line {number + 20} of", f"step {number} was here, in")
            (project / "a.py").write_text(text)
            turn = promptuary.threads.extend(turn, step(number))
            is_sound(turn)
            assert current_files(turn.messages) == {"a.py": text}
            entries = [one for one in turn.receipt.entries if one.source == "file:a.py"]
            if len(entries) == 2:
                assert turn.messages[-1]["content"].startswith(CHANGED)
                assert turn.receipt.entries[-1] == entries[1]
        promptuary.threads.finish(turn, "Done.")
        following = promptuary.threads.prepare("And now?")

        assert current_files(following.messages) == {"a.py": text}
        is_sound(following)


def test_a_change_that_was_told_before_the_message_stays_there_while_nothing_else_changes(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.threads.finish(promptuary.threads.prepare("Look at #a.py. " + "Words. " * 800), "Done. " * 100)
        (project / "a.py").write_text(BODY.replace("line 3 of", "line three of"))
        first = promptuary.threads.prepare("And now?")
        assert first.prompt.live
        second = promptuary.threads.extend(first, step(1))
        assert second.messages[: len(first.messages)] == first.messages
        (project / "a.py").write_text(BODY.replace("line 4 of", "line four of"))
        third = promptuary.threads.extend(second, step(2))

        assert [one for one in third.prompt.live if one["content"].startswith(CHANGED)] == []
        assert third.prompt.stable == first.prompt.stable
        assert current_files(third.messages) == {"a.py": (project / "a.py").read_text()}
        is_sound(third)


@pytest.mark.parametrize(("calls", "size"), [(50, 200), (12, 6_000)])
def test_fifty_calls_never_exceed_a_small_window_and_the_older_results_give_way_first(
    project: Path, calls: int, size: int
) -> None:
    with opened(project, window=8_000, reply_reserve=1_000) as promptuary:
        promptuary.threads.finish(promptuary.threads.prepare("Look at #a.py"), "I have looked at it. " * 150)
        turn = promptuary.threads.prepare("Mend it.")
        result = ""
        for number in range(calls):
            result = f"result {number}: " + "word " * size
            turn = promptuary.threads.extend(turn, step(number, result))
            is_sound(turn)
            newest = next(one for one in reversed(turn.messages) if one["role"] == "tool")
            assert newest["content"].startswith(f"result {number}")
            assert newest["content"] == result or "left out" in newest["content"]
            assert newest["content"] == result or size > 300
            assert "a.py" in current_files(turn.messages)
        assert any("shortened" in one or "not sent" in one for one in turn.receipt.warnings)
        promptuary.threads.finish(turn, "Done.")
        said = promptuary.threads.history(everything=True)
        assert [item.content for item in said if item.role == "tool"][-1] == result
        is_sound(promptuary.threads.prepare("And now?"))


def test_a_turn_that_waits_is_found_again_by_another_process_and_goes_on(project: Path) -> None:
    (project / "b.md").write_text("attached\n")
    with opened(project) as promptuary:
        first = promptuary.threads.prepare("Mend #a.py by @file:b.md")
        second = promptuary.threads.extend(first, step(1, "word " * 30))
    with opened(project) as restarted:
        assert restarted.threads.pending(thread="other") is None
        found = restarted.threads.pending()
        assert found is not None
        assert (found.id, found.messages, found.said) == (second.id, second.messages, second.said)
        assert found.receipt.requests == second.receipt.requests
        (project / "a.py").write_text(f"{BODY}the end\n")
        third = restarted.threads.extend(found, step(2))
        is_sound(third)
        assert current_files(third.messages) == {"a.py": f"{BODY}the end\n"}
        restarted.threads.finish(third, "Done.")

        assert restarted.threads.pending() is None
        asked = restarted.threads.history()[0]
        assert [one.source for one in asked.attachments] == ["file:b.md"]
        assert asked.words == "Mend [#a.py](#a-py) by @file:b.md"
        with pytest.raises(ConflictError, match="continued"):
            restarted.threads.finish(second, "Too late.")


def test_a_turn_that_is_given_up_leaves_nothing(project: Path) -> None:
    with opened(project) as promptuary:
        turn = promptuary.threads.extend(promptuary.threads.prepare("Mend #a.py"), step(1))
        promptuary.threads.abandon(turn)

        assert promptuary.threads.pending() is None
        assert promptuary.threads.history() == ()
        assert [turn.status for turn in promptuary.threads.turns()] == ["continued", "abandoned"]


def test_of_two_who_extend_a_turn_one_is_told_that_it_went_on(project: Path) -> None:
    with opened(project) as promptuary, opened(project) as other:
        turn = promptuary.threads.prepare("Mend #a.py")
        found = other.threads.pending()
        assert found is not None
        promptuary.threads.extend(turn, step(1))

        with pytest.raises(ConflictError, match="continued"):
            other.threads.extend(found, step(2))


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([], "results of tools"),
        ("just words", "results of tools"),
        (step(1)[:1], r"no result of edit \(c1\)"),
        (step(1)[1:], "answer c1"),
        ([*step(1), *step(2)[1:]], "answer c2"),
        ([*step(1), {"role": "assistant", "content": "And so on."}], "end it with finish"),
    ],
)
def test_what_does_not_extend_a_turn_is_refused_and_changes_nothing(project: Path, messages: Any, why: str) -> None:
    with opened(project) as promptuary:
        turn = promptuary.threads.prepare("Mend #a.py")
        with pytest.raises(PromptuaryError, match=why):
            promptuary.threads.extend(turn, messages)

        assert promptuary.threads.pending() is not None
        promptuary.threads.finish(turn, "Done.")


def test_every_provider_gets_the_loop_in_its_own_shape(project: Path) -> None:
    with opened(project) as promptuary:
        first = promptuary.threads.prepare("Mend #a.py. " + "These are many words, to make an edit worth a diff. " * 60)
        (project / "a.py").write_text(BODY.replace("line 3 of", "line three of"))
        turn = promptuary.threads.extend(first, step(1))
        anthropic = turn.render("anthropic")

        assert [one["role"] for one in anthropic["messages"]] == ["user", "assistant", "user"]
        assert [one["type"] for one in anthropic["messages"][-1]["content"]] == ["tool_result", "text"]
        assert "cache_control" in anthropic["messages"][-1]["content"][0]
        assert "cache_control" not in anthropic["messages"][-1]["content"][1]
        assert [one["role"] for one in turn.render("openai")][-3:] == ["assistant", "tool", "developer"]
        assert turn.render("openai-responses")[-2]["type"] == "function_call_output"


def test_a_file_that_is_forgotten_in_the_middle_of_a_loop_is_in_none_of_its_requests(project: Path) -> None:
    (project / "a.py").write_text(f"launch code 4711\n{BODY}")
    with opened(project) as promptuary:
        first = promptuary.threads.prepare("Mend #a.py. " + "These are many words, to make an edit worth a diff. " * 60)
        (project / "a.py").write_text(BODY)
        second = promptuary.threads.extend(first, step(1))
        assert "launch code" in str(second.messages)
        promptuary.threads.forget("a.py")
        third = promptuary.threads.extend(second, step(2))

        assert "launch code" not in str(third.messages)
        assert current_files(third.messages) == {"a.py": BODY}
        promptuary.threads.finish(third, "Done.")
        assert "launch code" not in str([(turn.messages, turn.receipt) for turn in promptuary.threads.turns()])


def test_a_request_of_a_loop_is_sent_again_as_it_was_and_is_not_prepared_anew(project: Path) -> None:
    with opened(project) as promptuary:
        turn = promptuary.threads.extend(promptuary.threads.prepare("Mend #a.py"), step(1))
        promptuary.threads.finish(turn, "Done.")

        with pytest.raises(PromptuaryError, match="are not made again"):
            promptuary.threads.rerun(window=32_000)
        assert promptuary.threads.rerun(number=1, window=32_000).messages


def test_what_a_turn_warned_of_is_said_with_every_request_for_as_long_as_it_holds(files: Files) -> None:
    project = files({"a.py": BODY, "AGENTS.md": "Be brief, whatever happens.\n" * 1_500})
    with opened(project, window=8_000, reply_reserve=1_000) as promptuary:
        first = promptuary.threads.prepare("Mend #a.py by #later.py and @file:nowhere.md")
        about = [next(one for one in first.receipt.warnings if name in one) for name in ("later.py", "nowhere.md")]
        cut = next(one for one in first.receipt.warnings if one.startswith("AGENTS.md is cut"))
        second = promptuary.threads.extend(first, step(1))
        (project / "later.py").write_text("x = 1\n")
        third = promptuary.threads.extend(second, step(2))
        fourth = promptuary.threads.extend(third, step(3, "word " * 3_000))
        fifth = promptuary.threads.extend(fourth, step(4, "word " * 5_000))

        assert set(second.receipt.warnings) >= {*about, cut}
        assert about[0] not in third.receipt.warnings
        assert set(third.receipt.warnings) >= {about[1], cut}
        for turn in (fourth, fifth):
            kept = [one for one in turn.receipt.warnings if one.startswith("AGENTS.md is cut")]
            assert (len(kept), cut in kept) == (1, False)
            assert about[1] in turn.receipt.warnings
            assert any("results of tools need the room" in one for one in turn.receipt.warnings)
        assert len([one for one in fifth.receipt.warnings if "shortened" in one and "result" in one]) <= 2


def test_an_edit_changes_what_was_sent_before_only_where_that_costs_less_than_to_repeat_it(project: Path) -> None:
    (project / "a.py").write_text("x = 0\n")
    with opened(project) as promptuary:
        for words, often in (("Mend it.", True), ("These are many words. " * 500, False)):
            turn = promptuary.threads.prepare(f"#a.py {words}", thread=str(often))
            seen = {str(turn.prompt.stable)}
            for number in range(1, 4):
                (project / "a.py").write_text(f"x = {number}\n")
                turn = promptuary.threads.extend(turn, step(number))
                seen.add(str(turn.prompt.stable))
                assert current_files(turn.messages) == {"a.py": f"x = {number}\n"}
            assert (len(seen) > 1) == often
