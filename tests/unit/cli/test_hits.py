"""Which lines of a passage are shown, and how they are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.table import display_width
from promptuary.cli.flags import FILE_KINDS
from promptuary.cli.search.hits import LINES, excerpt
from promptuary.cli.terminal import cut
from promptuary.search import values as search


def test_the_line_with_most_of_the_words_stands_between_its_neighbours() -> None:
    text = "one\n\ntwo deploy\n\nthree\nDeploy and roll back\n\nfour\nfive"

    assert excerpt(text, ["deploy", "back"], 80) == ["three", "Deploy and roll back", "four"]


def test_at_an_edge_there_are_still_three_lines_if_there_are_three() -> None:
    text = "zebra\none\ntwo\nthree"

    assert excerpt(text, ["zebra"], 80) == ["zebra", "one", "two"]
    assert excerpt(text, ["three"], 80) == ["one", "two", "three"]
    assert excerpt("zebra", ["zebra"], 80) == ["zebra"]
    assert excerpt(" \n\n", ["zebra"], 80) == []


def test_without_any_of_the_words_it_is_the_beginning() -> None:
    assert excerpt("a\nb\nc\nd", [], 80) == excerpt("a\nb\nc\nd", ["zebra"], 80) == ["a", "b", "c"]


def test_another_form_of_a_word_is_found_too() -> None:
    assert "they compact it" in excerpt("a\nb\nc\nthey compact it\nd", ["compacted"], 80)


def test_case_accents_and_widths_make_no_difference() -> None:
    assert "Café ＺＥＢＲＡ" in excerpt("a\nb\nc\nCafé ＺＥＢＲＡ\nd", ["cafe", "Zébra"], 80)


@pytest.mark.parametrize("name", ["placeOrder", "PlaceOrder", "place_order", "place-order", "shop.placeOrder"])
@pytest.mark.parametrize(
    "line", ["def placeOrder(x):", "def place_order(x):", "function PlaceOrder(x) {", "to place order"]
)
def test_a_name_is_found_by_its_parts_where_they_stand_together(name: str, line: str) -> None:
    text = f"top\nput the order in its place\nthe border\n{line}\nbottom"

    assert excerpt(text, [name], 80) == ["the border", line, "bottom"]


def test_a_name_is_found_by_some_of_its_parts_if_there_are_no_others() -> None:
    assert excerpt("a\nb\nc\nan order\nd", ["placeOrder"], 80) == ["c", "an order", "d"]
    assert excerpt("a\nb\nc\nplaceOrder\nd\nplace_order", ["placeOrder"], 80) == ["c", "placeOrder", "d"]


def test_single_letters_are_no_parts_of_a_name() -> None:
    assert excerpt("top\none\nmore\nin it, I do", ["x_i", "don't"], 80) == ["top", "one", "more"]


def test_a_long_line_is_cut_to_where_the_parts_of_a_name_are() -> None:
    shown = excerpt("much " * 100 + "place_order(x) " + "more " * 100, ["placeOrder"], 40)[0]

    assert "place_order" in shown


@pytest.mark.parametrize("marks", [("---", "---"), ("---", "..."), ("+++", "+++"), ("\ufeff---", "--- ")])
def test_front_matter_is_passed_over_unless_more_of_the_words_are_in_it(marks: tuple[str, str]) -> None:
    text = f"{marks[0]}\ntitle: Boats\ntags: [river]\n{marks[1]}\n\nWe rowed upstream.\nIt was late.\nWe slept."
    body = ["We rowed upstream.", "It was late.", "We slept."]

    assert excerpt(text, [], 80, opening=True) == body
    assert excerpt(text, ["rowed"], 80, opening=True) == body
    assert excerpt(text, ["rowed", "boats"], 80, opening=True) == body
    assert "tags: [river]" in excerpt(text, ["river"], 80, opening=True)


def test_what_only_looks_like_front_matter_is_shown() -> None:
    for text in ("---\none\ntwo\nthree", "---\none\n---\n", "one\n---\ntwo\n---\nthree"):
        assert excerpt(text, [], 80, opening=True) == [line for line in text.split("\n") if line][:3]
    assert excerpt("---\none\n---\ntwo", [], 80) == ["---", "one", "---"]


def test_the_heading_that_is_shown_already_is_left_out() -> None:
    assert excerpt("## Rollback\n\nRun it again.", ["rollback"], 80, heading="Rollback") == ["Run it again."]
    assert excerpt("## Rollback\n", ["rollback"], 80, heading="Rollback") == ["## Rollback"]


def test_what_all_lines_are_indented_by_is_taken_off() -> None:
    assert excerpt("        if x:\n\t    y()\n", ["y"], 80) == ["if x:", "y()"]
    assert excerpt("    if x:\n        y()\n", ["y"], 80) == ["if x:", "    y()"]


def test_a_long_line_is_cut_to_where_the_word_is() -> None:
    shown = excerpt("much " * 100 + "the zebra runs " + "more " * 100, ["zebra"], 40)[0]

    assert "zebra" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert display_width(shown) <= 40


def test_what_would_move_a_cursor_is_spelled_out() -> None:
    assert excerpt("a\x1b[2J\tzebra\r\u202e", ["zebra"], 80) == ["a⟨U+001B⟩[2J   zebra⟨U+000D⟩⟨U+202E⟩"]


ANY = st.text(max_size=400) | st.text("\x1b\x9b\r\n\t\u202e ab日", max_size=60)


@given(ANY, st.lists(st.text(max_size=8), max_size=4), st.integers(20, 90), st.booleans())
def test_no_excerpt_is_too_high_too_wide_or_moves_a_cursor(
    text: str, words: list[str], width: int, opening: bool
) -> None:
    lines = excerpt(text, words, width, opening=opening)

    assert len(lines) <= LINES
    assert all(display_width(line) <= width for line in lines)
    assert not [char for line in lines for char in line if char in "\r\n\t\x1b\x9b\u202e"]


def test_what_is_cut_fits_and_says_so() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "ab…"
    assert cut("日本語", 5) == "日本…"
    assert display_width("日本…") == 5


def test_the_kinds_that_can_be_asked_for_are_all_there_are() -> None:
    assert FILE_KINDS == search.FILE_KINDS
