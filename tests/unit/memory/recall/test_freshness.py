"""How old a note is, by its own dates."""

import pytest

from promptuary.memory.recall.freshness import age_in_days, freshness
from tests.notes import NOW, note


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("2026-03-10T09:00:00+00:00", "written 2026-03-10 09:00"),
        ("2026-03-09T13:00:00+00:00", "written 2026-03-09 13:00"),
        ("2026-03-09T11:00:00+00:00", "written yesterday, 2026-03-09: check it before you rely on it"),
        ("2026-03-01", "written 9 days ago, 2026-03-01: check it before you rely on it"),
        ("2026-03-20T00:00:00Z", "written 2026-03-20 00:00"),
        ("2020-03-10T12:00:00", "written 2,191 days ago, 2020-03-10: check it before you rely on it"),
        ("", "of unknown age: check it before you rely on it"),
        ("last week", "of unknown age: check it before you rely on it"),
    ],
)
def test_a_note_says_when_it_was_written_and_warns_after_a_day(written: str, said: str) -> None:
    """W15: the age comes from the dates in the note, which a clone or a copy does not change."""
    assert freshness(note("a", "…", created_at=written).header, NOW) == said


def test_the_last_update_counts_and_not_the_creation() -> None:
    header = note("a", "…", created_at="2020-01-01", updated_at="2026-03-08T12:00:00+00:00").header

    assert age_in_days(header, NOW) == 2.0
