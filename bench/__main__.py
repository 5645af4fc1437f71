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
)


def main() -> None:
    for name in sys.argv[1:] or BENCHMARKS:
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
