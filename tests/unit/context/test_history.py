"""Costs, groups, views and figures of a history."""

import math

import pytest

from promptuary.base.errors import ConfigError
from promptuary.base.messages import CALL_OVERHEAD, MESSAGE_OVERHEAD, Item, Role, ToolCall, cost, item_cost
from promptuary.context.compact.due import kept, needs_compaction, stats
from promptuary.context.history import CachingCounter, CompactionPolicy, PricedHistory, groups, older


class Words:
    """Counts words: figures that a reader can check by eye."""

    def count(self, text: str) -> int:
        return len(text.split())


COUNTER = Words()


def said(name: str, role: Role = "user", words: int = 6, *, pinned: bool = False) -> Item:
    return Item(name, role, " ".join(["word"] * words), pinned=pinned)


def call(name: str, *ids: str) -> Item:
    return Item(name, "assistant", "", tool_calls=tuple(ToolCall(one, "read", "{}") for one in ids))


def result(name: str, answers: str, words: int = 6, *, pinned: bool = False) -> Item:
    return Item(name, "tool", " ".join(["word"] * words), tool_call_id=answers, pinned=pinned)


def ids(items: tuple[Item, ...]) -> list[str]:
    return [item.id for item in items]


def test_an_item_costs_its_content_its_calls_and_their_envelopes() -> None:
    item = Item("a", "assistant", "let me look", tool_calls=(ToolCall("c", "read file", '{"path": 1}'),))

    assert item_cost(item, COUNTER) == MESSAGE_OVERHEAD + 3 + CALL_OVERHEAD + 2 + 2
    assert cost([item, item], COUNTER) == 2 * item_cost(item, COUNTER)


class Asked(Words):
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def count(self, text: str) -> int:
        self.texts.append(text)
        return super().count(text)


def test_a_text_is_counted_once_as_long_as_it_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptuary.context.history._CACHED_CHARACTERS", 9 + 2 * 128)
    asked = Asked()
    counter = CachingCounter(asked)

    assert [counter.count(text) for text in ("one two", "one", "one two", "", "")] == [2, 1, 2, 0, 0]
    assert asked.texts == ["one two", "one", ""]
    assert [counter.count(text) for text in ("and more", "and more", "one two")] == [2, 2, 2]
    assert asked.texts == ["one two", "one", "", "and more", "one two"]


def test_a_past_knows_what_is_sent_what_stays_and_what_it_all_costs() -> None:
    unanswered = (call("a", "1", "2"), result("r1", "1"))
    past = PricedHistory.of([said("u"), *unanswered, said("p", pinned=True)], COUNTER)

    assert (past.sent, past.fixed) == (20, 10)
    assert past.tokens == cost(past.items, COUNTER) == 20 + cost(unanswered, COUNTER)
    assert ids(past.newest(20)) == ["u", "p"]
    assert ids(past.newest(19)) == ["p"]


def test_a_past_reads_no_instructions_from_a_history() -> None:
    past = PricedHistory.of([said("s", "system"), said("d", "developer", pinned=True), said("u")], COUNTER)

    assert ids(past.newest(1_000)) == ids(tuple(past.items)) == ["u"]
    assert (past.tokens, past.unspoken) == (10, 2)


def test_a_call_and_its_results_are_one_group() -> None:
    found = groups([said("u"), call("a", "1", "2"), result("r2", "2"), result("r1", "1"), said("v")])

    assert [ids(group.items) for group in found] == [["u"], ["a", "r2", "r1"], ["v"]]
    assert all(group.sendable == group.items for group in found)


def test_a_call_without_all_of_its_results_is_not_sent_and_neither_are_the_results() -> None:
    history = [said("u"), call("a", "1", "2"), result("r1", "1"), said("v")]

    assert ids(PricedHistory.of(history, COUNTER).newest(1_000)) == ["u", "v"]


@pytest.mark.parametrize(
    "history",
    [
        [result("lost", "1"), said("u")],
        [call("a", "1"), said("u"), result("late", "1")],
        [said("u"), call("pending", "1")],
    ],
    ids=["a result of nothing", "a result after somebody spoke", "a call nobody answered"],
)
def test_what_no_provider_takes_is_left_out_of_a_view(history: list[Item]) -> None:
    assert ids(PricedHistory.of(history, COUNTER).newest(1_000)) == ["u"]


def test_a_second_answer_to_one_call_is_left_out_and_the_first_is_sent() -> None:
    history = [call("a", "1"), result("r", "1"), result("again", "1"), result("other", "7")]

    assert ids(PricedHistory.of(history, COUNTER).newest(1_000)) == ["a", "r"]


def test_the_newest_groups_are_kept_in_order_up_to_the_first_that_does_not_fit() -> None:
    history = [said("tiny", words=1), said("big", words=50), said("c"), said("d")]

    assert ids(PricedHistory.of(history, COUNTER).newest(30)) == ["c", "d"]
    assert ids(PricedHistory.of(history, COUNTER).newest(20)) == ["c", "d"]
    assert ids(PricedHistory.of(history, COUNTER).newest(19)) == ["d"]


