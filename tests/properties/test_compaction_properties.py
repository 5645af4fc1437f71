"""Whatever a history is made of, no room is made at the price of a promise."""

import asyncio
import re
from collections.abc import Iterable, Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from promptuary.base.messages import Item, Role, ToolCall, cost
from promptuary.context.compact.digest import digest
from promptuary.context.compact.due import kept
from promptuary.context.compact.envelope import summary_of
from promptuary.context.compact.run import Compaction, compact
from promptuary.context.history import CompactionPolicy, PricedHistory, groups, older, spoken
from promptuary.tokens.counting import Counter
from tests.items import attached, whole

COUNTER = Counter()

PIECES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "We decided to use src/app.py instead. ",
            "Why is it 42 ms? ",
            "# Attached context\n\n## a.py\nfile\n\n```\n",
            "```\n\n# Message\n\n",
            "## Decisions\n- forged\n",
            "# Summary of the earlier conversation\n\nIt stands for 9 earlier messages",
            "https://example.com/a ",
            "`name` other_name ",
            "word " * 100,
            "x" * 3_000,
            "error\n" * 300,
            "\ud800\u200b",
        ]
    ),
)
TEXTS = st.lists(PIECES, max_size=3).map("".join)
CALL_IDS = st.sampled_from(["1", "2", "3"])
SPEAKERS: st.SearchStrategy[Role] = st.sampled_from(["user", "user", "assistant", "assistant", "system", "developer"])


@st.composite
def runs(draw: st.DrawFn) -> list[Item]:
    """Something that was said, a call with its results in any order, or parts of such that lost each other."""
    pinned = draw(st.sampled_from([False, False, False, True]))
    what = draw(st.sampled_from(["said", "said", "attached", "called", "lost", "summary"]))
    if what == "attached":
        blocks = [whole(body, f"{n}.md") for n, body in enumerate(draw(st.lists(TEXTS, min_size=1, max_size=3)))]
        return [attached(draw(TEXTS), *blocks, pinned=pinned)]
    if what == "said":
        return [Item("", draw(SPEAKERS), draw(TEXTS), pinned=pinned)]
    if what == "summary":
        return [Item("", "user", draw(TEXTS), kind="summary", stands_for=(f"gone-{draw(st.integers(0, 5))}",))]
    ids = draw(st.lists(CALL_IDS, min_size=1, max_size=3, unique=True))
    call = Item("", "assistant", draw(TEXTS), tool_calls=tuple(ToolCall(one, "read", draw(TEXTS)) for one in ids))
    results = [Item("", "tool", draw(TEXTS), tool_call_id=one, pinned=pinned) for one in draw(st.permutations(ids))]
    if what == "called":
        return [call, *results]
    return draw(st.lists(st.sampled_from([call, *results]), min_size=1, max_size=3))


def _numbered(parts: Iterable[Sequence[Item]]) -> list[Item]:
    items = [item for part in parts for item in part]
    return [replace(item, id=f"i{n}") for n, item in enumerate(items)]


HISTORIES = st.lists(runs(), max_size=10).map(_numbered)
BUDGETS = st.one_of(st.integers(0, 400), st.integers(0, 12_000))
KEPT = st.integers(0, 6)


def run(items: Sequence[Item], window: int, keep_last: int) -> Compaction:
    return asyncio.run(compact(items, window, COUNTER, policy=CompactionPolicy(keep_last=keep_last)))


def kept_in(items: Sequence[Item], window: int, keep_last: int) -> int:
    return kept(items, window, COUNTER, CompactionPolicy(keep_last=keep_last))


def always(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if item.pinned or item.role in {"system", "developer"}]


@given(HISTORIES, BUDGETS)
def test_a_view_is_something_that_a_provider_takes(items: list[Item], budget: int) -> None:
    waiting: set[str] = set()
    for item in PricedHistory.of(items, COUNTER).newest(budget):
        if item.role == "tool":
            assert item.tool_call_id in waiting
            waiting.remove(item.tool_call_id)
        else:
            assert not waiting
            waiting = {call.id for call in item.tool_calls}
    assert not waiting


@given(HISTORIES, BUDGETS)
def test_a_view_that_was_cut_begins_with_a_user_or_what_is_pinned(items: list[Item], budget: int) -> None:
    sendable = [item for group in groups(spoken(items)) for item in group.sendable]
    view = PricedHistory.of(items, COUNTER).newest(budget)
    pinned = {item.id for group in groups(spoken(items)) if group.is_fixed for item in group.items}

    assert not view or view[0].role == "user" or view[0].id in pinned or len(view) == len(sendable)


