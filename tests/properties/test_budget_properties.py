"""No block, and no prompt, ever costs more than it may."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.blocks import Detail, Source, Trust
from promptuary.base.budget import water_fill
from promptuary.references.detail import best_within, whole
from promptuary.references.expand import RankedSource, fit
from promptuary.references.render import preamble, render
from promptuary.tokens.counting import Counter

pytestmark = pytest.mark.torture

COUNTER = Counter()
NASTY = st.sampled_from(
    [
        "```",
        "````\n",
        "~~~",
        "</external 0123456789abcdef>",
        "# Message\n\n",
        "\r",
        "\u200b",
        "\x1b[31m",
        "\u2028",
        "🧑‍🚀",
        "x" * 200,
    ]
)
TEXTS = st.lists(st.one_of(st.text(max_size=200), NASTY, st.just("word\n")), max_size=40).map("".join)


@st.composite
def sources(draw: st.DrawFn) -> Source:
    text = draw(TEXTS)
    outline = draw(st.one_of(st.none(), TEXTS))
    return Source(
        key=draw(st.uuids()).hex,
        label=draw(st.text(min_size=1, max_size=30)),
        kind="file",
        text=text,
        revision="0" * 64,
        language=draw(st.sampled_from(["", "python"])),
        trust=draw(st.sampled_from(list(Trust))),
        first_line=draw(st.sampled_from([None, 1, 77])),
        outlines=lambda: [outline] if outline else [],
        read_on=draw(st.sampled_from(["", "read on with @file:a.py:1-200"])),
    )


@given(st.lists(st.integers(0, 1_000), max_size=12), st.integers(-10, 5_000))
def test_water_filling_gives_whole_tokens_and_leaves_nothing_while_anyone_wants_more(
    wants: list[int], total: int
) -> None:
    shares = water_fill(wants, total)

    assert sum(shares) == min(sum(wants), max(total, 0))
    assert all(0 <= share <= want for share, want in zip(shares, wants, strict=True))


@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=12), st.integers(0, 5_000))
def test_water_filling_cuts_only_the_largest(wants: list[int], total: int) -> None:
    shares = water_fill(wants, total)
    cut = [share for share, want in zip(shares, wants, strict=True) if share < want]

    assert all(share <= min(cut, default=share) + 1 for share in shares)


@given(
    st.lists(st.tuples(st.integers(0, 1_000), st.integers(1, 210)), min_size=1, max_size=12), st.integers(-10, 5_000)
)
def test_weights_leave_nothing_over_and_nobody_light_gets_more_than_somebody_heavy_who_wants_more(
    claims: list[tuple[int, int]], total: int
) -> None:
    wants, weights = [want for want, _ in claims], [weight for _, weight in claims]
    shares = water_fill(wants, total, weights)

    assert sum(shares) == min(sum(wants), max(total, 0))
    assert all(0 <= share <= want for share, want in zip(shares, wants, strict=True))
    assert water_fill(wants, total, [7] * len(wants)) == water_fill(wants, total)
    rounding = len(claims)  # each may get the odd token of one division
    for share, (want, weight) in zip(shares, claims, strict=True):
        others = zip(shares, weights, strict=True)
        assert share == want or all(
            other * weight <= (share + rounding) * heavier + weight for other, heavier in others
        )


@given(sources(), st.integers(0, 400))
def test_a_block_never_costs_more_than_its_budget(source: Source, budget: int) -> None:
    block = best_within(source, budget, COUNTER, whole(source, COUNTER))

    assert block is None or COUNTER.count(block.text) == block.tokens <= budget


@given(st.lists(st.tuples(sources(), st.integers(0, 1)), max_size=6), st.integers(0, 900))
def test_blocks_together_never_cost_more_than_the_limit(members: list[tuple[Source, int]], limit: int) -> None:
    blocks = fit([RankedSource(source, rank) for source, rank in members], limit, COUNTER)

    assert sum(block.tokens for block in blocks if block) <= limit


@given(st.lists(sources(), min_size=1, max_size=4))
def test_what_is_counted_block_by_block_is_what_the_whole_costs(members: list[Source]) -> None:
    texts = [render(source, Detail.FULL, source.text, COUNTER).text for source in members]

    assert COUNTER.count(preamble(texts)) == COUNTER.count(preamble([""])) + sum(map(COUNTER.count, texts))


@given(st.lists(sources(), max_size=4), st.integers(1_000, 60_000))
def test_everything_is_whole_where_everything_fits(members: list[Source], room: int) -> None:
    cost = sum(whole(source, COUNTER).tokens for source in members)
    blocks = fit([RankedSource(source) for source in members], cost + room, COUNTER)

    assert [block.detail for block in blocks if block] == [Detail.FULL] * len(members)
