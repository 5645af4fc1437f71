"""Dates as people write them."""

from datetime import UTC, datetime

import pytest

from promptuary.search.dates.written import first_date, lone_date, order_of, stamp_date

DAY = int(datetime(2023, 5, 8, tzinfo=UTC).timestamp())


def at(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp())  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Conversation on 2022/05/15 (Sun) 17:17", at(2022, 5, 15, 17, 17)),
        ("Conversation on 1:56 pm on 8 May, 2023", at(2023, 5, 8, 13, 56)),
        ("12:09 am on 13 September, 2023", at(2023, 9, 13, 0, 9)),
        ("2023-05-08", DAY),
        ("2023-05-08T10:32:11Z", at(2023, 5, 8, 10, 32, 11)),
        ("2023-05-08 10:32 +02:00", at(2023, 5, 8, 8, 32)),
        ("2023.05.08", DAY),
        ("May 8, 2023", DAY),
        ("Monday, May 8th, 2023 at 1:56 PM", at(2023, 5, 8, 13, 56)),
        ("8th of May 2023", DAY),
        ("Besprechung vom 8. Mai 2023, 14:30", at(2023, 5, 8, 14, 30)),
        ("le 1er janvier 2024", at(2024, 1, 1)),
        ("8 de mayo de 2023", DAY),
        ("8 de março de 2023 às 9:05", at(2023, 3, 8, 9, 5)),
        ("31 February 2023, then 2 March 2023", at(2023, 3, 2)),
        ("2023-05-08 on John 3:16", DAY),
        ("2023-05-08 99:99", DAY),
        ("8 Mustard 2023", None),
        ("12023-05-08", None),
        ("0000-01-01", None),
        ("08/05/2023", None),
        ("", None),
    ],
)
def test_the_first_date_in_a_text_is_found_with_its_time(text: str, expected: int | None) -> None:
    assert first_date(text) == expected


@pytest.mark.parametrize("line", ["2023-05-08", "--- Monday, May 8, 2023 ---", "**8 May 2023**", "[2023-05-08]"])
def test_a_line_that_is_a_date_with_at_most_a_weekday_is_one(line: str) -> None:
    assert lone_date(line) == DAY


@pytest.mark.parametrize(
    "line", ["we met on 2023-05-08", "see you on May 8, 2023!", "word", "", f"2023-05-08{' ' * 99}"]
)
def test_a_line_that_says_more_is_no_date(line: str) -> None:
    assert lone_date(line) is None


def test_the_order_of_day_and_month_is_that_of_a_date_that_has_only_one_reading() -> None:
    assert order_of(["08/05/2023", "25/05/2023"]) == "dmy"
    assert order_of(["08/05/2023", "05/25/2023"]) == "mdy"
    assert order_of(["08.05.2023"]) == "dmy"
    assert order_of(["08/05/2023", "10:32"]) is None


def test_a_stamp_is_a_date_with_a_time_or_a_time_of_the_day() -> None:
    assert stamp_date("08/05/23, 1:32:11 PM", "dmy", None) == at(2023, 5, 8, 13, 32, 11)
    assert stamp_date("05/08/2023 10:32", "mdy", None) == at(2023, 5, 8, 10, 32)
    assert stamp_date("2023-05-08 10:32", None, None) == at(2023, 5, 8, 10, 32)
    assert stamp_date("10:32", None, at(2023, 5, 8, 7)) == at(2023, 5, 8, 10, 32)


def test_a_stamp_that_could_mean_two_days_means_none() -> None:
    assert stamp_date("08/05/2023 10:32", None, DAY) is None
    assert stamp_date("10:32", None, None) is None
    assert stamp_date("99:99", None, DAY) == DAY
