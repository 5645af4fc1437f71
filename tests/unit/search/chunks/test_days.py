"""Which days a file says that its parts are of."""

from datetime import date, timedelta
from itertools import groupby

import pytest

from promptuary.search.chunks.chunker import chunks
from promptuary.search.chunks.lines import Sizes
from promptuary.tokens.counting import DEFAULT_VOCABULARY, Counter

COUNTER = Counter(DEFAULT_VOCABULARY)
SMALL = Sizes(16, 0)


def days(path: str, text: str, sizes: Sizes = SMALL) -> list[tuple[str, ...]]:
    """Return the days of the chunks, as month and day, those of neighbours with the same once; all are in 2026."""
    return [same for same, _ in groupby(tuple(map(_short, chunk.days)) for chunk in chunks(text, path, sizes, COUNTER))]


def _short(day: int) -> str:
    found = date(1970, 1, 1) + timedelta(day)
    assert found.year == 2026
    return f"{found:%m-%d}"


WORDS = " ".join(f"word{number}" for number in range(8))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("log/2026-09-03.md", "x"),
        ("log/2026_09_03 walk.txt", "x"),
        ("log/2026.09.03.csv", "1,2"),
        ("log/20260903.md", "x"),
        ("log/202609031105 note.md", "x"),
        ("log/2026/09/03.md", "x"),
        ("2026-09-03/plan.md", "x"),
        ("log/2025-01-01/2026-09-03.py", "a = 1"),
        ("a.md", "# Thursday, 3 September 2026\n\nx"),
        ("a.md", "# Donnerstag, 3. September 2026\n\nx"),
        ("a.md", "# Jeudi 3 septembre 2026\n\nx"),
        ("a.md", "# giovedì 3 settembre 2026\n\nx"),
        ("a.md", "# donderdag 3 september 2026\n\nx"),
        ("a.md", "# 2026年9月3日(木)\n\nx"),
        ("a.md", "# Do 03.09.2026\n\nx"),
        ("a.rst", "Log of 2026-09-03\n=================\n\nx"),
        ("2026/a.md", "# Thursday, 3 September\n\nx"),
        ("a.md", "# 2026\n\n## 9月3日\n\nx"),
        ("a.md", "---\ndate: 2026-09-03\n---\n\nx"),
        ("a.md", "---\ncreated: 3 September 2026\n---\n\nx"),
        ("a.txt", "2026-09-03\n\nx"),
        ("a.txt", "*** 3. September 2026 ***\nx"),
        ("a.md", "- 2026-09-03: ordered pipe"),
        ("a.log", "[2026-09-03 10:22:01] started\n"),
        ("chat 2026-09-03.md", "user: what is tea?\nassistant: a drink\n"),
    ],
)
def test_a_file_says_its_day_in_many_places(path: str, text: str) -> None:
    assert days(path, text) == [("09-03",)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "We met on 3 September 2026, and again."),
        ("a.md", "# Thursday, 3 September\n\nx"),
        ("a.md", "# Plan 9\n\nx"),
        ("a.py", "# 2026-09-03\na = 1\n"),
        ("20261303.md", "x"),
        ("1202609035.md", "x"),
        ("a.md", "# Version 3.11.2\n\nx"),
    ],
)
def test_what_only_mentions_a_day_is_not_of_it(path: str, text: str) -> None:
    assert days(path, text) == [()]


def test_the_innermost_heading_counts_and_then_the_file() -> None:
    text = f"# Notes\n\n{WORDS}\n\n## 2026-09-04\n\n{WORDS}\n\n### Later\n\n{WORDS}\n\n## Other\n\n{WORDS}\n"

    assert days("2026-09-03.md", text) == [("09-03",), ("09-04",), ("09-03",)]
    assert days("a.md", text) == [(), ("09-04",), ()]


def test_a_chunk_of_several_days_is_of_all_of_them() -> None:
    diary = "# 2026\n\n## 3 September\n\nx\n\n## 4 September\n\ny\n"

    assert days("a.md", diary, Sizes(256, 0)) == [("09-03", "09-04")]


def test_turns_of_a_chat_are_of_their_own_days() -> None:
    chat = [
        f"[{day} 10:0{number}] {name}: do you know {WORDS}?"
        for day in ("2026-09-03", "2026-09-04")
        for number, name in enumerate(("anna", "ben") * 2)
    ]

    found = days("chat.md", "\n".join(chat), Sizes(48, 0))

    assert found[0] == ("09-03",)
    assert found[-1] == ("09-04",)


def test_a_line_that_is_a_date_ends_at_the_next_heading_and_an_entry_at_a_blank_line() -> None:
    text = f"2026-09-03\n{WORDS}\n\n# Other\n\n{WORDS}\n\n- 2026-09-05 {WORDS}\n  {WORDS}\n\n{WORDS}\n"

    assert days("a.md", text) == [("09-03",), (), ("09-05",), ()]


def test_a_table_of_a_year_is_of_no_day() -> None:
    rows = "\n".join(f"{date(2026, 1, 1) + timedelta(number)}" for number in range(100))

    assert days("a.txt", rows, Sizes(4096, 0)) == [()]
