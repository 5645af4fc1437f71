"""Who gets how much of a window, and in which order it is sent."""

from collections.abc import Sequence

import pytest

from promptuary.context.assemble import (
    Contribution,
    Room,
    assemble,
    ceiling,
    promise,
    recall_cost,
    shares,
)
from promptuary.context.history import MESSAGE_OVERHEAD, PricedHistory, cost
from promptuary.core.blocks import Block
from promptuary.core.layers import Band, Between, Budget, Recall
from promptuary.core.messages import Item, ToolCall
from promptuary.tokens import Counter

COUNTER = Counter()


def contribution(name: str, tokens: int, budget: Budget = "auto", band: Band = "live") -> Contribution:
    return Contribution(name, band, budget, Recall([Block.of(name, name)]), tokens)


def said(tokens: int, *, pinned: bool = False) -> Item:
    item = Item(f"{tokens}{pinned}", "user", "word" + " word" * (tokens - MESSAGE_OVERHEAD - 1), pinned=pinned)
    assert cost([item], COUNTER) == tokens
    return item


def past(items: Sequence[Item]) -> PricedHistory:
    return PricedHistory.of(items, COUNTER)


@pytest.mark.parametrize(
    ("budget", "available", "most", "least"),
    [
        (300, 1_000, 300, 300),
        (300, 200, 200, 300),
        (0, 200, 0, 0),
        ("auto", 200, 200, 0),
        ("auto", -5, 0, 0),
        (Between(50, 100), 1_000, 100, 50),
        (Between(50), 1_000, 1_000, 50),
        (Between(50, 0), 1_000, 0, 50),
        (Between(max=70), 60, 60, 0),
    ],
)
def test_a_budget_has_a_ceiling_and_a_promise(budget: Budget, available: int, most: int, least: int) -> None:
    assert (ceiling(budget, available), promise(budget)) == (most, least)


def test_a_room_is_what_the_reserve_leaves() -> None:
    assert (Room(1_000, 300).usable, Room(100, 300).usable) == (700, 0)


def test_everyone_gets_what_they_want_where_there_is_room() -> None:
    assert shares([contribution("a", 100), contribution("b", 50, 60)], past([said(200)]), 1_000) == {"a": 100, "b": 50}


def test_reservations_go_first_and_the_rest_is_shared() -> None:
    given = shares([contribution("kept", 400, 400), contribution("greedy", 5_000)], past([said(5_000)]), 1_000)

    assert given["kept"] == 400
    assert given["greedy"] <= 600 * (1 - 0.4)


def test_a_promise_holds_only_for_what_is_wanted() -> None:
    given = shares([contribution("modest", 20, 500), contribution("greedy", 5_000)], past([]), 1_000)

    assert given == {"modest": 20, "greedy": 980}


def test_the_history_may_count_on_its_part_and_leaves_what_it_does_not_need() -> None:
    assert shares([contribution("greedy", 5_000)], past([said(5_000)]), 1_000)["greedy"] <= 600
    assert shares([contribution("greedy", 5_000)], past([said(5_000)]), 1_000, 0.8)["greedy"] <= 200
    assert shares([contribution("greedy", 5_000)], past([said(100)]), 1_000) == {"greedy": 900}


def test_a_layer_that_says_more_than_its_ceiling_gets_no_more_than_that() -> None:
    given = shares([contribution("liar", 900, 50), contribution("other", 2_000, Between(0, 80))], past([]), 1_000)

    assert given == {"liar": 50, "other": 80}


def test_what_can_never_leave_the_history_is_taken_off_first() -> None:
    history = [said(700, pinned=True), said(5_000)]
    given = shares([contribution("kept", 200, 200), contribution("greedy", 5_000)], past(history), 1_000)

    assert given["kept"] == 200
    assert sum(given.values()) <= 300
    assert shares([contribution("greedy", 500)], past([said(2_000, pinned=True)]), 1_000) == {"greedy": 0}


def test_what_is_never_sent_costs_the_layers_nothing() -> None:
    unanswered = Item("1", "assistant", "word " * 500, tool_calls=(ToolCall("c", "read", "{}"),))

    assert shares([contribution("a", 900)], past([unanswered]), 900) == {"a": 900}


def test_nothing_said_costs_nothing_and_an_envelope_is_counted_once() -> None:
    assert recall_cost(Recall(), COUNTER) == 0
    assert recall_cost(Recall([Block.of("word", "a"), Block.of("word", "b")]), COUNTER) == (
        COUNTER.count("word\n\nword") + MESSAGE_OVERHEAD
    )


def test_a_prompt_is_stable_history_live_and_the_message() -> None:
    contributions = [
        contribution("a", 5, band="stable"),
        contribution("b", 5),
        contribution("c", 5, band="stable"),
        contribution("d", 5),
    ]
    call = Item("1", "assistant", "", tool_calls=(ToolCall("c1", "read", "{}"),))
    result = Item("2", "tool", "text", tool_call_id="c1")
    prompt = assemble(contributions, [call, result], {"role": "user", "content": "hi"})

    assert prompt.messages == [
        {"role": "developer", "content": "a"},
        {"role": "developer", "content": "c"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "read", "arguments": "{}"}]},
        {"role": "tool", "content": "text", "tool_call_id": "c1"},
        {"role": "developer", "content": "b"},
        {"role": "developer", "content": "d"},
        {"role": "user", "content": "hi"},
    ]
