"""An answer in messages: none is too long, no fence is broken, nothing is lost, and what was shown stays."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.gateways.texts.chunking import chunks

LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["```", "```python", "~~~", "````", "", "```x`y", "def f():", "    return 1", "# Title", "- item"]
        ),
        st.text(alphabet="abc xyz é漢🙂`~", max_size=120),
    ),
    max_size=60,
)
TEXTS = LINES.map("\n".join)


def open_fence(text: str) -> str:
    """Return the fence that is open at the end, by a reader of its own."""
    fence = ""
    for line in text.split("\n"):
        found = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        if not found:
            continue
        mark, rest = found[1], found[2]
        if not fence:
            fence = "" if mark[0] == "`" and "`" in rest else mark
        elif mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip():
            fence = ""
    return fence


def letters(text: str) -> str:
    return re.sub(r"[\s`~]|python", "", text)


@given(TEXTS, st.integers(64, 400))
def test_every_piece_fits_and_closes_its_fences(text: str, longest: int) -> None:
    pieces = chunks(text, longest)

    assert all(len(piece) <= longest for piece in pieces)
    assert all(not open_fence(piece) for piece in pieces[:-1])


@given(TEXTS, st.integers(64, 400))
def test_nothing_is_lost_and_nothing_is_added_but_fences(text: str, longest: int) -> None:
    said = letters("".join(chunks(text, longest)))

    # What is said about a fence is said again where it is opened again.
    infos = "".join(letters(found) for found in re.findall(r"^ {0,3}(?:`{3,}|~{3,})(.*)$", text, re.MULTILINE))
    assert said == letters(text) or (infos and len(said) >= len(letters(text)))


@given(TEXTS, st.integers(64, 400), st.integers(0, 2000))
def test_the_pieces_of_a_beginning_stay_but_for_the_last(text: str, longest: int, end: int) -> None:
    begun, whole = chunks(text[:end], longest), chunks(text, longest)

    assert whole[: len(begun) - 1] == begun[:-1]


@pytest.mark.parametrize("longest", [2000, 4096])
def test_code_that_is_longer_than_a_message_is_code_in_each(longest: int) -> None:
    code = "```python\n" + "print('hello')\n" * 1000 + "```\nDone."
    pieces = chunks(code, longest)

    assert len(pieces) > 2
    assert all(piece.startswith("```python\n") for piece in pieces)
    assert pieces[-1].endswith("Done.")
    assert "".join(pieces).count("print('hello')\n") == 1000


def test_a_short_answer_is_one_message() -> None:
    assert chunks("Hello.", 4096) == ["Hello."]
    assert chunks("", 4096) == [""]


def test_one_endless_word_is_cut_anyway() -> None:
    assert [len(one) for one in chunks("x" * 1000, 400)] == [400, 400, 200]


def test_a_paragraph_is_kept_together_where_that_is_possible() -> None:
    assert chunks("a" * 60 + "\n\n" + "b" * 60, 100) == ["a" * 60, "b" * 60]
