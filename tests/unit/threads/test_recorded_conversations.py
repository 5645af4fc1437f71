"""A conversation that a client keeps is followed: what was attached stays, edits branch, and text is stored once."""

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptuary import Principal, RecordedTurn
from promptuary.base.errors import ConflictError, PromptuaryError
from promptuary.base.ids import new_id
from promptuary.base.messages import Message
from promptuary.blocking import Promptuary
from promptuary.threads.chain import links
from promptuary.threads.ledger_values import Pruned
from promptuary.threads.prepared import Turn
from tests.conftest import Files


@pytest.fixture
def project(files: Files) -> Path:
    return files({"a.py": "def f() -> int:\n    return 42\n", "b.py": "B = 1\n", "AGENTS.md": "Be brief.\n"})


def opened(path: Path, user: str = "ada") -> Promptuary:
    return Promptuary.open(path, exact=True, embedder="none", principal=Principal(user))


def said(text: str) -> Message:
    return {"role": "user", "content": text}


def answer(text: str, *calls: tuple[str, str]) -> Message:
    message: Message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{number}", "name": name, "arguments": arguments} for number, (name, arguments) in enumerate(calls)
        ]
    return message


def result(text: str, number: int = 0) -> Message:
    return {"role": "tool", "content": text, "tool_call_id": f"c{number}"}


def recorded(promptuary: Promptuary, messages: Sequence[Message], thread: str = "t", **options: Any) -> RecordedTurn:
    found = promptuary.threads.record(messages, thread=thread, **options)
    assert found is not None
    return found


def statuses(promptuary: Promptuary, thread: str = "t") -> list[tuple[str, str]]:
    return [(turn.text, turn.status) for turn in promptuary.threads.turns(thread=thread)]


def test_what_a_reference_brought_is_added_at_the_same_place_in_every_later_request(project: Path) -> None:
    with opened(project) as promptuary:
        first: list[Message] = [{"role": "system", "content": "S"}, said("What is in @file:a.py?")]
        one = recorded(promptuary, first)
        promptuary.threads.finish(one.turn, "A function.")
        (project / "a.py").write_text("changed = True\n")
        two = recorded(promptuary, [*first, answer("A function."), said("And @file:b.py?")])

        assert list(one.added) == [1]
        assert "return 42" in one.added[1]
        assert two.added[1] == one.added[1]
        assert list(two.added) == [1, 3]
        assert "B = 1" in two.added[3]


def test_an_audit_lists_a_turn_once_and_the_next_one_by_its_history(project: Path) -> None:
    with opened(project) as promptuary:
        messages = [said("What is in @file:a.py?")]
        promptuary.threads.finish(recorded(promptuary, messages).turn, "A function.")
        recorded(promptuary, [*messages, answer("A function."), said("Sure?")])

        found = promptuary.threads.audit("a.py").rows
        assert [(row.number, row.how) for row in found] == [(2, "history"), (1, "direct")]


def test_what_was_added_is_found_again_by_another_process(project: Path) -> None:
    messages = [said("What is in @file:a.py?")]
    with opened(project) as promptuary:
        one = recorded(promptuary, messages)
    with opened(project) as promptuary:
        two = recorded(promptuary, [*messages, answer("A function."), said("Sure?")])

        assert two.added == one.added
        assert statuses(promptuary) == [(messages[0]["content"], "finished"), ("Sure?", "prepared")]


def test_the_requests_of_a_tool_loop_continue_the_turn_and_the_answer_ends_it(project: Path) -> None:
    with opened(project) as promptuary:
        messages = [said("Mend @file:a.py")]
        one = recorded(promptuary, messages)
        call = answer("Looking.", ("look", '{"path": "a.py"}'))
        promptuary.threads.finish(one.turn, [call], cost=0.25)
        assert statuses(promptuary) == [("Mend @file:a.py", "prepared")]

        again = answer("Looking.", ("look", '{"path":"a.py"}'))  # as the client spells it
        two = recorded(promptuary, [*messages, again, result("42")], typed="")
        promptuary.threads.finish(two.turn, "Done.", cost=0.5)

        assert [two.turn.id, two.turn.text, two.added] == [f"{one.turn.id}.2", "Mend @file:a.py", one.added]
        assert [turn.status for turn in promptuary.threads.turns(thread="t")] == ["continued", "finished"]
        assert promptuary.threads.totals(thread="t").cost == 0.75
        roles = [(item.role, item.words) for item in promptuary.threads.history(thread="t") if item.words]
        assert roles == [("user", "Mend @file:a.py"), ("assistant", "Looking."), ("tool", "42"), ("assistant", "Done.")]


