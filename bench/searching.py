"""Searching: 100,000 and 400,000 chunks by words and by meaning, beside bare tantivy, bare FTS5 and a numpy scan.

All sides hold the same passages and get the same questions in the same run, alternating: those by words, then
those by meaning. The vectors are made up (the model's time for so many texts is not what is measured), the
questions' vectors are the model's. Ours returns places with lines and texts; bare tantivy its stored texts; FTS5 rows;
the scan numbers of rows. Then `promptuary search` from the shell, cold, as a person starts it.

First, what a search costs that a program makes with `promptuary.search.find` in a process that is open: the processor's
time of all its threads, for 2,000 and for 20,000 chunks in files. Beside it bare tantivy over the same texts, and a
bare run of the model for the same question. No question's vector is known before: each is asked once a round.

``--beside PYTHON`` also asks langchain's BM25 with FAISS and mem0 (``infer=False``) over the same texts and vectors, in
a process of that Python (``searching_peers`` says what it needs). ``--only open`` stops after that part, and
``--sizes`` are its numbers of chunks.
"""

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.indexing import _fts5, _tantivy, ours
from bench.passages import PER_FILE, passages, questions
from bench.report import Row, report
from promptuary.base.concurrency import load_native
from promptuary.blocking import Promptuary
from promptuary.models import minilm
from promptuary.models.minilm import MiniLM, available
from promptuary.models.protocols import Embedder
from promptuary.search.answer import answer
from promptuary.search.index.index import DiskIndex
from promptuary.search.index.port import SearchIndex, VectorStore
from promptuary.search.values import SearchQuery, vector_space_id
from promptuary.search.vectors.store import Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

QUESTIONS = 200
SIZES = (100_000, 400_000)
OPEN_SIZES = (2_000, 20_000)
LIBRARIES = "import numpy, onnxruntime, tokenizers, tantivy, sqlite3, argparse, dataclasses, logging"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.searching", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--beside", default="", metavar="PYTHON", help="the Python with langchain and mem0")
    parser.add_argument("--only", choices=("open",), help="only the searches in an open process")
    parser.add_argument("--sizes", type=int, nargs="+", default=OPEN_SIZES, help="chunks of the open process")
    options = parser.parse_args()
    texts = passages(max(options.sizes) if options.only else max(SIZES))
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            in_a_process(texts[:size], questions(texts[:size], QUESTIONS), Path(folder), options.beside)
    if options.only:
        return
    asked = questions(texts, QUESTIONS)
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            measure(texts[:size], asked, Path(folder))
    cold()


def in_a_process(texts: Sequence[str], asked: Sequence[str], folder: Path, beside: str = "") -> None:
    """Search through an open ``Promptuary``, as a program does; ``beside`` is the Python of the peers."""
    vault = folder / "vault"
    (folder / "tantivy").mkdir()
    _tantivy(texts, folder / "tantivy")
    for number in range(0, len(texts), PER_FILE):
        file = vault / f"{number // 1_000}" / f"file{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        parts = (
            f"## Part {number + place}\n\n{text}\n" for place, text in enumerate(texts[number : number + PER_FILE])
        )
        file.write_text("\n".join(parts), encoding="utf-8")
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    with Promptuary.open(vault) as promptuary:
        promptuary.search.index([vault])
        chunks = promptuary.search.status().counts.chunks
        vectors = None
        sides: dict[str, Callable[[str], object]] = {
            "find, by words": lambda question: promptuary.search.find(SearchQuery(question, lexical_only=True)),
            "bare tantivy": _bare_tantivy(folder / "tantivy"),
        }
        if available():
            backend = promptuary._app.search.backend
            assert backend.store is not None
            assert backend.embedder is not None
            vectors = _made_up(backend.index, backend.store, backend.embedder)
            sides |= {"find, hybrid": promptuary.search.find, "the question's vector, bare onnxruntime": _bare_model()}
        for side in sides.values():  # what is loaded once, and found out once
            for question in asked[:3]:
                side(question)
        taken = _alternating(sides, asked, time.process_time)
    if beside and vectors is not None:
        taken |= _peers(beside, texts, vectors[: len(texts)], asked, folder)
    rows = [
        Row(f"{name}: {what}", found * 1000, "ms") for name, times in taken.items() for what, found in _spread(times)
    ]
    report(f"One search in an open process, {chunks:,} chunks, CPU (goal: 4 ms by words, 12 ms hybrid)", rows)


