"""Whatever layers say, whatever was said before and however small the window is: a turn keeps its promises."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from promptuary.base.blocks import Block
from promptuary.base.budget import Claim, allocate
from promptuary.base.ids import new_id
from promptuary.base.messages import CALL_OVERHEAD, MESSAGE_OVERHEAD, Item, Message, as_message, cost
from promptuary.base.principals import LOCAL
from promptuary.blocking import Promptuary
from promptuary.context.assemble import Room, ceiling, promise
from promptuary.context.history import CompactionPolicy, PricedHistory, groups, spoken
from promptuary.layers.layer import Band, Budget, BudgetRange, Layer, LayerContext, Recall, RecallRequest
from promptuary.references.expansion import Expansion, TokenUse
from promptuary.threads.options import ExpandRequest, ThreadOptions
from promptuary.threads.prepared import Turn
from promptuary.threads.turn import Thread
from promptuary.tokens.counting import Counter
from tests.properties.test_compaction_properties import HISTORIES
from tests.stores import MemoryStore, forged

COUNTER = Counter()
Manner = Literal["honest", "liar", "failing", "late", "silent", "odd"]

pytestmark = pytest.mark.torture


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


class Says(Layer):
    """Says ``content`` in its manner, and remembers what it was asked for and what it said."""

    timeouts = {"recall": 0.005}  # noqa: RUF012

    def __init__(self, name: str, slot: int, band: Band, budget: Budget, *, content: str, manner: Manner) -> None:
        self.id, self.slot, self.band, self.budget = name, slot, band, budget
        self.content, self.manner = content, manner
        self.asked: list[int] = []
        self.said: list[str] = []

    def __repr__(self) -> str:
        return f"Says({self.id}, {self.slot}, {self.band}, {self.budget}, {self.content!r}, {self.manner})"

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | str | None:
        self.asked.append(request.budget)
        if self.manner == "failing":
            raise ValueError(self.content)
        if self.manner == "late":
            await asyncio.Event().wait()
        if self.manner == "silent":
            return None
        if self.manner == "odd":
            return Recall([replace(Block.of("", self.id), text=None)])
        self.said.append(self.content if self.manner == "liar" else cut(self.content, request.budget))
        return self.said[-1]

    @property
    def wanted(self) -> int:
        """What it wanted to say at first, envelope included."""
        return price(self.said[0]) if self.said and self.said[0] else 0


def cut(text: str, budget: int) -> str:
    """Return as much of the beginning of ``text`` as a bisection finds to fit."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if COUNTER.count(text[:middle]) <= budget else (low, middle - 1)
    return text[:low] if COUNTER.count(text[:low]) <= budget else ""


def price(text: str) -> int:
    return COUNTER.count(text) + MESSAGE_OVERHEAD


def cost_of(messages: Sequence[Message]) -> int:
    """Count it all anew, message by message."""
    return sum(
        price(message["content"])
        + sum(
            CALL_OVERHEAD + COUNTER.count(call["name"]) + COUNTER.count(call["arguments"])
            for call in message.get("tool_calls", ())
        )
        for message in messages
    )


CONTENTS = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.sampled_from(
            ["word " * 60, "x" * 500, "\ud800\u200b", "🧑‍🚀" * 40, "# H\n\n", "日本語" * 50, "<|endoftext|>"]
        ),
    ),
    max_size=4,
).map("".join)
RANGES = st.tuples(st.integers(0, 500), st.one_of(st.none(), st.integers(0, 500)))
BUDGETS: st.SearchStrategy[Budget] = st.one_of(
    st.integers(0, 500),
    RANGES.map(lambda one: BudgetRange(one[0], None if one[1] is None else one[0] + one[1])),
    st.just("auto"),
)
BANDS: st.SearchStrategy[Band] = st.sampled_from(["stable", "live"])
MANNERS: st.SearchStrategy[Manner] = st.sampled_from(
    ["honest", "honest", "honest", "liar", "liar", "failing", "late", "silent", "odd"]
)


