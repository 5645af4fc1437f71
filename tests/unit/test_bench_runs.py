"""The benchmarks can be loaded and run; how long they take is for ``make bench``."""

import importlib
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bench.__main__ import BENCHMARKS
from bench.citus import NO_CITUS
from bench.completion import our_search, quality
from bench.prefix import _same
from bench.typed_paths import FAMILIES, typed_paths
from tests.postgres import new_tenant, postgres_server

ROOT = Path(__file__).parents[2]
MODULES = sorted(path.stem for path in (ROOT / "bench").glob("*.py"))


@pytest.mark.parametrize(
    "name",
    [
        one
        for one in MODULES
        if one not in {"__init__", "__main__", "big_tree", "passages", "process", "report", "typed_paths"}
    ],
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


def test_without_data_the_measure_of_retrieval_says_so_and_ends_well(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.retrieval", "--data", str(tmp_path / "none")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert "there are no sets in" in done.stdout


def test_typed_paths_are_the_same_for_the_same_seed_and_come_in_every_family() -> None:
    paths = [f"{folder}/sub/{name}_{folder}.py" for folder in ("alpha", "beta") for name in ("config", "router")]
    queries = typed_paths(paths, seed=4, queries=60)

    assert queries == typed_paths(paths, seed=4, queries=60)
    assert queries != typed_paths(paths, seed=5, queries=60)
    assert {typed.family for typed in queries} == set(FAMILIES)
    table = quality({"ours": our_search(paths)}, queries)
    assert sum(row["ours"].asked for row in table.values()) == 60
    assert table["name"]["ours"].five == 10


def test_the_benchmark_of_postgresql_measures_each_side_of_a_small_database() -> None:
    small = ["--chunks", "40", "--turns", "20", "--owners", "4", "--rounds", "8", "--clients", "1", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "bench", "postgres", *small], cwd=ROOT, capture_output=True, text=True, check=True
    )

    for title in ("Loading: 20 turns", "Turns: 20", "Loading: 40 chunks", "Recall beside 40", "Search: 40 chunks"):
        assert title in done.stdout
    for side in ("bare SQL", "PostgreSQL", "SQLite"):
        assert done.stdout.count(f"{side}, 2 clients: p99") == 3


def test_the_check_of_citus_says_that_a_server_has_none_and_runs_what_needs_none() -> None:
    with postgres_server() as url:
        command = [sys.executable, "-m", "bench", "citus", "--url", url]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

        assert done.returncode == 1
        assert done.stderr == f"{NO_CITUS}\n"
        lines = done.stdout.splitlines()
        assert lines[0].startswith("FAILED  The server has Citus.")
        assert len(lines) == 8
        assert all(line.startswith("ok ") for line in lines[1:])

        with closing(new_tenant(url)):
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "name another database" in done.stderr
