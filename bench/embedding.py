"""Embedding beside bare onnxruntime, and beside another version: ``python -m bench.embedding [FOLDER [REVISION]]``.

The same chunks of real files, in turn, so that whatever else the machine does slows all down. Ours is everything that
``promptuary index`` does after the words: reading chunks from the index, tokenizing, running the model, storing vectors
durably. Bare onnxruntime gets the finished windows of word pieces, as ours runs them, in a pool of as many threads as
there are cores; and as one padded batch with its own threads, which is faster only where texts are equally long, and
whose vectors depend on what else is in the batch. Processor time is the steadier figure on a machine that others use.

With a REVISION, its ``index`` and ours embed FOLDER in turn, each in a process of its own.
"""

import importlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.report import Row, report
from bench.versions import ROOT, git

ROUNDS = 5
CHUNKS = 96
"""How many chunks a round embeds: three batches."""


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir() else ROOT / "docs"
    if len(sys.argv) > 2:
        compare(folder, sys.argv[2])
    else:
        beside_bare(folder)


def beside_bare(folder: Path) -> None:
    from promptuary.models.minilm import MiniLM

    texts = chunks_of(folder, ROUNDS * CHUNKS)
    embedder = MiniLM()
    bare = Bare(embedder)
    work: dict[str, Callable[[Sequence[str]], object]] = {
        "ours, with index and store": lambda some: indexed(embedder, some),
        "ours, the embedder alone": lambda some: embedder.embed(some, "passage"),
        "bare onnxruntime, a window a run, a pool": bare.one_by_one,
        "bare onnxruntime, padded batches of 32": bare.padded,
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
    for start in range(0, len(texts) - CHUNKS + 1, CHUNKS):
        some = texts[start : start + CHUNKS]
        bare.prepare(some)
        for name, run in work.items():
            clock, processor = time.perf_counter(), time.process_time()
            run(some)
            taken[name].append((time.perf_counter() - clock, time.process_time() - processor))
    first = statistics.median(processor for _, processor in taken["bare onnxruntime, a window a run, a pool"])
    clock = statistics.median(clock for clock, _ in taken["bare onnxruntime, a window a run, a pool"])
    rows = []
    for name, pairs in taken.items():
        seconds, processor = (statistics.median(column) for column in zip(*pairs, strict=True))
        rows.append(Row(f"{name}: chunks a second", CHUNKS / seconds, "/s", clock / seconds))
        rows.append(Row(f"{name}: processor, a chunk", processor / CHUNKS * 1000, "ms", first / processor))
    report(f"Embedding {CHUNKS} chunks of {folder.name}, medians of {ROUNDS} (goal: 0.9 of bare onnxruntime)", rows)


class Bare:
    """Nothing but onnxruntime, with windows of word pieces that were made before."""

    def __init__(self, embedder: Any) -> None:
        import numpy as np

        self._numpy, self._model = np, embedder._model()
        onnxruntime = importlib.import_module("onnxruntime")
        weights = embedder._files().weights()
        alone = onnxruntime.SessionOptions()
        alone.intra_op_num_threads = 1
        self._alone = onnxruntime.InferenceSession(weights, alone)
        self._together = onnxruntime.InferenceSession(weights)
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._windows: list[Sequence[int]] = []

    def prepare(self, texts: Sequence[str]) -> None:
        self._windows = [window for text in texts for window in self._model.windows(text, "passage")]

    def one_by_one(self, _: object) -> None:
        list(self._pool.map(lambda window: self._run(self._alone, [window]), self._windows))

    def padded(self, _: object) -> None:
        windows = sorted(self._windows, key=len)
        for start in range(0, len(windows), 32):
            self._run(self._together, windows[start : start + 32])

    def _run(self, session: Any, windows: Sequence[Sequence[int]]) -> None:
        np, longest = self._numpy, max(map(len, windows))
        pieces = np.zeros((len(windows), longest), np.int64)
        mask = np.zeros_like(pieces)
        for row, window in enumerate(windows):
            pieces[row, : len(window)] = window
            mask[row, : len(window)] = 1
        session.run(None, {"input_ids": pieces, "attention_mask": mask, "token_type_ids": np.zeros_like(pieces)})


def indexed(embedder: Any, texts: Sequence[str]) -> None:
    """Embed texts that are in an index, into the index and a store on disk."""
    from promptuary.base.files import Folder, Stamp
    from promptuary.search.index.index import DiskIndex
    from promptuary.search.values import Chunk, IndexedFile
    from promptuary.search.vectors.embed import embed_missing
    from promptuary.search.vectors.store import Vectors

    with tempfile.TemporaryDirectory() as place:
        store = Vectors(Path(place) / "state.db")
        index = DiskIndex(Path(place), "bench", store=store, embedder=embedder)
        with index.writing() as writer:
            assert writer is not None
            for number, text in enumerate(texts):
                lines = Chunk(1, text.count("\n") + 1, text)
                file = IndexedFile(f"{number}.md", Stamp(1, number, 1, number), f"{number:064}", "text", 0)
                writer.put(Folder("/bench"), file, text, [lines])
        embed_missing(index, store, embedder)
        index.close()
        store.close()


def chunks_of(folder: Path, most: int) -> list[str]:
    """Return texts of chunks as they are embedded, each once, from all over the folder."""
    from promptuary.search.chunks.chunker import chunks
    from promptuary.search.chunks.lines import Sizes
    from promptuary.tokens.counting import Counter

    counter, sizes = Counter(), Sizes(256, 32)
    found: dict[str, None] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".py", ".md", ".txt", ".rst", ".js", ".ts"} and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            found |= dict.fromkeys(chunk.context for chunk in chunks(text, path.name, sizes, counter))
    every = list(found)
    step = max(1, len(every) // most)
    return every[::step][:most]


def compare(folder: Path, revision: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        other = Path(place) / "other"
        git("worktree", "add", "--detach", str(other), revision)
        try:
            rows = []
            versions = {revision: other / "src", "this version": ROOT / "src"}
            rates = {name: run(source, folder, Path(place) / name) for name, source in versions.items()}
            for name, (chunks, seconds, processor) in rates.items():
                rate = rates[revision][2] / rates[revision][0] * chunks / processor
                rows.append(Row(f"{name}: chunks", chunks, ""))
                rows.append(Row(f"{name}: seconds", seconds, "s"))
                rows.append(Row(f"{name}: processor, a chunk", processor / chunks * 1000, "ms", rate))
            report(f"Embedding {folder} beside {revision} (goal: 1.3x)", rows)
        finally:
            git("worktree", "remove", "--force", str(other))


def run(source: Path, folder: Path, home: Path) -> tuple[int, float, float]:
    """Embed ``folder`` with the version in ``source``; return the chunks, the seconds and the processor time."""
    code = (
        "import sys, time\nfrom promptuary.blocking import Promptuary\n"
        "with Promptuary.open(sys.argv[1], exact=True) as own:\n"
        "    own.search.index(sys.argv[2])\n    chunks = own.search.status().counts.unembedded\n"
        "    clock, processor = time.perf_counter(), time.process_time()\n    own.search.embed()\n"
        "    print('took', chunks, time.perf_counter() - clock, time.process_time() - processor)\n"
    )
    (home / ".promptuary").mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", code, str(home), str(folder.resolve())],
        env={**os.environ, "PYTHONPATH": str(source), "XDG_STATE_HOME": str(home / "state")},
        capture_output=True,
        text=True,
        check=True,
    )
    chunks, seconds, processor = re.search(r"took (\S+) (\S+) (\S+)", done.stdout).groups()  # type: ignore[union-attr]
    return int(chunks), float(seconds), float(processor)


if __name__ == "__main__":
    main()