def layers_of(manners: st.SearchStrategy[Manner]) -> st.SearchStrategy[list[Says]]:
    one = st.tuples(st.integers(0, 400), BANDS, BUDGETS, CONTENTS, manners)
    return st.lists(one, max_size=5).map(
        lambda made: [Says(f"layer{n}", *each[:3], content=each[3], manner=each[4]) for n, each in enumerate(made)]
    )


LAYERS = layers_of(MANNERS)
HONEST = layers_of(st.just("honest"))
ROOMS = st.tuples(st.one_of(st.integers(100, 1_500), st.integers(1_000, 20_000)), st.integers(0, 600)).map(
    lambda one: Room(one[0], min(one[1], one[0] // 2))
)
MESSAGES = st.one_of(st.text(max_size=60), CONTENTS)


def as_it_is(asked: ExpandRequest) -> Expansion:
    """Attach nothing."""
    spend = TokenUse(0, asked.limit, asked.limit, asked.limit)
    return Expansion(asked.message.text, ({"role": "user", "content": asked.message.text},), (), (), spend)


def thread_of(layers: Sequence[Layer], history: Sequence[Item], room: Room) -> tuple[Thread, MemoryStore]:
    store = MemoryStore()
    store.apply(forged("t", history))
    common = ThreadOptions(
        LOCAL, store, layers, COUNTER, room, room.window // 2, CompactionPolicy(), None, as_it_is, "r"
    )
    return Thread("t", common), store


def prepared(layers: Sequence[Layer], history: Sequence[Item], room: Room, text: str) -> tuple[Turn, Sequence[Item]]:
    """Return a turn, and the history as it stands after it."""
    thread, store = thread_of(layers, history, room)
    turn = asyncio.run(thread.prepare(text))
    return turn, store.history("t")


def stays(history: Sequence[Item]) -> int:
    """Return what of a history can never be left out."""
    return sum(cost(group.sendable, COUNTER) for group in groups(spoken(history)) if group.is_fixed)


def heard(turn: Turn, layers: Sequence[Says], band: Band) -> list[Says]:
    """Return the layers of a band that are in the prompt, by slot."""
    present = {entry.layer for entry in turn.receipt.entries if entry.status != "out"}
    return [one for one in sorted(layers, key=lambda one: one.slot) if one.band == band and one.id in present]


@given(LAYERS, HISTORIES, ROOMS, MESSAGES)
def test_a_prompt_costs_exactly_what_its_receipt_says_and_no_more_than_it_may(
    layers: list[Says], history: list[Item], room: Room, text: str
) -> None:
    turn, after = prepared(layers, history, room, text)

    assert turn.receipt.tokens == cost_of(turn.messages)
    assert turn.receipt.tokens <= room.usable or turn.receipt.blocked
    assert turn.receipt.blocked == (price(text) + stays(after) > room.usable)


@given(LAYERS, HISTORIES, ROOMS, MESSAGES)
def test_everything_that_is_sent_is_a_block_of_exactly_the_cost_in_the_receipt(
    layers: list[Says], history: list[Item], room: Room, text: str
) -> None:
    turn, _ = prepared(layers, history, room, text)
    sent = [entry for entry in turn.receipt.entries if entry.status != "out"]
    standing = [block.text for block in turn.blocks if block.source.key != "history"]

    assert [(block.source.address, block.tokens) for block in turn.blocks] == [(one.source, one.tokens) for one in sent]
    assert standing == [m["content"] for m in (*turn.prompt.stable, *turn.prompt.live, turn.prompt.message)]
    for block in turn.blocks:
        expected = cost_of(turn.prompt.history) if block.source.key == "history" else COUNTER.count(block.text)
        assert block.tokens == expected


@given(LAYERS, HISTORIES, ROOMS, MESSAGES)
def test_no_layer_costs_more_than_its_share_or_its_ceiling(
    layers: list[Says], history: list[Item], room: Room, text: str
) -> None:
    turn, _ = prepared(layers, history, room, text)

    for one in [*heard(turn, layers, "stable"), *heard(turn, layers, "live")]:
        spent = price(one.said[-1])
        assert spent <= ceiling(one.budget, room.usable - price(text))
        assert spent <= one.asked[-1] + MESSAGE_OVERHEAD


@given(LAYERS, HISTORIES, ROOMS, MESSAGES)
def test_the_order_is_stable_by_slot_then_history_then_live_by_slot_then_the_message_whole(
    layers: list[Says], history: list[Item], room: Room, text: str
) -> None:
    turn, _ = prepared(layers, history, room, text)
    stable, live = ([one.said[-1] for one in heard(turn, layers, band)] for band in ("stable", "live"))

    assert [message["content"] for message in turn.prompt.stable] == stable
    assert [message["content"] for message in turn.prompt.live] == live
    assert turn.messages == [*turn.prompt.stable, *turn.prompt.history, *turn.prompt.live, turn.prompt.message]
    assert turn.messages[-1] == {"role": "user", "content": text}


@given(LAYERS, HISTORIES, ROOMS, MESSAGES)
def test_the_history_has_everything_that_the_layers_leave(
    layers: list[Says], history: list[Item], room: Room, text: str
) -> None:
    turn, after = prepared(layers, history, room, text)
    others = cost_of([*turn.prompt.stable, *turn.prompt.live, turn.prompt.message])
    view = PricedHistory.of(after, COUNTER).newest(room.usable - others)

    assert turn.prompt.history == [as_message(item) for item in view]


@given(LAYERS, HISTORIES, ROOMS, MESSAGES)
def test_nothing_leaves_the_prompt_without_a_summary_and_a_warning(
    layers: list[Says], history: list[Item], room: Room, text: str
) -> None:
    turn, after = prepared(layers, history, room, text)
    others = cost_of([*turn.prompt.stable, *turn.prompt.live, turn.prompt.message])
    view = PricedHistory.of(after, COUNTER).newest(room.usable - others)
    shown = {one for item in view for one in (item.id, *item.stands_for)}
    gone = {item.id for group in groups(spoken(history)) for item in group.sendable} - {item.id for item in view}

    assert {message["role"] for message in turn.prompt.history} <= {"user", "assistant", "tool"}
    if gone:
        assert any("of the history" in one or "the history was" in one for one in turn.receipt.warnings)
    if room.usable - price(text) - stays(after) > 400:
        assert gone <= shown


@given(HONEST, HISTORIES, ROOMS, MESSAGES)
def test_reservations_hold_where_they_fit(layers: list[Says], history: list[Item], room: Room, text: str) -> None:
    _, after = prepared(layers, history, room, text)
    promised = {one.id: promise(one.budget, one.wanted) for one in layers}
    if price(text) + stays(after) + sum(promised.values()) > room.usable:
        return

    for one in layers:
        if promised[one.id]:
            shortest = min(promised[one.id], one.asked[-1] + MESSAGE_OVERHEAD)
            assert shortest == promised[one.id] or promised[one.id] <= MESSAGE_OVERHEAD


@given(HONEST, HISTORIES, ROOMS, MESSAGES)
def test_no_layer_is_cut_while_more_is_left_over_than_the_room_for_results(
    layers: list[Says], history: list[Item], room: Room, text: str
) -> None:
    turn, after = prepared(layers, history, room, text)
    wanted = sum(one.wanted for one in layers) + sum(cost(group.sendable, COUNTER) for group in groups(spoken(after)))
    if wanted + price(text) > room.usable - room.usable // 8:
        return

    assert [one.id for one in layers if one.said and one.said[-1] != one.said[0]] == []
    assert len(turn.prompt.history) == sum(len(group.sendable) for group in groups(spoken(after)))


@given(LAYERS, HISTORIES, ROOMS, MESSAGES)
def test_what_a_layer_does_wrong_is_in_the_receipt_and_the_turn_goes_on(
    layers: list[Says], history: list[Item], room: Room, text: str
) -> None:
    turn, _ = prepared(layers, history, room, text)
    told = {(failure.layer, failure.code) for failure in turn.receipt.failures}
    codes = {"failing": "ERROR", "odd": "ERROR", "late": "TIMEOUT"}

    for one in layers:
        if one.manner in codes and one.asked:
            assert (one.id, codes[one.manner]) in told
        if one.manner == "honest":
            assert not any(layer == one.id for layer, _ in told)
    assert turn.receipt.explain()


@given(LAYERS, HISTORIES, ROOMS, MESSAGES)
def test_whoever_had_something_to_say_is_in_the_account(
    layers: list[Says], history: list[Item], room: Room, text: str
) -> None:
    turn, _ = prepared(layers, history, room, text)

    assert {one.id for one in layers if one.wanted} <= {entry.layer for entry in turn.receipt.entries}


@given(HONEST, HISTORIES, MESSAGES, MESSAGES)
def test_a_finished_turn_is_the_beginning_of_the_next(
    layers: list[Says], history: list[Item], text: str, then: str
) -> None:
    thread, store = thread_of(layers, history, Room(2_000_000, 4_096))

    async def both() -> tuple[Turn, Turn]:
        first = await thread.prepare(text)
        await thread.finish(first, "Done.")
        return first, await thread.prepare(then)

    first, second = asyncio.run(both())
    reply: Message = {"role": "assistant", "content": "Done."}
    before = [*first.prompt.stable, *first.prompt.history]

    assert second.messages[: len(before)] == before
    assert second.messages[len(before) : len(before) + 2] == [first.prompt.message, reply]
    assert second.prompt.live == first.prompt.live
    assert [item.content for item in store.history("t")][-2:] == [text, "Done."]


@given(HONEST, HISTORIES, ROOMS, MESSAGES)
def test_the_same_turn_again_is_the_same_bytes(layers: list[Says], history: list[Item], room: Room, text: str) -> None:
    thread, _ = thread_of(layers, history, room)

    async def twice() -> tuple[Turn, Turn]:
        await thread.prepare(text)  # which may make room in the history
        return await thread.prepare(text), await thread.prepare(text)

    first, second = asyncio.run(twice())

    assert second.messages == first.messages
    assert second.number == first.number + 1


CLAIMS = st.lists(st.builds(Claim, st.integers(0, 900), st.integers(0, 900)), max_size=8)


@given(CLAIMS, st.integers(-50, 4_000))
def test_allocations_are_whole_sum_exactly_and_keep_promises_that_fit(claims: list[Claim], total: int) -> None:
    given_to = allocate(claims, total)
    promised = [min(claim.wants, claim.promised) for claim in claims]

    assert all(isinstance(share, int) for share in given_to)
    assert all(0 <= share <= claim.wants for share, claim in zip(given_to, claims, strict=True))
    assert sum(given_to) == min(sum(claim.wants for claim in claims), max(total, 0))
    if sum(promised) <= total:
        assert all(share >= least for share, least in zip(given_to, promised, strict=True))


WRITTEN = {
    "a.py": "def main() -> int:\n    return 1\n" * 20,
    "b.md": "# Title\n\n```python\nx = 1\n```\n" * 30,
    "c.txt": "日本語 🧑‍🚀\u200b\n" * 60,
    "AGENTS.md": "Answer briefly. " * 40,
}
WORDS = st.sampled_from(
    [
        "@file:a.py",
        "@file:b.md:3-9",
        "#c.txt",
        "#a.py",
        "@folder:.",
        "@file:gone.py",
        "@glob:*.md",
        "hello",
        "\n",
        "🧑‍🚀",
    ]
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    for name, text in WRITTEN.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@given(st.data(), st.integers(100, 3_000), st.integers(0, 800), st.sampled_from([0.1, 0.5, 1.0]))
def test_a_prompt_with_real_files_costs_exactly_what_its_receipt_says_and_no_more_than_it_may(
    written: Path, data: st.DataObject, window: int, reserve: int, limit: float
) -> None:
    thread = new_id("thread")
    options: dict[str, Any] = {"window": window, "reply_reserve": reserve, "limit_share": limit}
    with Promptuary.open(written, exact=True, **options) as promptuary:
        for text in data.draw(st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=3)):
            turn = promptuary.threads.prepare(text, thread=thread)
            assert turn.receipt.tokens == cost_of(turn.messages)
            assert turn.receipt.tokens <= turn.receipt.window - turn.receipt.reserve or turn.receipt.blocked
            assert turn.messages[-1]["content"].endswith(turn.expansion.text)
            promptuary.threads.finish(turn, "Done.")