def _peers(
    python: str, texts: Sequence[str], vectors: "NDArray[np.float32]", asked: Sequence[str], folder: Path
) -> dict[str, list[float]]:
    """Return the seconds of the processor that each peer takes for each question, the least of three rounds."""
    import numpy as np

    place, model = folder / "peers", minilm._installed()
    place.mkdir()
    (place / "texts.json").write_text(json.dumps(list(texts)), encoding="utf-8")
    np.save(place / "vectors.npy", vectors)
    worker = Path(__file__).with_name("searching_peers.py")
    command = [python, str(worker), str(place), str(model / minilm._MODEL[0]), str(model / minilm._TOKENIZER[0])]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(name: str, question: str) -> float:
            assert process.stdin is not None
            assert process.stdout is not None
            print(f"{name}\t{' '.join(question.split())}", file=process.stdin, flush=True)
            return float(process.stdout.readline()) / 1000

        names = json.loads(process.stdout.readline())
        # A peer takes a hundred times longer: fewer questions will do.
        found = {name: [min(ask(name, question) for _ in range(3)) for question in asked[:50]] for name in names}
        process.stdin.close()
    return found


def _spread(times: Sequence[float]) -> list[tuple[str, float]]:
    return [("p50", _middle(times)), ("p99", sorted(times)[int(len(times) * 0.99)])]


