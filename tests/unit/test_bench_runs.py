"""The benchmarks can be loaded and run; how long they take is for ``make bench``."""

import importlib
from pathlib import Path

import pytest

from bench.__main__ import BENCHMARKS
from bench.prefix import _same

MODULES = sorted(path.stem for path in (Path(__file__).parents[2] / "bench").glob("*.py"))


@pytest.mark.parametrize(
    "name", [one for one in MODULES if one not in {"__init__", "__main__", "big_tree", "passages", "report"}]
)
def test_a_benchmark_loads_and_has_a_main(name: str) -> None:
    assert callable(importlib.import_module(f"bench.{name}").main)


def test_every_benchmark_that_is_run_by_default_is_there() -> None:
    assert set(BENCHMARKS) <= set(MODULES)


@pytest.mark.parametrize(
    ("before", "now", "same"), [("", "", 0), ("abc", "abd", 2), ("abc", "abcd", 3), ("x", "y", 0), ("ab", "ab", 2)]
)
def test_what_two_prompts_begin_with_in_common_is_measured(before: str, now: str, same: int) -> None:
    assert _same(before, now) == same