def test_an_edit_supersedes_the_turns_that_the_conversation_no_longer_has(project: Path) -> None:
    with opened(project) as promptuary:
        messages = [said("One.")]
        promptuary.threads.finish(recorded(promptuary, messages).turn, "1")
        messages += [answer("1"), said("Two, see @file:a.py.")]
        before = recorded(promptuary, messages)
        promptuary.threads.finish(before.turn, "2")
        edited = [*messages[:2], said("Two, but otherwise.")]
        promptuary.threads.finish(recorded(promptuary, edited).turn, "3")

        assert [status for _, status in statuses(promptuary)] == ["finished", "superseded", "finished"]
        assert [item.words for item in promptuary.threads.history(thread="t")] == [
            "One.",
            "1",
            edited[2]["content"],
            "3",
        ]

        back = recorded(promptuary, messages)  # the client returns to what it had
        assert back.added == before.added
        assert [status for _, status in statuses(promptuary)] == ["finished", "superseded", "superseded", "prepared"]


def test_another_answer_to_the_same_message_supersedes_the_first(project: Path) -> None:
    with opened(project) as promptuary:
        first = recorded(promptuary, [said("One.")])
        promptuary.threads.finish(first.turn, "1")
        second = recorded(promptuary, [said("One.")])
        promptuary.threads.finish(second.turn, "uno")

        assert [status for _, status in statuses(promptuary)] == ["superseded", "finished"]
        assert [item.content for item in promptuary.threads.history(thread="t")] == ["One.", "uno"]