@given(HISTORIES, BUDGETS)
def test_a_view_keeps_the_order_and_the_bytes_and_what_must_stay(items: list[Item], budget: int) -> None:
    view = PricedHistory.of(items, COUNTER).newest(budget)
    places = [items.index(item) for item in view]
    must_stay = [item for group in groups(spoken(items)) if group.is_fixed for item in group.sendable]

    assert places == sorted(places)
    assert all(item in view for item in must_stay)
    assert {item.role for item in view} <= {"user", "assistant", "tool"}
    assert cost(view, COUNTER) <= budget or list(view) == must_stay


@given(HISTORIES)
def test_a_past_costs_what_its_items_cost_and_all_of_it_is_shown_where_it_fits(items: list[Item]) -> None:
    past = PricedHistory.of(items, COUNTER)
    sendable = [item for group in groups(spoken(items)) for item in group.sendable]

    assert past.tokens == cost(spoken(items), COUNTER)
    assert past.sent == cost(sendable, COUNTER)
    assert list(past.newest(past.sent)) == sendable
    assert past.fixed <= past.sent


@given(HISTORIES, BUDGETS)
def test_more_room_never_shows_less_of_a_history_without_summaries(items: list[Item], budget: int) -> None:
    plain = [item for item in items if item.kind == "message"]
    small, large = (PricedHistory.of(plain, COUNTER).newest(room) for room in (budget, budget + 100))

    assert {item.id for item in small} <= {item.id for item in large}


@given(HISTORIES, BUDGETS, KEPT)
def test_compaction_keeps_what_must_stay_and_the_newest_items(items: list[Item], window: int, keep_last: int) -> None:
    done = run(items, window, keep_last)

    assert all(item in done.items for item in always(items))
    newest = items[len(items) - kept_in(items, window, keep_last) :]
    assert list(done.items[len(done.items) - len(newest) :]) == newest


@given(HISTORIES, BUDGETS, KEPT)
def test_the_newest_items_are_kept_unless_they_are_too_many_or_too_large(
    items: list[Item], window: int, keep_last: int
) -> None:
    number = kept_in(items, window, keep_last)
    fixed = {item.id for group in groups(items) if group.is_fixed for item in group.items}
    free = max(window - cost([item for item in items if item.id in fixed], COUNTER), 0)

    def price(count: int) -> int:
        return cost([item for item in items[len(items) - count :] if item.id not in fixed], COUNTER)

    assert number <= keep_last
    assert price(number) <= 0.7 * free
    if number < len(items):
        more = number + len(next(group for group in groups(items) if group.end == len(items) - number).items)
        assert more > keep_last or price(more) > 0.35 * free


@given(HISTORIES, BUDGETS, KEPT)
def test_compaction_separates_no_group(items: list[Item], window: int, keep_last: int) -> None:
    done = run(items, window, keep_last)
    places = {one: replacement.item.id for replacement in done.replacements for one in replacement.ids}
    calls = {item.id: item for item in done.items}

    for group in groups(items):
        if len(group.items) > 1 and any(item.id in places for item in group.items):
            shortened = [calls[places.get(item.id, item.id)] for item in group.items]
            assert {item.kind for item in shortened} in ({"message"}, {"summary"})
    sendable = sum(len(group.sendable) for group in groups(done.items))
    assert sendable >= sum(len(g.sendable) for g in groups(items)) - len(done.replaced)


@given(HISTORIES, BUDGETS, KEPT)
def test_compaction_never_costs_tokens_and_fits_the_window_unless_nothing_more_can_go(
    items: list[Item], window: int, keep_last: int
) -> None:
    done = run(items, window, keep_last)
    newest = kept_in(items, window, keep_last)
    left = [item for group in older(done.items, newest) for item in group.items]

    assert done.tokens_before == cost(items, COUNTER)
    assert done.tokens_after == cost(done.items, COUNTER) <= done.tokens_before
    assert done.changed == (done.tokens_after < done.tokens_before) == bool(done.strategies)
    # A line of about twenty tokens has to stand for what went; what costs less than that is not worth it.
    assert done.tokens_after <= window or cost(left, COUNTER) <= 30


@given(HISTORIES, BUDGETS, KEPT)
def test_everything_that_left_can_be_found_from_what_took_its_place(
    items: list[Item], window: int, keep_last: int
) -> None:
    done = run(items, window, keep_last)
    known = {item.id for item in items} | {one for item in items for one in item.stands_for}

    for replacement in done.replacements:
        behind = set(replacement.item.stands_for)
        assert behind >= set(replacement.ids)
        assert behind >= {one for item in items if item.id in replacement.ids for one in item.stands_for}
        assert behind <= known
    assert {item.id for item in items} - set(done.replaced) == {item.id for item in done.items} & known


def around(item: Item) -> list[str]:
    """Return the parts of an item's content that are not the bodies of attachments."""
    starts, ends = [one.start for one in item.attachments], [one.end for one in item.attachments]
    return [item.content[end:start] for end, start in zip([0, *ends], [*starts, len(item.content)], strict=True)]


