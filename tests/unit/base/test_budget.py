"""Tokens are shared in whole, promises first, and nothing is left over while anyone wants more."""

import pytest

from promptuary.base.budget import Claim, allocate, water_fill


@pytest.mark.parametrize(
    ("wants", "total", "shares"),
    [
        ([], 10, []),
        ([5], 10, [5]),
        ([50], 10, [10]),
        ([3, 100, 100], 13, [3, 5, 5]),
        ([100, 3, 100], 13, [5, 3, 5]),
        ([0, 0], 10, [0, 0]),
        ([10, 10], 0, [0, 0]),
        ([10, 10], -5, [0, 0]),
        ([1, 2, 3], 6, [1, 2, 3]),
    ],
)
def test_the_small_are_served_whole_and_the_large_share_the_rest(
    wants: list[int], total: int, shares: list[int]
) -> None:
    assert water_fill(wants, total) == shares


@pytest.mark.parametrize(("count", "total"), [(3, 10), (7, 20), (4, 3)])
def test_equals_differ_by_at_most_the_odd_token(count: int, total: int) -> None:
    shares = water_fill([100] * count, total)

    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1


@pytest.mark.parametrize(
    ("wants", "weights", "total", "shares"),
    [
        ([100, 100], [3, 1], 80, [60, 20]),
        ([100, 100], [1, 3], 80, [20, 60]),
        ([10, 100], [3, 1], 80, [10, 70]),
        ([100, 100, 5], [100, 1, 1], 105, [100, 2, 3]),
        ([100, 100], [2, 2], 81, [41, 40]),
    ],
)
def test_what_is_shared_is_shared_by_weight(
    wants: list[int], weights: list[int], total: int, shares: list[int]
) -> None:
    assert water_fill(wants, total, weights) == shares


def test_a_promise_goes_before_what_others_want() -> None:
    assert allocate([Claim(100), Claim(60, 60)], 80) == [20, 60]


def test_a_promise_is_a_beginning_and_no_ceiling() -> None:
    assert allocate([Claim(100, 10), Claim(20)], 120) == [100, 20]


def test_a_promise_to_one_who_wants_less_is_for_the_others() -> None:
    assert allocate([Claim(5, 60), Claim(100)], 80) == [5, 75]


def test_promises_that_are_too_many_share_what_is_there() -> None:
    assert allocate([Claim(100, 100), Claim(10, 10), Claim(100)], 50) == [40, 10, 0]
