"""Ids are unique and sort by time."""

import re

import pytest

from promptuary.base import ids


def test_an_id_tells_what_it_is_of_and_sorts_by_when_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1_700_000_000_000_000_000, 1_800_000_000_000_000_000])
    monkeypatch.setattr("promptuary.base.ids.time.time_ns", lambda: next(times))
    first, second = ids.new_id("turn"), ids.new_id("turn")

    assert re.fullmatch(r"turn-[0-9a-f]{12}-[0-9a-f]{12}", first)
    assert first < second


def test_ids_that_are_made_at_once_differ() -> None:
    assert len({ids.new_id("item") for _ in range(10_000)}) == 10_000
