"""Search in PostgreSQL (``index = "database"``) beside the index on disk, and beside bare SQL of the same shape.

    python -m bench postgres_index [--data DIR] [--set NAME ...] [--limit-questions N] [--words] [--no-vectors]

Each set of DIR (see ``bench.retrieval``) is indexed once; both indexes hold the same chunks and the same vectors, and
the same code ranks what they find. ``overlap`` is the share of the first ten hits that are the same (bar: .95), nDCG@10
that of the documents (bar: at most .01 lower). ``--words`` leaves out the model.

Then vectors, generated: owners of 500 to 50,000 chunks in one table, recall@10 of each (bar: .98). Times are processor
time of the server and of this process for one question, since what others do on the machine does not count there.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg

from bench.report import Row, report
from bench.retrieval.figures import figures, mean
from bench.retrieval.sets import CACHE, Collection, Corpus, found_sets, written
from promptuary.base.principals import Owner
from promptuary.blocking import Promptuary
from promptuary.database import postgres
from promptuary.database.postgres import Binary
from promptuary.search.answer import answer
from promptuary.search.index.port import SearchIndex
from promptuary.search.index.postgres.index import PostgresIndex
from promptuary.search.index.postgres.tables import IndexRows, TableGenerations
from promptuary.search.index.postgres.vectors import MOST_EXACT, WIDTH, TableVectors
from promptuary.search.kind_index import SearchBackend
from promptuary.search.values import SearchQuery
from promptuary.search.vectors.embed import restore
from promptuary.search.vectors.scale import measured
from tests.postgres import ROLE, new_tenant, postgres_server

OWNERS = (500, 2_000, 10_000, 50_000)
DIMENSIONS = 384
QUESTIONS = 200
TOPICS = 400
_BATCH = 1_000


def main() -> None:
    options = _options()
    with postgres_server() as url, closing(new_tenant(url)):
        server = Server(url)
        for collection in found_sets(options.data, options.set or (), options.limit_questions):
            compare(collection, options.cache, url, words=options.words)
        if not options.no_vectors:
            vectors(url, server)


class Server:
    """The processor time of all processes of a server."""

    def __init__(self, url: str) -> None:
        folder = Path(url.partition("host=")[2])
        self._first = int((folder / "data" / "postmaster.pid").read_text().split()[0])

    def seconds(self) -> float:
        """Return the processor time that they have used, and this process."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == self._first:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def measure(self, work: Callable[[Any], object], questions: Sequence[Any]) -> tuple[float, float]:
        """Return the milliseconds of processor time of the server, and of this process, for one question."""
        began, own = self.seconds(), time.process_time()
        for question in questions:
            work(question)
        own = time.process_time() - own
        return (self.seconds() - began) * 1000 / len(questions), own * 1000 / len(questions)


def compare(collection: Collection, cache: Path, url: str, *, words: bool) -> None:
    """Report how much of what both find is the same, and how good it is."""
    overlaps: dict[str, list[float]] = {}
    quality: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {}
    chunks = 0
    for corpus in collection.corpora:
        folder = written(corpus, cache)
        embedder = {"embedder": "none"} if words else {}
        with Promptuary.open(folder, exact=True, watch_debounce=0.05, **embedder) as promptuary:  # type: ignore[arg-type]
            promptuary.search.index([folder])
            promptuary.search.embed()
            backend = promptuary._app.search.backend
            chunks += promptuary.search.status().counts.chunks
            with closing(copied(backend, url)) as index:
                _analyze(url)
                sides = {"disk": backend.index, "database": index}
                for name, by_words in (("words", True), ("hybrid", False))[: 1 if words else 2]:
                    found = {side: _ask(corpus, one, backend, by_words=by_words) for side, one in sides.items()}
                    for number in corpus.questions:
                        first, second = (set(found[side][0][number][:10]) for side in sides)
                        if first or second:
                            overlaps.setdefault(name, []).append(len(first & second) / max(len(first), len(second)))
                        for side in sides:
                            documents = list(dict.fromkeys(path for path, _ in found[side][0][number]))
                            row = figures(documents, corpus.relevant[number])
                            quality.setdefault(f"{name}, {side}", []).append(row[0])
                    for side in sides:
                        times.setdefault(f"{name}, {side}", []).append(found[side][1])
    rows = [Row(f"{name}: overlap@10", mean(values), "") for name, values in overlaps.items()]
    for name, values in quality.items():
        rows += [Row(f"{name}: nDCG@10", mean(values), ""), Row(f"{name}: p50", mean(times[name]) * 1000, "ms")]
    report(f"{collection.name}: {collection.documents:,} documents, {chunks:,} chunks", rows)
    sys.stdout.flush()


def _analyze(url: str) -> None:
    """Let the server count its rows, as it does by itself after a while."""
    with psycopg.connect(url.replace(f"{ROLE}@", "postgres@"), autocommit=True) as raw:
        raw.execute("ANALYZE")


def copied(backend: SearchBackend, url: str) -> PostgresIndex:
    """Return an index in PostgreSQL with the files and the vectors of another one."""
    index = PostgresIndex(new_tenant(url), "files", "bench", store=backend.store, embedder=backend.embedder)
    with index.writing() as writer:
        assert writer is not None
        for folder, _ in backend.index.folders():
            for path, file in backend.index.files(folder).items():
                writer.put(folder, file, *backend.index.content(folder, path))
    if backend.store is not None and backend.embedder is not None:
        restore(index, backend.store, backend.embedder, progress=lambda _: True)
    return index


