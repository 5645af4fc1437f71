"""Questions about a day, asked on several days: whether the entry of that day is found first, and is an answer.

    python -m bench.retrieval.days --data DIR [--today 2026-11-20 ...] [--words]

``make_log.py`` in DIR writes a work log of 180 days, of which a third is dated in the name of its file, a third in a
heading and a third in the front matter, and questions that are true on one day only; the clock of the search is set to
that day. For each way to search: the mean reciprocal rank of the right entry, its share of first places, and how often
the search says that it has an answer.
"""

import argparse
import os
import subprocess
import sys
from datetime import UTC, date, datetime, tzinfo
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from bench.retrieval.figures import mean
from bench.retrieval.sets import CACHE, Corpus, loaded, written
from promptuary.blocking import Promptuary
from promptuary.search.values import SearchQuery

DAYS = ("2026-11-20", "2026-01-05", "2027-03-01", "2025-06-30", "2028-02-29")
"""Days to ask on: at the turn of a year and of months, in a leap year, at the ends of a week."""


def main() -> None:
    options = _options()
    os.environ["XDG_STATE_HOME"] = str(options.cache / "state")
    print("\nQuestions about a day" + f"\n  {'asked on':<14}{'search':<10}{'MRR':>8}{'first':>8}{'answers':>9}")
    for today in map(date.fromisoformat, options.today or DAYS):
        with TemporaryDirectory() as folder:
            program = [sys.executable, str(options.data / "make_log.py"), f"{folder}/log", str(today)]
            subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
            corpus = loaded(Path(folder) / "log")
        for name in ("words",) if options.words else ("words", "hybrid"):
            rows = asked(corpus, written(corpus, options.cache), today, hybrid=name == "hybrid")
            figures = [mean(column) for column in zip(*rows, strict=True)]
            print(f"  {today!s:<14}{name:<10}{figures[0]:8.3f}{figures[1]:8.3f}{figures[2]:9.3f}", flush=True)


def asked(corpus: Corpus, folder: Path, today: date, *, hybrid: bool) -> list[tuple[float, float, float]]:
    """Return for each question the reciprocal rank, whether it is first, and whether the search has an answer."""
    rows = []
    embedder = "auto" if hybrid else "none"
    with Promptuary.open(folder, exact=True, watch_debounce=0.05, embedder=embedder) as promptuary:
        promptuary.search.index([folder])
        if hybrid:
            promptuary.search.embed()
        with patch("promptuary.search.answer.datetime", clock_at(today)):
            for number, question in corpus.questions.items():
                found = promptuary.search.find(SearchQuery(question, 100, merge_copies=False))
                paths = list(dict.fromkeys(hit.path for hit in found.hits))
                rank = next((at for at, path in enumerate(paths, 1) if path in corpus.relevant[number]), 0)
                rows.append((1 / rank if rank else 0.0, float(rank == 1), float(found.answers)))
    return rows


def clock_at(day: date) -> type[datetime]:
    """Return a clock that shows noon of a day."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Clock":
            return cls(day.year, day.month, day.day, 12, tzinfo=tz or UTC)

    return Clock


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval.days", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder with make_log.py")
    parser.add_argument("--today", action="append", help="a day to ask on; repeat")
    parser.add_argument("--words", action="store_true", help="by words only")
    parser.add_argument("--cache", type=Path, default=CACHE, help="the folder of documents, indexes and vectors")
    return parser.parse_args()


if __name__ == "__main__":
    main()
