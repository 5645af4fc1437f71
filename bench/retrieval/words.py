"""Search by words alone, as the core install has it: how well it ranks, and how often it takes chance for an answer.

    python -m bench.retrieval.words --data DIR --repositories DIR [--set NAME ...] [--limit-questions N] [--json FILE]

The sets are those of ``bench.retrieval``. ``--repositories`` is a folder with checkouts of public repositories, for
which ``repositories.tsv`` here has questions and ``absent.tsv`` has questions that nothing in them answers.

Ranking: ours; our hits in the order of their own word score, which nothing beside the words may spoil; and bare FTS5,
one row a file and one row a chunk, with its default tokenizer and every word of the question.

Answers: *true* are the questions with an answering document among the first five hits, for which search says that they
answer. *Absent* are questions whose answer is not there: those of ``absent.tsv``, and ``FOREIGN`` of other sets about
something else. *Nothing* are the messages that ask for nothing. For the last two, an answer is false. Last come the
same figures if more or fewer words were needed, and with the need that would be chosen without each set.
"""

import argparse
import json
import os
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.retrieval.baselines import chunks_of
from bench.retrieval.figures import FIGURES, figures, mean
from bench.retrieval.nothing import messages
from bench.retrieval.sets import CACHE, Collection, Corpus, found_sets, written
from promptuary.blocking import Promptuary
from promptuary.references.message import ParsedMessage
from promptuary.search.query import unquoted
from promptuary.search.ranking import WEIGHTS
from promptuary.search.values import SearchQuery, SearchResult

SHOWN = ("nDCG@10", "R@5", "MRR", "hit@1")
FOREIGN = 25
"""How many questions of other sets are asked."""
MOST_FALSE = 0.03
NEEDS = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4)
"""The words that an answer needs, relative to those that are needed."""
ABOUT = {"locomo-dev": "people", "longmemeval-dev": "people", "scifact-dev": "medicine"} | dict.fromkeys(
    ("cosqa-dev", "flask", "httpx", "memo-dev", "notes-dev", "stackfaq-dev", "swe-dev"), "software"
)
"""What the sets with English questions are about."""
_HERE = Path(__file__).parent

Sure = list[float]
"""The confidence of each answer."""


@dataclass(slots=True)
class Result:
    """What was measured on one set; ``asked`` are its questions with a right hit among the first five."""

    name: str
    rankings: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)
    asked: Sure = field(default_factory=list)
    absent: Sure = field(default_factory=list)
    nothing: Sure = field(default_factory=list)


def main() -> None:
    options = _options()
    os.environ["XDG_STATE_HOME"] = str(options.cache / "state")
    every = [*found_sets(options.data, (), options.limit_questions), *repositories(options.repositories)]
    results = []
    print("\nSearch by words alone (" + ", ".join(SHOWN) + ")")
    for one in every:
        if not options.set or one.name in options.set:
            results.append(measured(one, foreign(one.name, every), options.cache))
            show_ranking(results[-1])
    show_answers(results)
    if options.json:
        options.json.write_text(json.dumps([as_json(one) for one in results], indent=1), encoding="utf-8")


def measured(collection: Collection, others: Sequence[str], cache: Path) -> Result:
    """Return the figures of one set."""
    result = Result(collection.name)
    absent = [question for name, question in _table("absent.tsv") if name == collection.name]
    for corpus in collection.corpora:
        folder = written(corpus, cache)
        with Promptuary.open(folder, exact=True, embedder="none", watch_debounce=0.05) as promptuary:
            promptuary.search.index([folder])
            # So that a search need not look at every file whether it has changed.
            promptuary._app.search.watcher()
            _rank(result, promptuary, corpus)
            if corpus is not collection.corpora[0]:
                continue
            result.absent += [_sure(_find(promptuary, one)) for one in (*absent, *others)]
            words = [text for message in messages() if (text := unquoted(ParsedMessage(message).words)).strip()]
            result.nothing += [_sure(_find(promptuary, one)) for one in words]
    return result


def _rank(result: Result, promptuary: Promptuary, corpus: Corpus) -> None:
    chunks = chunks_of(promptuary, corpus)
    files = fts5([(path, text) for path, text in corpus.files.items()])
    parts = fts5([(path, chunk.context) for path, chunk in chunks])
    for number, question in corpus.questions.items():
        found = _find(promptuary, question)
        own = sorted(found.hits, key=lambda hit: -(hit.why.lexical or 0.0))
        orders = {
            "ours": [hit.path for hit in found.hits],
            "own word score": [hit.path for hit in own],
            "FTS5, files": files(question),
            "FTS5, chunks": parts(question),
        }
        relevant = corpus.relevant[number]
        for name, order in orders.items():
            paths = list(dict.fromkeys(order))
            first = float(bool(paths) and paths[0] in relevant)
            row = dict(zip(FIGURES, figures(paths, relevant), strict=True)) | {"hit@1": first}
            result.rankings.setdefault(name, []).append(tuple(row[one] for one in SHOWN))
        if any(hit.path in relevant for hit in found.hits[:5]):
            result.asked.append(_sure(found))


def _find(promptuary: Promptuary, question: str) -> SearchResult:
    return promptuary.search.find(SearchQuery(question, 100, merge_copies=False))


