"""What a file is, and the day it is about."""

from datetime import UTC, datetime

import pytest

from promptuary.search.chunks.file_kinds import date_of, kind_of

CHANGED = 1_700_000_000


def at(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp())  # type: ignore[arg-type,misc]


def date(path: str, text: str = "") -> int:
    return date_of(path, text, CHANGED * 1_000_000_000 + 999_999_999)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.md", "markdown"),
        ("docs/A.MARKDOWN", "markdown"),
        ("a.mdx", "markdown"),
        ("a.rst", "markdown"),
        ("notes.org", "markdown"),
        ("a.py", "code"),
        ("a.tsx", "code"),
        ("a.nim", "code"),
        ("Makefile", "code"),
        ("Dockerfile", "code"),
        ("a.json", "data"),
        ("a.yml", "data"),
        ("a.toml", "data"),
        ("a.csv", "data"),
        ("a.ini", "data"),
        ("a.tsv", "data"),
        ("uv.lock", "data"),
        ("a.txt", "text"),
        ("a.log", "text"),
        ("a.tex", "text"),
        ("README", "text"),
        ("md", "text"),
        ("folder.md/README", "text"),
        ("", "text"),
    ],
)
def test_the_name_tells_what_a_file_is(path: str, kind: str) -> None:
    assert kind_of(path) == kind


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-03-05", at(2024, 3, 5)),
        ('"2024-03-05"  # a comment', at(2024, 3, 5)),
        ("2024-03-05T10:20:30Z", at(2024, 3, 5, 10, 20, 30)),
        ("2024-03-05 10:20", at(2024, 3, 5, 10, 20)),
        ("2024-03-05T10:20:30.123+02:00", at(2024, 3, 5, 8, 20, 30)),
        ("2024-03-05 10:20:30 -0130", at(2024, 3, 5, 11, 50, 30)),
        ("2024-13-05", CHANGED),
        ("0000-01-01", CHANGED),
        ("9999-01-01", CHANGED),
        ("2024-02-30", CHANGED),
        ("2024-03-05T25:00:00", CHANGED),
        ("2024-03-05T10:00:00+99:99", CHANGED),
        ("yesterday", CHANGED),
        ("٢٠٢٤-٠٣-٠٥", CHANGED),
        ("", CHANGED),
    ],
)
def test_the_front_matter_tells_the_date(value: str, expected: int) -> None:
    assert date("a.md", f"---\ntitle: x\ndate: {value}\n---\n\ntext") == expected
    assert date("a.md", f"---\r\nDate: {value}\r\n---\r\n") == expected
    assert date("a.md", f"+++\ntitle = 'x'\ndate = {value}\n+++\n\ntext") == expected
    assert date("a.md", f"\ufeff+++\r\nDate={value}\r\n+++\r\n") == expected


def test_date_comes_before_updated_and_that_before_created() -> None:
    lines = {"created": "2021-01-01", "updated": "2022-01-01", "date": "2023-01-01"}
    text = "".join(f"{key}: {value}\n" for key, value in lines.items())

    assert date("a.md", f"---\n{text}---\n") == at(2023, 1, 1)
    assert date("a.md", f"---\n{text.replace('date: 2023', 'x: 2023')}---\n") == at(2022, 1, 1)
    assert date("a.md", "---\ncreated: 2021-01-01\nupdated: never\n---\n") == at(2021, 1, 1)


@pytest.mark.parametrize(
    "line",
    [
        '"date" = 2024-03-05',
        "'date' = '2024-03-05'",
        "  date = 2024-03-05",
        "date = 2024-03-05# a comment",
        'title = """\nx"""\ncreated = 2020-01-01\nupdated = 2024-03-05',
        "date = 2024-03-05\n[extra]\nupdated = 2020-01-01",
        "created = 2024-03-05\n[extra]\ndate = 2020-01-01",
    ],
)
def test_front_matter_may_be_toml(line: str) -> None:
    assert date("a.md", f"+++\n{line}\n+++\n") == at(2024, 3, 5)


@pytest.mark.parametrize(
    "text",
    [
        "+++\ntitle = 'x'\n+++\ndate = 2024-03-05\n",
        "+++\ndate = 2024-03-05\n",
        "+++\ndate = 2024-03-05\n---\n",
        "++++\ndate = 2024-03-05\n++++\n",
        "+++\n[extra]\ndate = 2024-03-05\n+++\n",
        "+++\n  [[extra]]\n  date = 2024-03-05\n+++\n",
        "+++\nextra.date = 2024-03-05\n+++\n",
        "+++\ndate: 2024-03-05\n+++\n",
        "---\ndate = 2024-03-05\n---\n",
        f"+++\n{'x = 1' * 4_000}\ndate = 2024-03-05\n+++\n",
    ],
)
def test_what_is_no_date_of_the_file_in_toml_is_passed_over(text: str) -> None:
    assert date("a.md", text) == CHANGED


def test_a_date_outside_the_front_matter_is_none_of_the_file() -> None:
    assert date("a.md", "---\ntitle: x\n---\ndate: 2024-03-05\n") == CHANGED
    assert date("a.md", "---\ndate: 2024-03-05\n") == CHANGED
    assert date("a.md", "date: 2024-03-05\n") == CHANGED
    assert date("a.md", "---\nmeta:\n  date: 2024-03-05\n---\n") == CHANGED


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("diary/2024-03-05.md", at(2024, 3, 5)),
        ("2024_03_05 walk.txt", at(2024, 3, 5)),
        ("2020-01-01/call-2024-03-05-b.txt", at(2024, 3, 5)),
        ("2020-01-01/call.txt", at(2020, 1, 1)),
        ("2024-13-05 2024-03-05.md", at(2024, 3, 5)),
        ("2024-03_05.md", CHANGED),
        ("12024-03-05.md", CHANGED),
        ("2024-03-051.md", CHANGED),
        ("0000-03-05.md", CHANGED),
    ],
)
def test_the_path_tells_the_date_the_name_first(path: str, expected: int) -> None:
    assert date(path, "# 1999-01-01x") == expected if expected != CHANGED else date(path) == expected


def test_the_front_matter_comes_before_the_path_and_that_before_the_heading() -> None:
    assert date("2024-03-05.md", "---\ndate: 2020-01-01\n---\n# 2021-01-01\n") == at(2020, 1, 1)
    assert date("2024-03-05.md", "# 2021-01-01\n") == at(2024, 3, 5)


def test_the_first_heading_tells_the_date() -> None:
    assert date("a.md", "\n# Monday, 2021-01-01\n") == at(2021, 1, 1)
    assert date("a.md", "# Title\n\n# 2021-01-01\n") == CHANGED
    assert date("a.py", "# 2021-01-01\n") == CHANGED


def test_a_file_without_a_date_was_last_changed_then() -> None:
    assert date("a.md", "text") == CHANGED
