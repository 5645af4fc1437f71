"""The beginning and the end of what is too long, within a budget."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.excerpt import ends, excerpt, head_and_tail, largest
from promptuary.tokens.counting import Counter

COUNTER = Counter()
LONG = "".join(f"line {n} of the log\n" for n in range(1, 501))


def test_an_excerpt_of_one_endless_line_has_both_ends() -> None:
    text = "start " + "x" * 100_000 + " end"
    found = excerpt(text, 60, COUNTER)

    assert found is not None
    assert found.startswith("start x")
    assert found.endswith("x end")
    assert COUNTER.count(found) <= 60


def test_there_is_no_excerpt_where_not_even_the_gap_fits() -> None:
    assert excerpt(LONG, 3, COUNTER) is None


def test_the_gap_says_how_much_is_missing_and_lines_are_whole() -> None:
    text = head_and_tail(LONG, 400, "the ledger has it")
    head, gap, tail = text.partition("⋯ 9,")

    assert head.endswith(" of the log\n")
    assert (gap + tail).split("\n")[0].endswith(" characters left out; the ledger has it ⋯")
    assert tail.split("\n")[1].startswith("line ")


@given(st.text(max_size=200), st.integers(1, 200))
def test_head_and_tail_are_the_ends_and_do_not_overlap(text: str, kept: int) -> None:
    kept = min(kept, len(text))
    head, tail = ends(text, kept) if kept else ("", "")

    assert len(head) + len(tail) == kept
    assert text.startswith(head)
    assert text.endswith(tail)


@given(st.text(min_size=1, max_size=300), st.integers(0, 60))
def test_an_excerpt_is_within_its_budget(text: str, budget: int) -> None:
    found = excerpt(text, budget, COUNTER)

    assert found is None or COUNTER.count(found) <= budget


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_largest_number_that_fits_is_found(budget: int, most: int) -> None:
    assert largest(lambda kept: kept, lambda kept: kept, budget, most=most) == (min(budget, most) or None)


@given(
    costs=st.lists(st.integers(0, 5), max_size=40).map(lambda steps: [*accumulate(steps, initial=0)]),
    budget=st.integers(1, 100),
    near=st.integers(-5, 60),
)
def test_the_largest_number_is_the_same_wherever_one_begins(costs: list[int], budget: int, near: int) -> None:
    most = len(costs) - 1
    found = largest(lambda kept: kept, costs.__getitem__, budget, most=most, near=near)

    assert found == max((kept for kept in range(1, most + 1) if costs[kept] <= budget), default=None)


def test_few_are_tried_if_one_begins_beside_the_largest_number() -> None:
    tried: list[int] = []

    def make(kept: int) -> int:
        tried.append(kept)
        return kept

    found = largest(make, int, 500, most=1_000, near=499)

    assert (found, len(tried)) == (500, 4)
