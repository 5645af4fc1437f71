"""Columns line up, whatever the letters."""

from promptuary.base.table import Column, display_width, table


def test_cells_are_padded_to_the_widest_of_their_column() -> None:
    columns = (Column("name"), Column("tokens", right=True), Column(""))

    assert table(columns, [("a.py", "1,200", "whole"), ("docs/日本.md", "7", "")]).split("\n") == [
        "name          tokens",
        "a.py           1,200  whole",
        "docs/日本.md       7",
    ]


def test_wide_letters_take_two_columns() -> None:
    assert [display_width(text) for text in ("", "abc", "日本…", "Ａ")] == [0, 3, 5, 2]
