"""Whatever is asked of whatever was indexed is answered, and a shorter answer is the beginning of a longer one."""

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptuary.search.index.document import Document
from promptuary.search.index.fulltext.index import TantivyIndex
from promptuary.search.index.fulltext.query import LONGEST_WORD
from promptuary.search.query import (
    MOST_TERMS,
    distance,
    extra_terms,
    folded,
    mistakes,
    one_mistake_away,
    parse,
    words_to_check,
)

ANY = st.characters(categories=("L", "M", "N", "P", "S", "Z", "C"))  # surrogates too
PIECES = st.one_of(
    st.text(ANY, max_size=30),
    st.sampled_from(
        [
            *(
                '"',
                "“",
                "”",
                "«",
                "»",
                "「",
                "」",
                "*",
                "(",
                ")",
                "[",
                "\\",
                "+",
                "-",
                "/",
                "~",
                "^",
                ":",
                "AND",
                "NOT",
            ),
            *("body:", "conf*", "*", " ", "\n", "\0", "\ud83d", "日本語", "getUserName", "snake_case", "the", "a.*"),
            *("alpha", "beta", "gamma", "x" * 200, "日" * 300, "(" * 500, '"alpha beta"', "e\u0301", "ก่า", "हिन्दी"),
        ]
    ),
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)
SMALL = ["alpha", "beta", "gamma", "delta", "getName", "日本"]


@pytest.fixture(scope="module")
def index() -> Iterator[TantivyIndex]:
    with tempfile.TemporaryDirectory() as folder:
        made = TantivyIndex(Path(folder) / "index", writing=True)
        for part in range(4):
            numbers = range(part * 60, part * 60 + 60)
            # The same few texts again and again: ties everywhere, in several segments.
            documents = [
                Document(
                    299 - one, one % 7, f"src/{SMALL[one % 3]}.py", (SMALL[one % 4],), " ".join(SMALL[: one % 5 + 1])
                )
                for one in numbers
            ]
            made.write(documents, ())
            made.commit()
        yield made
        made.close()


@given(TEXTS)
@example('"')
@example("(" * 1_000_000)
@example('"' + "x " * 3000 + '"')
@example("\ud800*")
@example('"日本語 x"')
def test_any_text_is_a_question(index: TantivyIndex, question: str) -> None:
    words = parse(question)

    assert len(words.terms) + len(words.prefixes) <= MOST_TERMS
    found = index.search(words, 10)
    assert len({number for number, _ in found}) == len(found) <= 10
    assert all(score >= 0 for _, score in found)


QUESTIONS = st.lists(
    st.sampled_from([*SMALL, "alp*", "be*", '"alpha beta"', "src", "nothing"]), min_size=1, max_size=5
).map(" ".join)


@given(QUESTIONS, st.integers(0, 260), st.one_of(st.none(), st.sets(st.integers(0, 9))))
def test_fewer_hits_are_the_first_of_more(
    index: TantivyIndex, question: str, limit: int, files: set[int] | None
) -> None:
    everything = index.search(parse(question), 1000, files=files)

    assert index.search(parse(question), limit, files=files) == everything[:limit]
    assert everything == sorted(everything, key=lambda hit: (-hit[1], hit[0]))


@given(TEXTS)
def test_folding_and_extra_terms_can_be_written_and_folding_twice_changes_nothing(text: str) -> None:
    plain = folded(text)

    plain.encode()
    extra_terms(plain).encode()
    assert folded(plain) == plain


WORDS = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=12)


@given(st.lists(WORDS, min_size=1, max_size=12))
def test_a_text_is_found_by_each_of_its_words(words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = TantivyIndex(Path(folder) / "index", writing=True)
        made.write([Document(1, 1, "", (), " ".join(words)), Document(2, 1, "", (), "?")], ())
        made.commit()
        for word in words:
            if len(folded(word).encode()) < LONGEST_WORD:
                assert [number for number, _ in made.search(parse(word), 5)] == [1], word
        made.close()


WORDS = st.text("abcdez", min_size=1, max_size=9)


@given(WORDS, WORDS)
def test_the_mistakes_between_two_words_are_those_of_the_textbook(one: str, other: str) -> None:
    exact = distance(one, other, 99)

    assert exact == distance(other, one, 99) == _textbook(one, other)
    assert all(min(distance(one, other, most), most + 1) == min(exact, most + 1) for most in range(4))


@given(WORDS.filter(lambda word: len(word) >= 6))
def test_what_is_one_mistake_away_is_every_such_word_and_no_other(word: str) -> None:
    every = one_mistake_away(word)

    assert len(every) == len(set(every))
    assert {distance(word, one, 2) for one in every} == {1}
    assert len([one for one in every if len(one) == len(word) + 1]) == 25 * (len(word) + 1) + 1


@given(st.text(ANY, max_size=40))
def test_any_word_may_have_a_mistake_or_may_not(word: str) -> None:
    assert mistakes(word) in {0, 1, 2}
    assert all(mistakes(one) for one in words_to_check(parse(word)))


@cache
def _textbook(one: str, other: str) -> int:
    """Return the number of mistakes by the definition."""
    if not one or not other:
        return len(one) + len(other)
    best = min(
        _textbook(one[1:], other) + 1,
        _textbook(one, other[1:]) + 1,
        _textbook(one[1:], other[1:]) + (one[0] != other[0]),
    )
    if len(one) > 1 and len(other) > 1 and one[:2] == other[1::-1]:
        best = min(best, _textbook(one[2:], other[2:]) + 1)
    return best