def _bare_model() -> Callable[[str], object]:
    """Return what makes a question's vector with nothing but the libraries of the model."""
    import numpy as np
    from tokenizers import Tokenizer

    folder, onnxruntime = minilm._installed(), load_native("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / minilm._MODEL[0]), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / minilm._TOKENIZER[0]))
    tokenizer.no_padding()
    names = [one.name for one in session.get_inputs()]

    def side(question: str) -> object:
        pieces = np.array([tokenizer.encode(question).ids], np.int64)
        given = {"input_ids": pieces, "attention_mask": np.ones_like(pieces), "token_type_ids": np.zeros_like(pieces)}
        found = session.run(None, {name: given[name] for name in names})[0][0].mean(axis=0)
        return found / np.linalg.norm(found)

    return side


def measure(texts: Sequence[str], asked: Sequence[str], folder: Path) -> None:
    for name, made in (("tantivy", _tantivy), ("FTS5", _fts5), ("ours", ours)):
        (folder / name).mkdir()
        made(texts, folder / name)
    sides: dict[str, Callable[[str], object]] = {
        "bare tantivy": _bare_tantivy(folder / "tantivy"),
        "ours, by words": _ours(folder / "ours"),
    }
    taken = _alternating(sides, asked)
    if available():
        hybrid = _hybrid(folder)
        taken |= _alternating(hybrid, asked)
        # The scan runs through so much memory that whoever comes next finds the caches empty: so once without it.
        alone = hybrid["ours, hybrid, with the question's vector"]
        taken |= _alternating({"ours, hybrid, without the scan in between": alone}, asked)
    # A hundred times slower than the others: fewer questions will do.
    taken["bare FTS5"] = _alternating({"bare FTS5": _bare_fts5(folder / "FTS5")}, asked[:50])["bare FTS5"]
    base = _middle(taken["bare tantivy"])
    rows = []
    for name, times in taken.items():
        rows += [
            Row(f"{name}: p50", _middle(times) * 1000, "ms", _middle(times) / base),
            Row(f"{name}: p99", sorted(times)[int(len(times) * 0.99)] * 1000, "ms"),
        ]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report(
        f"Searching {len(texts):,} chunks (limit: bare tantivy; by words at most 2x, hybrid at most 25 ms)",
        [*rows, Row("peak memory of this process", memory, "MB")],
    )


def _alternating(
    sides: dict[str, Callable[[str], object]], asked: Sequence[str], clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Ask every side every question three times, and keep the least: what others do on the machine only ever adds."""
    taken: dict[str, list[float]] = {name: [float("inf")] * len(asked) for name in sides}
    for _ in range(3):
        for number, question in enumerate(asked):
            for name, side in sides.items():
                began = clock()
                side(question)
                taken[name][number] = min(taken[name][number], clock() - began)
    return taken


def _middle(times: Sequence[float]) -> float:
    return sorted(times)[len(times) // 2]


def _bare_tantivy(folder: Path) -> Callable[[str], object]:
    import tantivy

    index = tantivy.Index.open(str(folder))
    searcher = index.searcher()

    def side(question: str) -> object:
        query = index.parse_query(question, ["text"])
        return [searcher.doc(address).get_first("text") for _, address in searcher.search(query, 10).hits]

    return side


def _bare_fts5(folder: Path) -> Callable[[str], object]:
    connection = sqlite3.connect(folder / "fts.db")

    def side(question: str) -> object:
        words = " OR ".join(f'"{word}"' for word in question.split())
        query = "SELECT rowid, text FROM passage WHERE passage MATCH ? ORDER BY rank LIMIT 10"
        return connection.execute(query, (words,)).fetchall()

    return side


def _ours(folder: Path) -> Callable[[str], object]:
    index = DiskIndex(folder, "bench")
    return lambda question: answer(SearchQuery(question), index, None)


def _hybrid(folder: Path) -> dict[str, Callable[[str], object]]:
    """Return ours with vectors, and a scan over the same vectors with the same model."""
    import numpy as np

    model = MiniLM()
    store = Vectors(folder / "state.db")
    index = DiskIndex(folder / "ours", "bench", store=store, embedder=model)
    matrix = _made_up(index, store, model)

    def scan(question: str) -> object:
        query = np.frombuffer(model.embed([question], "query")[0], np.float32)
        scores = matrix @ query
        best = np.argpartition(-scores, 10)[:10]
        return best[np.argsort(-scores[best])]

    return {
        "ours, hybrid, with the question's vector": lambda question: answer(SearchQuery(question), index, model),
        "bare numpy scan, with the question's vector": scan,
        "the question's vector alone": lambda question: model.embed([question], "query"),
    }


def _made_up(index: SearchIndex, store: VectorStore, model: Embedder) -> "NDArray[np.float32]":
    """Give every chunk a vector that is made up, and return all of them."""
    import numpy as np

    generator = np.random.default_rng(7)
    # Some hundred topics with much noise, so that near and far exist as among real texts.
    topics = generator.standard_normal((300, model.dimensions)).astype(np.float32)
    made: list[NDArray[np.float32]] = []
    while chunks := index.unembedded(5_000):
        rows = topics[generator.integers(0, 300, len(chunks))] + generator.standard_normal(
            (len(chunks), model.dimensions)
        ).astype(np.float32)
        made.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        vectors = {chunk.id: row.tobytes() for chunk, row in zip(chunks, made[-1], strict=True)}
        store.put(vector_space_id(model), {chunk.sha256: vectors[chunk.id] for chunk in chunks})
        index.embed(vectors)
    return np.concatenate(made)


def cold() -> None:
    """Start `promptuary search` from the shell in a folder of 272 sessions, with its vectors."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_STATE_HOME": folder, "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", "")}
        if not environment["XDG_CACHE_HOME"]:
            del environment["XDG_CACHE_HOME"]
        vault = Path(folder) / "vault"
        vault.mkdir()
        for number, text in enumerate(passages(272)):
            (vault / f"session{number:03}.md").write_text(f"# Session {number}\n\n{text}\n", encoding="utf-8")
        command = [str(Path(sys.executable).with_name("promptuary"))]
        subprocess.run([*command, "index", "--quiet", "."], cwd=vault, env=environment, check=True, capture_output=True)
        started = {
            "the interpreter alone": [sys.executable, "-c", "pass"],
            "the libraries of a hybrid search, loaded and no more": [sys.executable, "-c", LIBRARIES],
            "promptuary search, cold, hybrid": [*command, "search", "session"],
            "promptuary search, cold, by words": [*command, "search", "--lexical", "session"],
        }
        if not available():
            del started["the libraries of a hybrid search, loaded and no more"]
        taken: dict[str, list[float]] = {name: [] for name in started}
        for _ in range(9):
            for name, line in started.items():
                began = time.perf_counter()
                subprocess.run(line, cwd=vault, env=environment, check=True, capture_output=True)
                taken[name].append(time.perf_counter() - began)
        base = _middle(taken["the interpreter alone"])
        rows = []
        for name, times in taken.items():
            rows.append(Row(f"{name}: the middle of nine", _middle(times), "s", _middle(times) / base))
            rows.append(Row("  the least", min(times), "s"))
    report("From the shell (goal: at most 0.4 s)", rows)


if __name__ == "__main__":
    main()
