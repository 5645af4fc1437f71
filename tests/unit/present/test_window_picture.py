"""The pictures of sessions: numbers as a line, and a window as a bar that fits."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.cli.terminal import has_colour
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.present.window_bar import sparkline, window_picture


def receipt(tokens: dict[str, int], window: int = 1000, reserve: int = 100, frame: int = 0) -> Receipt:
    entries = [ReceiptEntry(layer, "block", "in", count) for layer, count in tokens.items()]
    return Receipt("t", "main", window, reserve, sum(tokens.values()) + frame, entries)


def test_numbers_are_columns_as_high_as_they_are_large() -> None:
    assert sparkline([0, 50, 100]) == "▁▅█"
    assert (sparkline([]), sparkline([0, 0]), sparkline([7])) == ("", "▁▁", "█")


def test_each_layer_has_a_letter_and_its_share() -> None:
    lines = window_picture(receipt({"memory": 30, "message": 10, "instructions": 60}), width=30, colours=False)

    assert lines[0] == "window  [##................__]"
    assert lines[1] == "prompt  [mmmmmmeeiiiiiiiiiiii]"
    assert lines[3] == "m  memory            30  30.0%"
    assert lines[-1] == "100 of 1,000 tokens used (#), 100 for the reply (_)"


def test_what_stands_around_the_blocks_is_counted_too() -> None:
    lines = window_picture(receipt({"message": 10}, frame=10), width=40, colours=False)

    assert [line.split() for line in lines if "around" in line] == [["a", "around", "them", "10", "50.0%"]]


def test_what_is_not_in_the_prompt_is_not_in_the_picture() -> None:
    out = Receipt("t", "main", 100, 0, 0, [ReceiptEntry("references", "x", "out", 50)])

    assert "references" not in "\n".join(window_picture(out, width=40, colours=False))


@given(
    st.dictionaries(st.text(min_size=1, max_size=8), st.integers(0, 10**6), max_size=15),
    st.integers(1, 10**6),
    st.integers(20, 200),
    st.booleans(),
)
def test_a_bar_is_as_wide_as_it_may_be(tokens: dict[str, int], window: int, width: int, colours: bool) -> None:
    lines = window_picture(receipt(tokens, window), width=width, colours=colours)
    plain = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in lines[:2]]

    assert all(len(line) <= max(width, 20, len(tokens) + 11) for line in plain)


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert has_colour(Terminal())
    assert not has_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colour(Terminal())
    coloured = window_picture(receipt({"message": 10}), width=40, colours=True)
    assert "\x1b[42m" in coloured[1]
    assert "m" not in coloured[1].replace("prompt", "").replace("\x1b[42m", "").replace("\x1b[0m", "")
