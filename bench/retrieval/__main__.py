"""How well search finds what it should, on public sets: ours beside plain stemmed BM25 and plain vectors.

    python -m bench.retrieval --data DIR [--set NAME ...] [--mixed] [--limit-questions N] [--json FILE]

Each folder in DIR is a set in the BEIR form: ``corpus.jsonl``, ``queries.jsonl``, ``qrels.tsv``, and for evidence in
the window ``evidence.jsonl``. A folder of such folders is one set whose corpora are searched one by one and whose
questions are counted together. A document becomes a file as a person's folder would have it: under its ``path``, else
Markdown under its title, or Python where the text is code.

Ours is what ``promptuary search`` does with its default settings; the rank of a document is that of its best chunk. The
baselines see the same texts: BM25 (English stems, stop words dropped) of whole documents and of our chunks, cosines of
the same vectors. Each is measured with the documents of its first 100 hits, and of the 10 that a person gets.
``hybrid −`` is the difference to the better of our words and vectors, figure by figure, with the 95 % interval of a
bootstrap over the questions; after it, where plain BM25 is better than both, the difference to that. ``hybrid, 95 %``
are the intervals of the hybrid's own figures.

With ``--mixed``, sets of prose, chats and code lie below one folder, as people have them: one kind must not crowd out
another. Each set's questions are asked in all of it.

Last comes for how many messages of a list that ask for nothing, such as "thanks, bye", recall brings nothing in: chance
finds more in a large index than in a small one.

Vectors are kept in ``~/.cache/promptuary-bench`` (``--cache``), so that a second run does not embed again.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench.retrieval.baselines import Ranking, bm25, bm25_chunks, chunks_of, embed, vectors
from bench.retrieval.evidence import Evidence, in_window
from bench.retrieval.figures import FIGURES, Difference, difference, figures, mean
from bench.retrieval.nothing import brought_in
from bench.retrieval.sets import CACHE, Collection, Corpus, found_sets, mixed_sets, written
from promptuary.blocking import Promptuary
from promptuary.search.values import SearchQuery

LIMITS = (100, 10)
"""How many hits are asked for: enough for ten documents, and a person's default."""
WORDS, VECTORS, HYBRID = "ours, words", "vectors", "ours, hybrid"
SIGNALS = ("BM25, documents", "BM25, chunks", VECTORS, WORDS)
PEERS = (("words or vectors", (WORDS, VECTORS)), ("any", SIGNALS))
"""What the hybrid is compared with: the best of our two signals, and the best of all four."""
Measured = dict[str, dict[str, list[float]]]
"""The figures of each ranking, question by question; ``ms`` is one of them."""


@dataclass(slots=True)
class Result:
    """What was measured on one set, for each limit."""

    collection: Collection
    chunks: int = 0
    indexing: float = 0.0
    embedding: float = 0.0
    rankings: dict[int, Measured] = field(default_factory=lambda: {limit: {} for limit in LIMITS})
    evidence: list[Evidence] = field(default_factory=list)
    unasked: list[bool] = field(default_factory=list)
    """Whether recall brings anything in for each message that asks for nothing."""

    def add(self, limit: int, name: str, row: Mapping[str, float]) -> None:
        columns = self.rankings[limit].setdefault(name, {figure: [] for figure in row})
        for figure, value in row.items():
            columns[figure].append(value)


def main() -> None:
    options = _options()
    sets = found_sets(options.data, options.set or (), options.limit_questions)
    if options.mixed:
        sets = mixed_sets(sets)
    if not sets:
        print(f"retrieval: there are no sets in {options.data}; name a folder with --data DIR")
        sys.exit(0)
    os.environ["XDG_STATE_HOME"] = str(options.cache / "state")
    print("\nRetrieval (higher is better; ms is the median of a question)")
    results = []
    for collection in sets:
        result = measured(collection, options.cache)
        show(result)
        results.append(result)
        if options.json:
            options.json.write_text(json.dumps([as_json(one) for one in results], indent=1), encoding="utf-8")


def measured(collection: Collection, cache: Path) -> Result:
    """Return the figures of every ranking, and the evidence in the window if the set names its evidence."""
    result = Result(collection)
    for corpus in collection.corpora:
        folder = written(corpus, cache)
        with Promptuary.open(folder, exact=True, watch_debounce=0.05) as promptuary:
            began = time.perf_counter()
            promptuary.search.index([folder])
            result.indexing += time.perf_counter() - began
            began = time.perf_counter()
            embed(promptuary, cache)
            result.embedding += time.perf_counter() - began
            result.chunks += promptuary.search.status().counts.chunks
            # So that a search need not look at every file whether it has changed.
            promptuary._app.search.watcher()
            for name, ranking in _rankings(promptuary, corpus).items():
                _judge(result, corpus, name, ranking)
            result.unasked += brought_in(promptuary)
        if corpus.evidence:
            result.evidence = in_window(corpus, folder)
    return result


