"""Lines are broken between words while they arrive."""

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.chat.terminal import WordWrap

COLUMNS = 20


def shown(*pieces: str) -> list[str]:
    """Return what a terminal shows of pieces that are written one after the other."""
    screen = pyte.Screen(COLUMNS, 60)
    stream, wrap = pyte.Stream(screen), WordWrap()
    for piece in pieces:
        stream.feed(wrap.wrapped(piece, COLUMNS).replace("\n", "\r\n"))
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def test_a_word_that_crosses_the_edge_moves_to_the_next_line_as_a_whole() -> None:
    assert shown("The quick brown f", "ox", " jumps over it") == ["The quick brown fox", "jumps over it"]
    assert shown("The quick brown fo", "xes", " jump") == ["The quick brown", "foxes jump"]


def test_a_word_longer_than_a_line_is_broken_where_the_line_ends() -> None:
    assert shown("see " + "x" * 30) == ["see", "x" * 19, "x" * 11]


def test_lines_of_code_are_left_to_the_terminal() -> None:
    code = "```\nfirst second third fourth\n```\nThe quick brown foxes"
    assert shown(code) == ["```", "first second third f", "ourth", "```", "The quick brown", "foxes"]


@given(st.lists(st.text("ab \n", max_size=12), max_size=12))
def test_nothing_is_lost_and_no_word_is_torn(pieces: list[str]) -> None:
    text = "".join(pieces)
    if any(len(word) >= COLUMNS - 1 for word in text.split()) or text.count("\n") > 20:
        return
    lines = shown(*pieces)

    assert " ".join(lines).split() == text.split()
    assert all(len(line) < COLUMNS for line in lines)


@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_it_does_not_matter_how_a_text_is_cut_into_pieces(size: int) -> None:
    text = "The quick brown foxes jump over it. " * 5
    assert shown(*(text[start : start + size] for start in range(0, len(text), size))) == shown(text)