def _sure(found: SearchResult) -> float:
    return found.confidence if found.hits else 0.0


def fts5(rows: Sequence[tuple[str, str]]) -> Callable[[str], list[str]]:
    """Return the order of bare FTS5 over texts, each with the path of its document."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(path UNINDEXED, text)")
    database.executemany("INSERT INTO texts VALUES (?, ?)", rows)

    def order(question: str) -> list[str]:
        words = dict.fromkeys(re.findall(r"\w+", question.casefold()))
        wanted = " OR ".join(f'"{word}"' for word in words)
        found = database.execute("SELECT path FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 100", (wanted,))
        return [path for (path,) in found] if words else []

    return order


def repositories(folder: Path | None) -> list[Collection]:
    """Return the repositories in ``folder`` that there are questions for, each as a set."""
    found: dict[str, dict[str, Mapping[str, int]]] = {}
    for name, question, files in _table("repositories.tsv"):
        found.setdefault(name, {})[question] = dict.fromkeys(files.split(), 1)
    there = {name: every for name, every in found.items() if folder is not None and (folder / name).is_dir()}
    return [
        Collection(name, [Corpus(name, _texts(folder / name), {one: one for one in every}, every, {})])
        for name, every in there.items()
        if folder is not None
    ]


def _texts(folder: Path) -> dict[str, str]:
    texts = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and ".git" not in name.parts and ".promptuary" not in name.parts:
            content = path.read_bytes()
            if b"\0" not in content:
                texts[str(name)] = content.decode("utf-8", "replace")
    return texts


def foreign(name: str, sets: Sequence[Collection]) -> list[str]:
    """Return questions of sets that are about something else, spread evenly over all of them."""
    others = [one for one in sets if one.name in ABOUT and ABOUT[one.name] != ABOUT.get(name)]
    every = [[text for corpus in one.corpora for text in corpus.questions.values()] for one in others]
    if not every:
        return []
    places = [(each % len(every), each // len(every)) for each in range(FOREIGN)]
    share = -(-FOREIGN // len(every))
    return [every[at][step * len(every[at]) // share] for at, step in places]


def _table(name: str) -> list[list[str]]:
    lines = (_HERE / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def show_ranking(result: Result) -> None:
    """Print how well one set is ranked."""
    print(f"\n  {result.name}, {len(result.rankings['ours']):,} questions")
    for name, rows in result.rankings.items():
        print(f"    {name:<16}" + "".join(f"{value:8.3f}" for value in _means(rows)), flush=True)


def show_answers(results: Sequence[Result]) -> None:
    """Print what was taken for an answer, and what other needs would bring."""
    print(f"\n  {'answers':<18}{'true':>14}{'absent':>14}{'nothing':>14}")
    for one in results:
        columns = (one.asked, one.absent, one.nothing)
        print(f"  {one.name:<18}" + "".join(f"{_count(column, 1.0):>6} of {len(column):<4}" for column in columns))
    print(f"\n  {'words needed':<18}{'true':>8}{'absent':>8}{'nothing':>8}   means of the sets")
    for need in NEEDS:
        true, absent, nothing = rates(results, need)
        print(f"  {need * WEIGHTS.least_words:<18.2f}{true:8.3f}{absent:8.3f}{nothing:8.3f}")
    print("\n  the least that keeps both false rates at 3 % without a set, and the rates on that set")
    for one in results:
        need = chosen([each for each in results if each is not one])
        true, absent, nothing = rates([one], need)
        print(f"  {one.name:<18}{need * WEIGHTS.least_words:8.2f}{true:8.3f}{absent:8.3f}{nothing:8.3f}")


def rates(results: Sequence[Result], need: float) -> tuple[float, float, float]:
    """Return the shares that are taken for answers, averaged over the sets, if ``need`` times as much was needed."""
    columns = zip(*((one.asked, one.absent, one.nothing) for one in results), strict=True)
    true, absent, nothing = (mean([_count(each, need) / len(each) for each in one if each]) for one in columns)
    return true, absent, nothing


def chosen(results: Sequence[Result]) -> float:
    """Return the least need, in steps of a twentieth, that keeps both false rates at ``MOST_FALSE``."""
    steps = (step / 20 for step in range(4, 60))
    return next((need for need in steps if max(rates(results, need)[1:]) <= MOST_FALSE), 3.0)


def _count(sure: Sure, need: float) -> int:
    return sum(one >= need for one in sure)


def _means(rows: Sequence[tuple[float, ...]]) -> list[float]:
    return [mean(column) for column in zip(*rows, strict=True)]


def as_json(result: Result) -> dict[str, Any]:
    """Return what was measured on one set as JSON."""
    return {
        "set": result.name,
        "rankings": {name: dict(zip(SHOWN, _means(rows), strict=True)) for name, rows in result.rankings.items()},
        "answers": {"true": result.asked, "absent": result.absent, "nothing": result.nothing},
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.retrieval.words", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of the sets")
    parser.add_argument("--repositories", type=Path, help="the folder of the repositories")
    parser.add_argument("--set", action="append", help="only this set; repeat")
    parser.add_argument("--limit-questions", type=int, default=0, help="at most so many questions of each corpus")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--cache", type=Path, default=CACHE, help="the folder of documents and indexes")
    return parser.parse_args()


if __name__ == "__main__":
    main()