def test_a_summary_by_the_client_begins_the_history_anew(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.threads.finish(recorded(promptuary, [said("One.")]).turn, "1")
        recorded(promptuary, [said("We have counted."), said("Two.")])

        assert [status for _, status in statuses(promptuary)] == ["superseded", "prepared"]
        assert [item.content for item in promptuary.threads.history(thread="t")] == ["We have counted.", "Two."]


def test_a_sub_agent_is_no_part_of_the_conversation(project: Path) -> None:
    task = "Find every function that returns a number."
    with opened(project) as promptuary:
        one = recorded(promptuary, [said("Look around.")])
        promptuary.threads.finish(one.turn, [answer("", ("Task", f'{{"prompt": "{task}"}}'))])

        assert promptuary.threads.record([said(f"<system-reminder/>\n{task}")], thread="t") is None
        assert [status for _, status in statuses(promptuary)] == ["prepared"]


def test_words_that_the_client_put_around_are_no_words_of_the_person(project: Path) -> None:
    content = "<system-reminder>See @file:b.py. I prefer tabs.</system-reminder>\nHello, see @file:a.py"
    with opened(project) as promptuary:
        one = recorded(promptuary, [said(content)], typed="Hello, see @file:a.py")
        promptuary.threads.finish(one.turn, "Hi.")

        assert "return 42" in one.added[0]
        assert "B = 1" not in one.added[0]
        before, typed, attached, _ = promptuary.threads.history(thread="t")
        assert [before.words, typed.words, attached.words] == ["", "Hello, see @file:a.py", ""]
        assert before.imported


def test_only_references_that_name_their_kind_count_for_a_client_that_reads_paths_itself(project: Path) -> None:
    with opened(project) as promptuary:
        explicit = recorded(promptuary, [said("@a.py and @file:b.py")], references="explicit")
        none = recorded(promptuary, [said("@a.py and @file:b.py")], thread="n", references="none")

        assert "B = 1" in explicit.added[0]
        assert "return 42" not in explicit.added[0]
        assert none.added == {}


def test_a_reference_that_cannot_be_read_is_told_to_the_model_and_in_the_warnings(project: Path) -> None:
    with opened(project) as promptuary:
        one = recorded(promptuary, [said("See @file:nowhere.py")])

        assert one.added == {}
        assert '@file:nowhere.py could not be attached: There is no "nowhere.py" in the workspace.' in one.live
        assert any("nowhere.py" in warning for warning in one.warnings)


def test_notes_are_in_the_live_block_and_instructions_are_not(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.memory.remember("We deploy on Mondays.")
        one = recorded(promptuary, [said("When do we deploy?")])

        assert "We deploy on Mondays." in one.live
        assert "Be brief." not in one.live
        assert one.live.startswith("<promptuary>")
        assert one.live.endswith("</promptuary>")
        assert one.turn.messages[-1]["content"] == one.live
        assert recorded(promptuary, [said("When do we deploy?")], thread="n", recall=False).live == ""


def test_a_layer_that_is_late_is_left_out_and_the_receipt_says_so(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.memory.remember("We deploy on Mondays.")
        one = recorded(promptuary, [said("When do we deploy? @file:a.py")], within=0)

        assert one.live == ""
        assert "return 42" in one.added[0]
        assert {failure.code for failure in one.turn.receipt.failures} == {"TIMEOUT"}


def test_a_note_cannot_end_the_live_block(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.memory.remember("We deploy </promptuary> on Mondays.")
        live = recorded(promptuary, [said("When do we deploy?")]).live

        assert live.count("</promptuary>") == 1


def test_the_thread_of_a_conversation_without_an_id_is_the_one_that_holds_its_beginning(project: Path) -> None:
    with opened(project) as promptuary:
        first, other = [said("Hello.")], [said("Hello.")]
        promptuary.threads.finish(recorded(promptuary, first, "one").turn, "Hi, how are you?")
        promptuary.threads.finish(recorded(promptuary, other, "two").turn, "Hi, what is new?")

        find = promptuary.threads.recorded_as
        assert find([*first, answer("Hi, how are you?"), said("Fine.")]) == "one"
        assert find([*other, answer("Hi, what is new?  "), said("Much.")]) == "two"
        assert find([*other, answer("Hi, somebody else."), said("Who?")]) is None
        assert find([said("Hello.")]) is None  # many conversations begin so


def test_a_copy_of_a_conversation_keeps_what_was_attached_and_one_that_begins_alike_does_not(project: Path) -> None:
    with opened(project) as promptuary:
        first = [said("What is in @file:a.py?")]
        before = recorded(promptuary, first, "one")
        promptuary.threads.finish(before.turn, "A function.")
        (project / "a.py").write_text("changed = True\n")

        copy = recorded(promptuary, [*first, answer("A function."), said("Sure?")], "two")
        alike = recorded(promptuary, first, "three")
        assert copy.added == before.added
        assert "changed = True" in alike.added[0]


def test_a_conversation_of_somebody_else_is_never_found(project: Path) -> None:
    messages = [said("What is in @file:a.py?"), answer("A function."), said("Sure?")]
    with opened(project) as promptuary:
        promptuary.threads.finish(recorded(promptuary, messages[:1]).turn, "A function.")
    with opened(project, "bob") as promptuary:
        assert promptuary.threads.recorded_as(messages) is None
        assert recorded(promptuary, messages).added == {}
        assert [turn.number for turn in promptuary.threads.turns(thread="t")] == [1]


def test_with_receipts_alone_none_of_the_words_is_stored(project: Path) -> None:
    messages = [said("A secret word: xylophone. See @file:a.py"), answer("marimba"), said("vibraphone?")]
    with opened(project) as promptuary:
        one = recorded(promptuary, messages[:1], keep="receipt")
        promptuary.threads.finish(one.turn, "marimba")
        two = recorded(promptuary, messages, keep="receipt")

        assert two.added == one.added
        assert any(entry.source == "file:a.py" for entry in one.turn.receipt.entries)
        assert promptuary.threads.audit("a.py").rows
    stored = b"".join(path.read_bytes() for path in project.rglob("state.db*"))
    assert stored
    assert not any(word in stored for word in (b"xylophone", b"marimba", b"vibraphone"))


def test_what_is_not_to_be_stored_at_all_is_known_while_the_program_runs(project: Path) -> None:
    messages = [said("See @file:a.py"), answer("Seen."), said("Again?")]
    with opened(project) as promptuary:
        one = recorded(promptuary, messages[:1], keep="off")
        promptuary.threads.finish(one.turn, "Seen.")

        assert promptuary.threads.recorded_as(messages, keep="off") == "t"
        assert recorded(promptuary, messages, keep="off").added == one.added
        assert list(promptuary.threads.list()) == []


def test_what_is_known_of_conversations_that_are_not_stored_is_bounded(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptuary.threads.threads._MAX_UNSTORED", 3)
    messages = [said("See @file:a.py"), answer("Seen."), said("Again?")]
    with opened(project) as promptuary:
        promptuary.threads.finish(recorded(promptuary, messages[:1], keep="off").turn, "Seen.")
        for number in range(3):
            recorded(promptuary, [said(f"Other {number}")], f"other-{number}", keep="off")

        assert recorded(promptuary, messages, keep="off").added == {}


def test_a_thread_that_is_kept_here_is_not_taken_over(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.threads.finish(promptuary.threads.prepare("Hello.", thread="mine"), "Hi.")

        with pytest.raises(ConflictError, match="kept here"):
            promptuary.threads.record([said("Hello.")], thread="mine")
        assert [item.content for item in promptuary.threads.history(thread="mine")] == ["Hello.", "Hi."]


def test_a_conversation_without_a_message_of_a_user_is_refused(project: Path) -> None:
    with opened(project) as promptuary, pytest.raises(PromptuaryError, match="a message of the role user"):
        promptuary.threads.record([{"role": "system", "content": "S"}], thread="t")


def test_a_conversation_costs_its_new_text_and_not_its_length_at_every_request(project: Path) -> None:
    def size(requests: int, thread: str) -> int:
        with opened(project, thread) as promptuary:
            messages: list[Message] = [{"role": "system", "content": "S" * 10_000}]
            for number in range(requests):
                messages += [said(f"Question {number} of {thread}: {'x' * 2_000}{number}")]
                turn = recorded(promptuary, messages, thread, recall=False).turn
                promptuary.threads.finish(turn, f"Answer {number} of {thread}: {'y' * 2_000}{number}")
                messages += [answer(f"Answer {number} of {thread}: {'y' * 2_000}{number}")]
        return _stored_bytes(project)

    base = _stored_bytes(project)
    few = size(20, "few") - base
    many = size(200, "many") - base - few

    assert many < 15 * few


def _stored_bytes(project: Path) -> int:
    return sum(path.stat().st_size for path in project.rglob("state.db*"))


def test_links_tell_conversations_apart_and_not_their_spelling() -> None:
    call = answer("Looking.", ("look", '{"b": 1, "a": 2}'))
    same = answer("Looking.\n", ("look", '{"a":2,"b":1}'))
    assert links([said("x"), call]) == links([said("x"), same])
    assert links([said("x"), call])[1] != links([said("y"), call])[1]
    assert links([said("x")]) != links([answer("x")])


words = st.sampled_from(["One.", "Two, see @file:a.py.", "Three, see @file:b.py and @file:a.py.", "Four."])
steps = st.lists(st.tuples(st.sampled_from(["ask", "loop", "edit", "again", "retry"]), words), min_size=1, max_size=8)


@given(steps)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_that_was_sent_before_the_live_block_ever_changes(project: Path, moves: list[tuple[str, str]]) -> None:
    with opened(project) as promptuary:
        thread = new_id("t")
        seen: dict[str, str] = {}
        messages: list[Message] = []
        for number, (move, text) in enumerate(moves):
            users = [place for place, one in enumerate(messages) if one["role"] == "user"]
            if move == "edit" and users:
                messages = [*messages[: users[-1]], said(f"{text} ({number})")]
            elif move == "again" and users:
                messages = messages[: users[-1] + 1]
            elif move != "retry" or not messages or messages[-1]["role"] != "user":
                messages = [*messages, said(f"{text} ({number})")]
            turn = _request(promptuary, messages, thread, seen)
            if move == "loop":
                call = answer("", ("look", f'{{"n": {number}}}'))
                promptuary.threads.finish(turn, [call])
                messages = [*messages, call, result(f"seen {number}")]
                turn = _request(promptuary, messages, thread, seen)
            if move != "retry":
                promptuary.threads.finish(turn, f"Answer {number}.")
                messages = [*messages, answer(f"Answer {number}.")]


def _request(promptuary: Promptuary, messages: list[Message], thread: str, seen: dict[str, str]) -> Turn:
    request = recorded(promptuary, messages, thread, recall=False)
    for place, link in enumerate(links(messages)):
        added = request.added.get(place, "")
        assert seen.setdefault(link, added) == added
    assert [one.role for one in promptuary.threads.history(thread=thread)][-1] == messages[-1]["role"]
    return request.turn


def test_a_purge_of_what_was_recorded_removes_old_conversations_of_everybody_and_none_that_is_kept_here(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(days=1)

    monkeypatch.setattr("promptuary.maintenance.maintenance.datetime", Tomorrow)
    with opened(project, "bob") as promptuary:
        promptuary.threads.finish(recorded(promptuary, [said("One.")]).turn, "1")
    with opened(project) as promptuary:
        promptuary.threads.finish(recorded(promptuary, [said("One.")]).turn, "1")
        promptuary.threads.finish(promptuary.threads.prepare("Mine.", thread="mine"), "Yes.")

        assert promptuary.purge_recorded() == Pruned()  # nothing says how long they are kept
        assert promptuary.purge_recorded(0, dry_run=True).turns == 2
        assert promptuary.purge_recorded(2).turns == 0
        assert promptuary.purge_recorded(0).threads == 2
        assert [thread.id for thread in promptuary.threads.list()] == ["mine"]
    with opened(project, "bob") as promptuary:
        assert list(promptuary.threads.list()) == []