@given(HISTORIES, BUDGETS, KEPT)
def test_compaction_never_cuts_what_a_person_or_an_assistant_said(
    items: list[Item], window: int, keep_last: int
) -> None:
    done = run(items, window, keep_last)
    before = {item.id: item for item in items}

    for replacement in done.replacements:
        if replacement.item.kind == "summary":
            continue
        (old,), new = [before[one] for one in replacement.ids], replacement.item
        assert old.attachments or old.role == "tool"
        if old.attachments:
            assert new.words == old.words
            assert around(new) == around(old)
            assert [one.source for one in new.attachments] == [one.source for one in old.attachments]


@given(HISTORIES, BUDGETS, KEPT)
def test_attachments_of_shortened_items_are_still_where_they_say(
    items: list[Item], window: int, keep_last: int
) -> None:
    done = run(items, window, keep_last)
    before = {item.id: item for item in items}

    for replacement in done.replacements:
        old, new = before[replacement.ids[0]], replacement.item
        for one, short in zip(old.attachments, new.attachments, strict=False):
            body, cut = old.content[one.start : one.end], new.content[short.start : short.end]
            if short.detail is one.detail:
                assert cut == body
            else:
                head, _, tail = re.split(
                    r"(⋯ [0-9,]+ characters left out; item i\d+ of the ledger has all of it ⋯\n)", cut
                )
                assert body.startswith(head.removesuffix("\n"))
                assert body.endswith(tail)


@given(HISTORIES, BUDGETS, KEPT)
def test_compacting_again_changes_nothing(items: list[Item], window: int, keep_last: int) -> None:
    once = run(items, window, keep_last)

    assert run(once.items, window, keep_last).items == once.items


@given(HISTORIES, st.integers(-10, 800))
def test_a_digest_is_within_its_budget_and_always_the_same(items: list[Item], budget: int) -> None:
    text = digest(items, budget, COUNTER)

    assert COUNTER.count(text) <= max(budget, 0)
    assert text == digest(list(items), budget, COUNTER)
    assert all(not line or line.startswith(("## ", "- ")) for line in text.split("\n"))


SAID = st.lists(
    st.one_of(
        st.text("ab X01\n.,!?>#*+-|[]()`'\"→⋯", max_size=14),
        st.sampled_from(
            ["8443. Do not ", "C# ", "x > 5 ", "1. ", "- [ ] ", "```\n", "We decided ", "why? ", "a/b_.py "]
        ),
        st.sampled_from(["never " * 40, "12345 " * 60, "第八千四百四十三号。", "the port is 8443 " * 9]),
    ),
    max_size=6,
).map("".join)


def bare(text: str) -> str:
    return " ".join(text.split())


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), SAID), min_size=1, max_size=4), st.integers(40, 900))
def test_every_sentence_of_a_digest_is_part_of_what_was_said(said: list[tuple[Role, str]], budget: int) -> None:
    items = [Item(str(n), role, text) for n, (role, text) in enumerate(said)]
    everything = "\n".join(bare(text) for _, text in said)
    text = digest(items, budget, COUNTER)
    again = digest([summary_of(items, text)], 2 * budget, COUNTER)

    title = ""
    for line in [*text.split("\n"), *again.split("\n")]:
        title = line.removeprefix("## ") if line.startswith("## ") else title
        if not line.startswith("- ") or re.fullmatch("- ⋯ [0-9,]+ more left out", line):
            continue
        entry = re.sub(r"^(?:User|Assistant): ", "", line.removeprefix("- "))
        parts = re.findall(r"`([^`]+)`", entry) if title in {"Files", "Names"} else entry.split("⋯")
        assert all(part.strip() in everything for part in parts)
        assert set(re.findall(r"\d+", line)) <= set(re.findall(r"\d+", everything))


WORDS = st.text("abcdefghijklm", min_size=3, max_size=8)


@given(st.lists(st.tuples(st.integers(10, 10**9), WORDS, WORDS), min_size=1, max_size=6))
def test_figures_paths_and_questions_of_a_conversation_are_in_its_digest(
    planted: list[tuple[int, str, str]],
) -> None:
    items = []
    for figure, folder, word in planted:
        items += [
            Item(f"u{figure}", "user", f"Please look into {folder}/{word}.py today. It matters."),
            Item(f"a{figure}", "assistant", f"Hm. It took {figure} ms. What about {word} and {folder}? So be it."),
        ]
    text = digest(items, 4_000, COUNTER)

    for figure, folder, word in planted:
        assert f"It took {figure} ms." in text
        assert f"`{folder}/{word}.py`" in text
        assert f"What about {word} and {folder}?" in text
        assert f"- Please look into {folder}/{word}.py today. It matters." in text
