"""Points in time as people type them."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.cli.search.search import moment

NOW = datetime(2026, 3, 31, 12, 30, tzinfo=UTC)


def seconds(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp())  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026-01-02", seconds(2026, 1, 2), seconds(2026, 1, 3)),
        ("2025-12-31", seconds(2025, 12, 31), seconds(2026, 1, 1)),
        ("2026-01-02T15:00", seconds(2026, 1, 2, 15), seconds(2026, 1, 2, 15)),
        ("2026-01-02 15:00:10", seconds(2026, 1, 2, 15, 0, 10), seconds(2026, 1, 2, 15, 0, 10)),
        ("2026-01-02T15:00+02:00", seconds(2026, 1, 2, 13), seconds(2026, 1, 2, 13)),
        (" 2026-01-02\n", seconds(2026, 1, 2), seconds(2026, 1, 3)),
        ("0d", seconds(2026, 3, 31), seconds(2026, 4, 1)),
        ("7d", seconds(2026, 3, 24), seconds(2026, 3, 25)),
        ("2W", seconds(2026, 3, 17), seconds(2026, 3, 18)),
        ("1m", seconds(2026, 2, 28), seconds(2026, 3, 1)),
        ("3m", seconds(2025, 12, 31), seconds(2026, 1, 1)),
        ("4m", seconds(2025, 11, 30), seconds(2025, 12, 1)),
        ("1y", seconds(2025, 3, 31), seconds(2025, 4, 1)),
    ],
)
def test_a_date_is_a_day_and_so_is_a_span_of_time_ago(text: str, since: int, until: int) -> None:
    assert moment(text, NOW) == since
    assert moment(text, NOW, after=True) == until


@pytest.mark.parametrize(
    "text", ["", "yesterday", "7", "d", "-7d", "7 d", "3h", "2026-13-01", "2026-02-30", "99999999y", "٣d", "9" * 5_000]
)
def test_anything_else_is_told_with_what_is_understood(text: str) -> None:
    with pytest.raises(ValueError, match=r"is neither a date \(2026-01-31.* nor a time ago \(7d, 2w, 3m, 1y\)$"):
        moment(text, NOW)


@given(st.text(max_size=12) | st.from_regex(r"\d{1,9}[dwmy]", fullmatch=True))
def test_any_text_is_a_moment_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(moment(text, NOW), int)


@given(st.integers(0, 24_000))
def test_more_months_are_longer_ago(months: int) -> None:
    assert moment(f"{months + 1}m", NOW) < moment(f"{months}m", NOW)