def _rankings(promptuary: Promptuary, corpus: Corpus) -> dict[str, Ranking]:
    chunks = chunks_of(promptuary, corpus)

    def ours(question: str, limit: int, *, lexical_only: bool) -> Sequence[str]:
        found = promptuary.search.find(SearchQuery(question, limit, lexical_only=lexical_only, merge_copies=False))
        return list(dict.fromkeys(hit.path for hit in found.hits))

    plain = (bm25(corpus.files), bm25_chunks(chunks), vectors(promptuary, chunks), partial(ours, lexical_only=True))
    return {**dict(zip(SIGNALS, plain, strict=True)), HYBRID: partial(ours, lexical_only=False)}


def _judge(result: Result, corpus: Corpus, name: str, ranking: Ranking) -> None:
    for limit in LIMITS:
        for number, question in corpus.questions.items():
            began = time.perf_counter()
            found = ranking(question, limit)
            taken = (time.perf_counter() - began) * 1000
            row = dict(zip(FIGURES, figures(found, corpus.relevant[number]), strict=True))
            result.add(limit, name, {**row, "ms": taken})


def show(result: Result) -> None:
    """Print what was measured on one set."""
    own = result.collection
    print(
        f"\n{own.name}: {own.documents:,} documents, {result.chunks:,} chunks, {own.questions:,} questions; "
        f"indexed in {result.indexing:.1f} s, embedded in {result.embedding:.0f} s"
    )
    for limit, measured in result.rankings.items():
        print(f"\n  {f'{limit} hits':<26}" + "".join(f"{figure:>8}" for figure in (*FIGURES, "ms")))
        for name, columns in measured.items():
            means = "".join(f"{mean(columns[figure]):8.3f}" for figure in FIGURES)
            print(f"  {name:<26}{means}{statistics.median(columns['ms']):8.1f}")
        print(
            f"  {'hybrid, 95 %':<26}" + ", ".join(f"{name} {_range(one)}" for name, one in intervals(measured).items())
        )
        of_two, of_all = (gains(measured, names) for _, names in PEERS)
        for figure, (best, gain) in of_two.items():
            others = "" if of_all[figure][0] == best else f"; {of_all[figure][1]}  {of_all[figure][0]}"
            print(f"  {'hybrid −':<26}{figure:>8}  {gain}  {best}{others}")
    for one in result.evidence:
        print(
            f"  evidence in {one.budget:,} tokens: {one.recalled:.3f} ({one.tokens:,.0f} used); "
            f"plain hits {one.plain:.3f} ({one.plain_tokens:,.0f} used)"
        )
    quiet = result.unasked.count(False)
    print(f"  nothing brought in for {quiet:,} of {len(result.unasked):,} messages that ask for nothing")
    sys.stdout.flush()


def intervals(measured: Measured) -> dict[str, Difference]:
    """Return the figures of the hybrid, each with the ends of its interval."""
    return {figure: difference(own := measured[HYBRID][figure], [0.0] * len(own)) for figure in FIGURES}


def _range(one: Difference) -> str:
    return f"[{one.low:.3f} {one.high:.3f}]"


def gains(measured: Measured, names: Sequence[str]) -> dict[str, tuple[str, Difference]]:
    """Return for each figure the best of the rankings in ``names``, and by how much the hybrid is better."""
    found = {}
    for figure in FIGURES:
        best = max(names, key=lambda name: mean(measured[name][figure]))
        found[figure] = best, difference(measured[HYBRID][figure], measured[best][figure])
    return found


def as_json(result: Result) -> dict[str, Any]:
    """Return what was measured on one set as JSON."""
    limits = {}
    for limit, measured in result.rankings.items():
        rows = {
            name: {
                **{figure: round(mean(columns[figure]), 5) for figure in FIGURES},
                "ms": round(statistics.median(columns["ms"]), 3),
            }
            for name, columns in measured.items()
        }
        differences = {
            against: {figure: {"best": best, **asdict(gain)} for figure, (best, gain) in gains(measured, names).items()}
            for against, names in PEERS
        }
        ranges = {figure: asdict(one) for figure, one in intervals(measured).items()}
        limits[str(limit)] = {"rankings": rows, "intervals": ranges, "differences": differences}
    return {
        "set": result.collection.name,
        "documents": result.collection.documents,
        "chunks": result.chunks,
        "questions": result.collection.questions,
        "limits": limits,
        "evidence": [asdict(one) for one in result.evidence],
        "unasked": mean([float(one) for one in result.unasked]),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of the sets")
    parser.add_argument("--set", action="append", help="only this set; repeat")
    parser.add_argument("--limit-questions", type=int, default=0, help="at most so many questions of each corpus")
    parser.add_argument("--mixed", action="store_true", help="several sets in one vault, measured one by one")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--cache", type=Path, default=CACHE, help="the folder of documents, indexes and vectors")
    return parser.parse_args()


if __name__ == "__main__":
    main()
