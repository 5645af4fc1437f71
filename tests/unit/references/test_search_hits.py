"""What a search found, made ready to be shown: no line twice, and none that was not found."""

from hypothesis import given
from hypothesis import strategies as st

from promptuary.references.kinds.search_hits import apart, rest_of
from promptuary.search.values import Hit, Why

FILE = [f"line {number}" if number % 4 else "" for number in range(31)]
"""What the lines of every file read; the first is line 0, which is in no hit."""


def hit(path: str, first: int, last: int) -> Hit:
    text = "\n".join(FILE[first : last + 1])
    return Hit("/home", path, first, last, text, (), "text", 0, "ab" * 32, 0.9, Why())


SPANS = st.tuples(st.integers(1, 30), st.integers(1, 30)).map(lambda ends: (min(ends), max(ends)))
HITS = st.lists(st.builds(lambda path, span: hit(path, *span), st.sampled_from(["a", "b"]), SPANS), max_size=8)


def lines(one: Hit) -> list[tuple[str, int]]:
    return [(one.path, number) for number in range(one.start_line, one.end_line + 1)]


@given(HITS)
def test_no_line_is_shown_twice_none_is_made_up_and_what_is_left_stands_in_its_order(hits: list[Hit]) -> None:
    kept = apart(hits)

    shown = [line for one in kept for line in lines(one)]
    assert len(shown) == len(set(shown))
    assert set(shown) <= {line for one in hits for line in lines(one)}
    assert [one.text for one in kept] == ["\n".join(FILE[one.start_line : one.end_line + 1]) for one in kept]
    owners = [next(index for index, whole in enumerate(hits) if set(lines(one)) <= set(lines(whole))) for one in kept]
    assert owners == sorted(owners)


@given(SPANS, st.lists(SPANS, max_size=5))
def test_of_a_hit_everything_is_left_that_is_not_shown_but_blanks_and_single_lines(
    span: tuple[int, int], shown: list[tuple[int, int]]
) -> None:
    whole = hit("a", *span)
    left = rest_of(whole, shown)

    seen = {number for first, last in shown for number in range(first, last + 1)}
    if not seen & set(range(whole.start_line, whole.end_line + 1)):
        assert left == [whole]
        return
    fresh = [number for number in range(whole.start_line, whole.end_line + 1) if number not in seen]
    kept = [number for one in left for _, number in lines(one)]
    alone = [number for number in fresh if number - 1 not in fresh and number + 1 not in fresh]
    assert kept == [number for number in fresh if number not in alone]


def test_what_is_left_is_dropped_if_it_is_blank() -> None:
    assert rest_of(hit("a", 1, 3), [(1, 2)]) == []
    blank = Hit("/home", "a", 1, 4, "one\ntwo\n\n ", (), "text", 0, "ab" * 32, 0.9, Why())
    assert rest_of(blank, [(1, 2)]) == []
