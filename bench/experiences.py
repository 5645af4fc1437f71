"""Experiences: finding them as they become more, beside a bare query of the engine underneath.

The intents are the beginnings of passages of real text. Bare tantivy has the same texts and gets the same questions in
the same run, alternating; it returns ten stored texts, ours ten experiences with their strengths, ranked. So does our
own search of files, which is what stands underneath. The same work, done bare, is to have tantivy rank as many
candidates as ours does, and to read the rows of as many experiences from the same database.
"""

import json
import os
import sqlite3
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from bench.indexing import _tantivy
from bench.memory import _seconds
from bench.passages import passages, questions
from bench.report import Row, report
from bench.searching import _alternating, _bare_tantivy
from promptuary.base.clock import now
from promptuary.blocking import Promptuary
from promptuary.experiences.drafting import draft
from promptuary.experiences.search import MAX_HITS
from promptuary.search.answer import POOL, answer
from promptuary.search.values import SearchQuery

SIZES = (1_000, 10_000, 100_000)
QUESTIONS = 200
LONGEST = 120
TAGS = ("build", "docs", "python", "deploy", "tests")


def main() -> None:
    sizes = [int(one) for one in os.environ.get("PROMPTUARY_BENCH_EXPERIENCES", "").split()] or list(SIZES)
    intents = [" ".join(one.split())[:LONGEST].encode("utf-8", "ignore").decode() for one in passages(max(sizes))]
    # In lower case: for the bare engine, a word such as AND is syntax.
    # More than are wanted: few intents are long enough for a question.
    asked = [one.lower() for one in questions(intents, QUESTIONS * 8)][:QUESTIONS]
    before: dict[str, float] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["HOME"] = f"{folder}/home"
            before = measure(Path(folder), intents[:size], asked, before)


def measure(folder: Path, intents: Sequence[str], asked: Sequence[str], before: dict[str, float]) -> dict[str, float]:
    """Measure one size; ratios of growth are to the size before. Return what the next size is compared with."""
    (folder / "tantivy").mkdir()
    _tantivy(list(intents), folder / "tantivy")
    (folder / "work").mkdir()
    size = f"{len(intents):,}"
    with Promptuary.open(folder / "work", exact=True, embedder="none") as p:
        own = p._app.experiences()
        rows = [
            Row(f"{size}: added in one transaction", _seconds(lambda: fill(p, intents)), "s"),
            Row(f"{size}: indexed, once", _seconds(own.settle), "s"),
        ]
        find, files = p.experiences.find_similar, own._search.backend.index
        sides: dict[str, Callable[[str], object]] = {
            "bare tantivy": _bare_tantivy(folder / "tantivy"),
            "the same work, bare tantivy and SQLite": _same_work(folder),
            "our search of files, the same texts": lambda question: answer(SearchQuery(question), files, None),
            "find_similar": lambda question: find(question, lexical_only=True),
            "find_similar with tags": lambda question: find(question, TAGS[:2], lexical_only=True),
        }
        taken = _alternating(sides, asked)
        found: dict[str, float] = {}
        for name, times in taken.items():
            for percent in (50, 99):
                key = f"{name}, p{percent}"
                found[key] = statistics.quantiles(times, n=100, method="inclusive")[percent - 1] * 1000
                rows.append(Row(f"{size}: {key}", found[key], "ms", found[key] / found[f"bare tantivy, p{percent}"]))
                if name == "find_similar":
                    same = found[f"the same work, bare tantivy and SQLite, p{percent}"]
                    rows.append(Row(f"{size}: {key}, beside the same work", found[key] / same, "times"))
                if key in before:
                    rows.append(Row(f"{size}: {key}, growth", found[key] / before[key], "times"))
        rows.append(Row(f"{size}: decay applied", _seconds(p.experiences.apply_decay), "s"))
        rows.append(Row(f"{size}: pruned, nothing to remove", _seconds(p.experiences.prune_expired), "s"))
    with Promptuary.open(folder / "work", exact=True, embedder="none") as p:
        rows.append(
            Row(f"{size}: a new process finds, cold", _seconds(lambda: p.experiences.find_similar(asked[0])), "s")
        )
    report(f"Experiences: {size} (ratios to bare tantivy; goal at 100,000: 2x)", rows)
    return found


def _same_work(folder: Path) -> Callable[[str], object]:
    """Return what ranks the candidates of a question and reads the rows of the first, without anything of ours."""
    import tantivy

    index = tantivy.Index.open(str(folder / "tantivy"))
    searcher = index.searcher()
    database = sqlite3.connect(folder / "work" / ".promptuary" / "state.db")
    query = "SELECT * FROM experience WHERE owner = ? AND experience IN (SELECT value FROM json_each(?))"
    (owner,) = database.execute("SELECT DISTINCT owner FROM experience").fetchone()
    columns = [name for _, name, *_ in database.execute("PRAGMA table_info (experience)")]
    solution, tags = columns.index("solution"), columns.index("tags")

    def side(question: str) -> object:
        hits = searcher.search(index.parse_query(question, ["text"]), POOL).hits[:MAX_HITS]
        ids = [f"{searcher.doc(address).get_first('id'):012x}" for _, address in hits]
        rows = database.execute(query, (owner, json.dumps(ids))).fetchall()
        return [(row, json.loads(row[solution]), json.loads(row[tags])) for row in rows]

    return side


def fill(p: Promptuary, intents: Sequence[str]) -> None:
    """Add an experience for each intent."""
    at = now()
    with p._app.state().transaction():
        store = p._app.experiences()._store
        for number, intent in enumerate(intents):
            tags = [TAGS[number % len(TAGS)]]
            made = draft("task_solution", intent or "x", {"steps": [number]}, {"tags": tags}, now=at)
            store.add(replace(made, id=f"{number:012x}"))


if __name__ == "__main__":
    main()
