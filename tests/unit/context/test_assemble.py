"""Who gets how much of a window, and in which order it is sent."""

from collections.abc import Sequence

import pytest

from promptuary.base.blocks import Block
from promptuary.base.messages import MESSAGE_OVERHEAD, Item, ToolCall, cost
from promptuary.context.assemble import (
    Contribution,
    Room,
    assemble,
    ceiling,
    promise,
    recall_cost,
    shares,
)
from promptuary.context.history import PricedHistory
from promptuary.layers.layer import Band, Budget, BudgetRange, Recall
from promptuary.tokens.counting import Counter

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
        (0, 200, 200, 900),
        (0, -5, 0, 900),
        ("auto", 200, 200, 0),
        ("auto", -5, 0, 0),
        (BudgetRange(50, 100), 1_000, 100, 50),
        (BudgetRange(50), 1_000, 1_000, 50),
        (BudgetRange(50, 0), 1_000, 0, 50),
        (BudgetRange(max=70), 60, 60, 0),
        (1_000, 2_000, 1_000, 900),
    ],
)
def test_a_budget_has_a_ceiling_and_a_promise_and_zero_is_everything(
    budget: Budget, available: int, most: int, least: int
) -> None:
    assert (ceiling(budget, available), promise(budget, 900)) == (most, least)


def test_a_room_is_what_the_reserve_leaves() -> None:
    assert (Room(1_000, 300).usable, Room(100, 300).usable) == (700, 0)


def given_to(*contributions: Contribution, history: Sequence[Item] = (), share: float = 0.4) -> dict[str, int]:
    """Return what each gets of a thousand tokens."""
    layers, rest = shares(contributions, past(history), 1_000, share)
    assert sum(layers.values()) + rest <= 1_000
    return layers


def test_everyone_gets_what_they_want_where_there_is_room() -> None:
    assert given_to(contribution("a", 100), contribution("b", 50, 60), history=[said(200)]) == {"a": 100, "b": 50}


def test_reservations_go_first_and_the_rest_is_shared() -> None:
    given = given_to(contribution("kept", 400, 400), contribution("greedy", 5_000), history=[said(5_000)])

    assert given["kept"] == 400
    assert given["greedy"] <= 600 * (1 - 0.4)


def test_room_is_left_for_the_results_of_tools_however_much_is_wanted() -> None:
    layers, rest = shares([contribution("greedy", 5_000)], past([]), 1_000)
    assert (layers, rest) == ({"greedy": 875}, 0)
    layers, rest = shares([contribution("greedy", 5_000)], past([said(5_000)]), 1_000)
    assert layers["greedy"] + rest == 875


def test_a_promise_holds_only_for_what_is_wanted() -> None:
    assert given_to(contribution("modest", 20, 500), contribution("greedy", 5_000)) == {"modest": 20, "greedy": 858}


def test_a_layer_whose_budget_is_zero_gets_all_that_it_wants_before_anyone_else() -> None:
    given = given_to(contribution("whole", 950, 0), contribution("greedy", 5_000), history=[said(5_000)])

    assert given["whole"] == 950
    assert given_to(contribution("whole", 5_000, 0)) == {"whole": 1_000}


def test_the_history_may_count_on_its_part_and_leaves_what_it_does_not_need() -> None:
    assert given_to(contribution("greedy", 5_000), history=[said(5_000)])["greedy"] <= 600
    assert given_to(contribution("greedy", 5_000), history=[said(5_000)], share=0.8)["greedy"] <= 200
    assert given_to(contribution("greedy", 5_000), history=[said(100)]) == {"greedy": 775}


def test_a_layer_that_says_more_than_its_ceiling_gets_no_more_than_that() -> None:
    given = given_to(contribution("liar", 900, 50), contribution("other", 2_000, BudgetRange(0, 80)))

    assert given == {"liar": 50, "other": 80}


def test_what_can_never_leave_the_history_is_taken_off_first() -> None:
    history = [said(700, pinned=True), said(5_000)]
    given = given_to(contribution("kept", 200, 200), contribution("greedy", 5_000), history=history)

    assert given["kept"] == 200
    assert sum(given.values()) <= 300
    assert shares([contribution("greedy", 500)], past([said(2_000, pinned=True)]), 1_000)[0] == {"greedy": 0}


def test_what_is_never_sent_costs_the_layers_nothing() -> None:
    unanswered = Item("1", "assistant", "word " * 500, tool_calls=(ToolCall("c", "read", "{}"),))

    assert given_to(contribution("a", 850), history=[unanswered]) == {"a": 850}


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