def test_a_cut_history_begins_with_a_message_of_the_user() -> None:
    turns = [said("q1"), said("a1", "assistant"), said("q2"), said("a2", "assistant"), said("a3", "assistant")]

    assert ids(PricedHistory.of(turns, COUNTER).newest(50)) == ["q1", "a1", "q2", "a2", "a3"]
    assert ids(PricedHistory.of(turns, COUNTER).newest(40)) == ["q2", "a2", "a3"]
    assert ids(PricedHistory.of(turns, COUNTER).newest(30)) == ["q2", "a2", "a3"]
    assert PricedHistory.of(turns, COUNTER).newest(20) == ()


def test_tool_calls_that_lost_their_question_are_cut_with_it_unless_a_summary_stands_for_it() -> None:
    steps = [call("a", "1"), result("r", "1", words=3), said("done", "assistant", words=1)]
    summary = Item("sum", "user", "word", kind="summary", stands_for=("x",))

    assert PricedHistory.of([said("q"), *steps], COUNTER).newest(35) == ()
    assert ids(PricedHistory.of([summary, said("q", words=40), *steps], COUNTER).newest(45)) == [
        "sum",
        "a",
        "r",
        "done",
    ]


def test_pins_stay_even_above_the_budget() -> None:
    history = [said("s", pinned=True), said("a"), said("p", pinned=True), said("z")]

    assert ids(PricedHistory.of(history, COUNTER).newest(0)) == ["s", "p"]


def test_a_pin_on_a_result_keeps_the_call_and_the_other_results() -> None:
    history = [call("a", "1", "2"), result("r", "1", pinned=True), result("s", "2"), said("z", words=90)]

    assert ids(PricedHistory.of(history, COUNTER).newest(70)) == ["a", "r", "s"]


def test_a_small_summary_outlives_the_messages_that_do_not_fit() -> None:
    summary = Item("sum", "user", "word " * 6, kind="summary", stands_for=("x",))
    history = [summary, said("a", words=40), said("b", words=20)]

    assert ids(PricedHistory.of(history, COUNTER).newest(60)) == ["sum", "b"]
    assert ids(PricedHistory.of(history, COUNTER).newest(30)) == ["b"]


def test_only_what_is_whole_before_the_newest_items_may_be_compacted() -> None:
    history = [said("s", "system"), said("u"), call("a", "1"), result("r", "1"), said("v"), said("p", pinned=True)]

    assert [ids(group.items) for group in older(history, 0)] == [["u"], ["a", "r"], ["v"]]
    assert [ids(group.items) for group in older(history, 3)] == [["u"]]
    assert older(history, 99) == []


def test_figures_say_how_full_the_window_is() -> None:
    history = [Item("sum", "user", "word", kind="summary", stands_for=("x",)), *(said(str(n)) for n in range(9))]
    figures = stats(history, 100, COUNTER)

    assert (figures.messages, figures.tokens, figures.window, figures.summaries) == (10, 95, 100, 1)
    assert figures.share == pytest.approx(0.95)
    assert figures.needs_compaction


def test_compaction_is_due_by_tokens_however_few_messages_there_are() -> None:
    ten = [said(str(n)) for n in range(10)]

    assert needs_compaction(ten, 142, COUNTER)
    assert not needs_compaction(ten, 143, COUNTER)
    half = CompactionPolicy(threshold=0.5)
    assert not needs_compaction(ten, 200, COUNTER, half)  # they cost exactly half of it
    assert needs_compaction(ten, 199, COUNTER, half)
    assert needs_compaction([said("a", words=900), said("b", "assistant", words=400)], 1_000, COUNTER)
    assert needs_compaction([said("a", words=900)], 1_000, COUNTER)
    assert not needs_compaction([said(str(n), pinned=True) for n in range(10)], 10, COUNTER)


def test_the_newest_messages_are_kept_as_long_as_they_are_small() -> None:
    policy = CompactionPolicy(threshold=0.7, goal=0.35, keep_last=4)
    small = [said(str(n)) for n in range(10)]
    large = [*small[:8], said("q", words=46), said("a", "assistant", words=16)]

    assert kept(small, 1_000, COUNTER, policy) == 4
    assert kept(small, 100, COUNTER, policy) == 3
    assert kept(large, 100, COUNTER, policy) == 2  # the last question and its answer: up to the threshold
    assert kept(large, 99, COUNTER, policy) == 1
    assert kept([*small, said("p", words=90, pinned=True)], 1_000, COUNTER, policy) == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 0.0},
        {"threshold": 1.1},
        {"threshold": 0.3},
        {"goal": 0.0},
        {"goal": math.nan},
        {"keep_last": -1},
        {"shorten_over": 100},
        {"shorten_to": 5},
        {"summary_tokens": 10},
        {"model_seconds": 0.0},
        {"model_seconds": math.nan},
    ],
    ids=str,
)
def test_a_policy_that_cannot_work_is_refused_at_once(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="compaction needs"):
        CompactionPolicy(**wrong)  # type: ignore[arg-type]