def _ask(
    corpus: Corpus, index: SearchIndex, backend: SearchBackend, *, by_words: bool
) -> tuple[dict[str, list[tuple[str, int]]], float]:
    """Return the places that each question finds, and the median of the seconds that it took."""
    embedder = None if by_words else backend.embedder
    scale = measured(backend.store, embedder)
    found, taken = {}, []
    for number, question in corpus.questions.items():
        began = time.perf_counter()
        hits = answer(SearchQuery(question, 50, per_file=0, merge_copies=False), index, embedder, scale=scale).hits
        taken.append(time.perf_counter() - began)
        found[number] = [(hit.path, hit.start_line) for hit in hits]
    return found, sorted(taken)[len(taken) // 2]


def vectors(url: str, server: Server) -> None:
    """Report the recall of each owner among all, and the processor time beside bare SQL."""
    import numpy as np

    random = np.random.default_rng(7)
    topics = random.standard_normal((TOPICS, DIMENSIONS)).astype(np.float32)
    database = new_tenant(url)
    rows = []
    sides = {}
    for size in OWNERS:
        owner = Owner("user", f"owner of {size}", "")
        own = IndexRows(database, owner, "notes")
        path = TableGenerations(database, own, "notes").begin()
        table = TableVectors(own.of(int(path.name)), DIMENSIONS)
        matrix = _normed(topics[random.integers(0, TOPICS, size)] + random.standard_normal((size, DIMENSIONS)))
        began = time.perf_counter()
        numbered = iter(enumerate(matrix))
        while batch := dict(islice(numbered, _BATCH)):
            table.write({number: vector.tobytes() for number, vector in batch.items()}, ())
        rows.append(Row(f"{size:,} chunks: vectors written in a second", size / (time.perf_counter() - began), ""))
        chosen = matrix[random.integers(0, size, QUESTIONS)]
        asked = _normed(chosen + 0.03 * random.standard_normal((QUESTIONS, DIMENSIONS)))
        sides[size] = table, own.of(int(path.name)), matrix, asked
    _analyze(url)
    for size, (table, own, matrix, asked) in sides.items():
        recalls: list[float] = []
        for question in asked:
            best = set(np.argsort(-(matrix @ question))[:10].tolist())
            recalls.append(len(best & {number for number, _ in table.search(question.tobytes(), 10)}) / 10)
        theirs, ours = server.measure(partial(_search, table), asked)
        bare = _bare(url, size, str(own.generation))
        base = sum(server.measure(bare, asked))
        rows += [
            Row(f"{size:,} chunks: recall@10", mean(recalls), ""),
            Row(f"{size:,} chunks: processor, server", theirs, "ms"),
            Row(f"{size:,} chunks: processor, both", theirs + ours, "ms", (theirs + ours) / base),
            Row(f"{size:,} chunks: bare SQL, both", base, "ms", 1.0),
        ]
    report("Vectors of owners in one table (bar: recall .98, processor 1.5x bare SQL)", rows)
    database.close()


def _search(table: TableVectors, question: Any) -> object:
    return table.search(question.tobytes(), 10)


def _bare(url: str, size: int, generation: str) -> Callable[[Any], object]:
    """Return what asks for the numbers alone, as somebody would who knows the tables and needs no policies."""
    raw = psycopg.connect(
        url.replace(f"{ROLE}@", "postgres@"), autocommit=True, prepare_threshold=None, context=postgres._ADAPTERS
    )
    raw.execute("SET search_path = promptuary, public")
    raw.execute("SET hnsw.iterative_scan = relaxed_order")
    raw.execute(f"SET hnsw.ef_search = {WIDTH}")
    whose = f"(SELECT tenant, owner, generation FROM index_generation WHERE generation = {generation})"
    key = "tenant = (SELECT tenant FROM whose) AND owner = (SELECT owner FROM whose) AND generation = " + generation
    exact = f"(SELECT chunk, body FROM index_vector WHERE {key} OFFSET 0) AS own ORDER BY body <=> %s::halfvec LIMIT 10"
    near = (
        f"index_vector WHERE {key} AND is_large AND vector_dims(body) = {DIMENSIONS} "
        f"ORDER BY body::halfvec({DIMENSIONS}) <=> %s::halfvec({DIMENSIONS}) LIMIT 10"
    )
    query = f"WITH whose AS MATERIALIZED {whose} SELECT chunk FROM {near if size > MOST_EXACT else exact}"

    def ask(question: Any) -> object:
        vector = Binary(DIMENSIONS.to_bytes(2, "big") + b"\0\0" + question.astype(">f2").tobytes())
        return raw.cursor(binary=True).execute(query, [vector]).fetchall()

    return ask


def _normed(matrix: Any) -> Any:
    return (matrix / (matrix**2).sum(axis=1, keepdims=True) ** 0.5).astype("<f4")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench postgres_index")
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of the sets")
    parser.add_argument("--set", action="append", help="only this set; repeat")
    parser.add_argument("--limit-questions", type=int, default=0, help="at most so many questions of each corpus")
    parser.add_argument("--words", action="store_true", help="compare words only, without the model")
    parser.add_argument("--no-vectors", action="store_true", help="leave out the generated vectors")
    parser.add_argument("--cache", type=Path, default=CACHE, help="the folder of documents, indexes and vectors")
    words = sys.argv[1:]
    return parser.parse_args(words[next((at for at, word in enumerate(words) if word.startswith("-")), len(words)) :])


if __name__ == "__main__":
    main()
