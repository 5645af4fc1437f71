"""Making the index: 100,000 chunks beside bare tantivy and bare FTS5, one changed file at three sizes, real sessions.

All sides get the same passages in the same run. Bare tantivy and bare FTS5 index and store one text each and know
neither files nor lines, keep no account of what they hold, and cannot tell what changed.
"""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.passages import PER_FILE, passages
from bench.report import Row, report
from promptuary.base.files import Folder, Stamp
from promptuary.blocking import Promptuary
from promptuary.search.index.index import DiskIndex
from promptuary.search.values import Chunk, IndexedFile, SearchQuery

CHUNKS = 100_000
ROUNDS = 3


def main() -> None:
    texts = passages(CHUNKS)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        build(texts, Path(folder))
        change(texts, Path(folder))
        memory(texts, Path(folder))
    sessions()


def build(texts: Sequence[str], folder: Path) -> None:
    """Compare building; the least of some rounds, alternating."""
    taken: dict[str, list[float]] = {"tantivy": [], "stems": [], "FTS5": [], "ours": []}
    for _ in range(ROUNDS):
        for name, made in (("tantivy", _tantivy), ("stems", _stems), ("FTS5", _fts5), ("ours", ours)):
            place = folder / name
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            began = time.perf_counter()
            made(texts, place)
            taken[name].append(time.perf_counter() - began)
    least = {name: min(times) for name, times in taken.items()}
    size = {name: sum(path.stat().st_size for path in (folder / name).rglob("*") if path.is_file()) for name in taken}
    report(
        f"Indexing {len(texts):,} chunks by words (limit: bare tantivy, the text stored; at most 2x)",
        [
            Row("bare tantivy, words as they are", least["tantivy"], "s", 1.0),
            Row("bare tantivy, stems as ours", least["stems"], "s", least["stems"] / least["tantivy"]),
            Row("ours: catalogue, lines, hashes, full text", least["ours"], "s", least["ours"] / least["tantivy"]),
            Row("ours, beside tantivy with stems", least["ours"], "s", least["ours"] / least["stems"]),
            Row("bare FTS5", least["FTS5"], "s", least["FTS5"] / least["tantivy"]),
            *(Row(f"on disk: {name}", size[name] / 1e6, "MB", size[name] / size["tantivy"]) for name in taken),
            Row("peak memory of this process", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB"),
        ],
    )
    print(f"  every round: {', '.join(f'{name} {[round(one, 2) for one in times]}' for name, times in taken.items())}")


def ours(texts: Sequence[str], place: Path) -> None:
    """Index passages as files of twenty chunks."""
    index, folder = DiskIndex(place, "bench"), Folder("/bench")
    with index.writing() as writer:
        assert writer is not None
        for number in range(0, len(texts), PER_FILE):
            chunks, line = [], 1
            for text in texts[number : number + PER_FILE]:
                last = line + text.count("\n")
                chunks.append(Chunk(line, last, text))
                line = last + 1
            file = IndexedFile(f"folder/file{number}.md", Stamp(1, 1, 1, number), f"{number:064}", "markdown", 0)
            writer.put(folder, file, "\n".join(texts[number : number + PER_FILE]), chunks)
    index.close()


def _stems(texts: Sequence[str], place: Path) -> None:
    _tantivy(texts, place, "en_stem")


def _tantivy(texts: Sequence[str], place: Path, tokenizer: str = "default") -> None:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", stored=True, indexed=True, fast=True)
    builder.add_text_field("text", stored=True, tokenizer_name=tokenizer)
    index = tantivy.Index(builder.build(), str(place))
    writer = index.writer(80_000_000, 2)
    for number, text in enumerate(texts):
        writer.add_document(tantivy.Document(id=number, text=text))
    writer.commit()
    writer.wait_merging_threads()


def _fts5(texts: Sequence[str], place: Path) -> None:
    connection = sqlite3.connect(place / "fts.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE VIRTUAL TABLE passage USING fts5 (text)")
    with connection:
        connection.executemany("INSERT INTO passage (rowid, text) VALUES (?, ?)", enumerate(texts))
    connection.close()


def change(texts: Sequence[str], folder: Path) -> None:
    """Change one file, in folders of three sizes: with a watcher that says where to look, and without."""
    rows = []
    base = 0.0
    for count in (CHUNKS // 100, CHUNKS // 10, CHUNKS):
        vault = folder / f"vault{count}"
        _write(texts[:count], vault)
        path = vault / "0" / "5.md"
        with Promptuary.open(vault, exact=True, embedder="none", watch_debounce=0.01) as promptuary:
            began = time.perf_counter()
            promptuary.search.index([vault])
            whole = time.perf_counter() - began
            known = promptuary.search.status().counts
            service = promptuary._app.search
            watcher = service.watcher()
            service.refresh()
            times: list[float] = []
            for turn in range(9):
                seen = watcher.generation
                path.write_text(path.read_text() + f"\n\n## Change {turn}\n\nquagga{turn}\n")
                watcher.wait(seen, 5.0)
                began = time.perf_counter()
                found = promptuary.search.find(f"quagga{turn}")
                times.append(time.perf_counter() - began)
                assert found.auto_synced
                assert [hit.path for hit in found.hits] == ["0/5.md"]
        with Promptuary.open(vault, exact=True, embedder="none") as promptuary:
            promptuary.search.find("quagga1")
            path.write_text(path.read_text() + "\n\n## Last\n\nokapi\n")
            began = time.perf_counter()
            found = promptuary.search.find("okapi")
            unwatched = time.perf_counter() - began
            assert [hit.path for hit in found.hits] == ["0/5.md"]
        middle = sorted(times)[len(times) // 2]
        base = base or middle
        rows += [
            Row(f"{known.chunks:,} chunks: first sync from {known.files:,} files", whole, "s"),
            Row(f"{known.chunks:,} chunks: one file changed, synced and found", middle * 1000, "ms", middle / base),
            Row(f"{known.chunks:,} chunks: the same, without a watcher", unwatched * 1000, "ms"),
        ]
    report("One changed file (ratio to the smallest folder; a search that syncs first)", rows)


def memory(texts: Sequence[str], folder: Path) -> None:
    """Index folders of two sizes, each in a process of its own, and compare the most memory that they took."""
    code = (
        "import re, sys\nfrom promptuary.blocking import Promptuary\n"
        "with Promptuary.open(sys.argv[1], exact=True, embedder='none') as own:\n"
        "    if sys.argv[2] == 'index':\n        own.search.index(sys.argv[1])\n"
        "    print(own.search.status().counts.chunks)\n"
        # Not what getrusage says: a process begins with what the one that started it had.
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) / 1024)\n"
    )
    rows, base = [], 0.0
    for count in (CHUNKS // 10, CHUNKS):
        vault = folder / f"memory{count}"
        _write(texts[:count], vault)
        (vault / ".promptuary").mkdir()
        for work in ("open", "index"):
            line = [sys.executable, "-c", code, str(vault), work]
            chunks, peak = subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()
            base = base or float(peak)
            rows.append(Row(f"{work}: {int(chunks):,} chunks", float(peak), "MB", float(peak) / base))
    report("Peak memory of building an index by words (ratio to a process that only opens the folder)", rows)


def _write(texts: Sequence[str], vault: Path) -> None:
    for number in range(0, len(texts), PER_FILE):
        path = vault / str(number // PER_FILE // 100) / f"{number // PER_FILE}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        sections = [
            f"# Section {line}\n\n" + text.replace("#", " ").replace("```", "") + "\n\n"
            for line, text in enumerate(texts[number : number + PER_FILE])
        ]
        path.write_text("".join(sections), encoding="utf-8")


def sessions() -> None:
    """Make 272 sessions of a chat searchable, as a person would from the shell, and search them cold."""
    texts = passages(272 * 12)
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "sessions"
        vault.mkdir()
        for number in range(272):
            turns = [" ".join(text.split()) for text in texts[number * 12 : number * 12 + 12]]
            said = "\n".join(f"{'Ada' if line % 2 else 'Ben'}: {text}" for line, text in enumerate(turns))
            (vault / f"session{number:03}.md").write_text(f"# Session of day {number}\n\n{said}\n", encoding="utf-8")
        with Promptuary.open(vault, exact=True, embedder="none") as promptuary:
            began = time.perf_counter()
            promptuary.search.index([vault])
            taken = time.perf_counter() - began
            found = promptuary.search.find(SearchQuery("session day"))
            assert found.hits
    report("272 Markdown sessions (goal: searchable by words within 2 s)", [Row("index, then found", taken, "s")])


if __name__ == "__main__":
    main()
