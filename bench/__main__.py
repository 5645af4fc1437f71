"""Runs every benchmark, or those that are named: ``python -m bench tokens expanding``."""

import importlib
import sys

BENCHMARKS = (
    "starting",
    "installed",
    "tokens",
    "expanding",
    "refusing",
    "listing",
    "completion",
    "chat",
    "prefix",
    "preparing",
    "first_token",
    "indexing",
    "embedding",
    "searching",
    "memory",
    "recording",
    "ledger",
    "experiences",
    "mcp",
    "hooks",
    "clients",
    "serve",
    "caching",
    "postgres",
    "postgres_index",
    "api",
    "page",
    "principals",
)


def main() -> None:
    words = sys.argv[1:]
    options = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    for name in words[:options] or BENCHMARKS:  # what follows is for the benchmark
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
