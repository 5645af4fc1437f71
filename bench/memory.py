"""Notes: what recalling them costs as they become more, a cold start, and durable writes beside the bare steps of one.

The notes are written as files, all at once, and one look at them takes them over: that is what a person does who
copies a memory here, and it is the only way to have 100,000 of them in minutes. The digest and the ranking are those of
a turn. A write through ``Memory.put`` stands beside what it cannot do without: one file replaced and synced, and one
commit to a database that syncs, in the same run, alternating. Two rows are those of a new process, Python's own start
included.

Set ``PROMPTUARY_BENCH_BASIC_MEMORY`` to a Python that has ``basic-memory`` to see the same jobs done with it.
"""

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from bench.passages import passages, questions
from bench.report import Row, report
from promptuary import Counter
from promptuary.base import durable
from promptuary.base.clock import now_in_seconds
from promptuary.blocking import Promptuary
from promptuary.memory.memory import Memory
from promptuary.memory.recall.digest import digest, read_digest
from promptuary.memory.recall.search import NoteQuery
from promptuary.memory.values import NoteDraft

SIZES = (1_000, 10_000, 100_000)
QUESTIONS = 100
WRITES = 150
DIGEST = 2_000
PEER = "PROMPTUARY_BENCH_BASIC_MEMORY"
MOST_FOR_PEER = 1_000
LISTED = "promptuary.memory.list(limit=20)"
PREPARED = 'promptuary.threads.abandon(promptuary.threads.prepare("When do deploys happen?"))'
FOLDER = ".promptuary/memory/agents/default/private/reference"


def main() -> None:
    sizes = [int(one) for one in os.environ.get("PROMPTUARY_BENCH_NOTES", "").split()] or list(SIZES)
    texts = passages(max(sizes))
    asked = questions(texts, QUESTIONS)
    before: dict[str, float] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["HOME"] = f"{folder}/home"
            workspace = Path(folder) / "work"
            fill(workspace / FOLDER, texts[:size])
            before = measure(workspace, size, asked, before)
            if size <= MOST_FOR_PEER:
                beside_peer(Path(folder) / "peer", texts[:size], asked, before)


def beside_peer(home: Path, texts: Sequence[str], asked: Sequence[str], own: dict[str, float]) -> None:
    """Do the same jobs with ``basic-memory``; ratios are its time to ours."""
    if not (python := os.environ.get(PEER)):
        print(f"\n  basic-memory: skipped; set {PEER} to a Python that has it")
        return
    fill(home / "basic-memory", texts)
    done = subprocess.run(
        [python, str(Path(__file__).with_name("basic_memory_peer.py"))],
        input=json.dumps(asked),
        env={"HOME": str(home), "PATH": os.environ["PATH"], "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    taken = json.loads(done.stdout.splitlines()[-1])
    names = {
        "taken over": ("taken over", 1, "s"),
        "search": ("ranking, p50", 1000, "ms"),
        "write": ("create", 1000, "ms"),
    }
    rows = []
    for name, (key, scale, unit) in names.items():
        theirs = statistics.median(taken[name]) * scale
        rows.append(Row(f"{name}, Promptuary", own[key], unit))
        rows.append(Row(f"{name}, basic-memory", theirs, unit, theirs / own[key]))
    report(f"Notes: {len(texts):,} beside basic-memory (medians; ratio: its time to ours)", rows)


def fill(folder: Path, texts: Sequence[str]) -> None:
    """Write a file for each text, as a person would copy them here."""
    folder.mkdir(parents=True)
    at = now_in_seconds()
    for number, text in enumerate(texts):
        words = " ".join(text.split())
        title = words[:40].encode("ascii", "ignore").decode()
        head = f"---\nid: n{number:07}\ntitle: {number} {title!r}\nupdated_at: {at}\n---\n"
        (folder / f"n{number:07}.md").write_text(f"{head}{words}\n", errors="replace")


def measure(workspace: Path, size: int, asked: Sequence[str], before: dict[str, float]) -> dict[str, float]:
    """Measure one size; ratios are to the size before, ``before``. Return what later sizes are compared with."""
    found = {"taken over": _seconds(lambda: _settled(workspace))}
    rows = [Row(f"{size:,} notes: taken over and indexed, once", found["taken over"], "s")]
    rows.append(Row(f"{size:,} notes: a new process lists them", _in_a_child(workspace, LISTED), "s"))
    rows.append(Row(f"{size:,} notes: a new process prepares a turn", _in_a_child(workspace, PREPARED), "s"))
    with Promptuary.open(workspace, exact=True, embedder="none") as promptuary:
        memory = promptuary._app.memory.of()
        memory.refresh()
        memory.settle()
        counter = Counter()
        sides: dict[str, Callable[[str], object]] = {
            "digest": lambda _: digest(read_digest(memory.current_notes()), DIGEST, counter),
            "ranking": lambda question: memory.search.find(NoteQuery(question, 5)),
        }
        for name, work in sides.items():
            work(asked[0])
            taken = [_seconds(lambda work=work, one=one: work(one)) * 1000 for one in asked]  # type: ignore[misc]
            for percent in (50, 99):
                key, value = f"{name}, p{percent}", statistics.quantiles(taken, n=100, method="inclusive")[percent - 1]
                found[key] = value
                rows.append(Row(f"{size:,} notes: {key}", value, "ms", value / before[key] if key in before else None))
        writes = _writes(memory, workspace)
        found["create"] = 1000 / writes["create"]
        rows += [
            Row(f"{size:,} notes: {name}, durable", each, "/s", each / writes["bare"]) for name, each in writes.items()
        ]
    report(f"Notes: {size:,} (ratios to the size before; goal of recall: 3x from 10,000 to 100,000)", rows)
    return found


def _writes(memory: Memory, workspace: Path) -> dict[str, float]:
    """Return how many a second there are of each: the bare steps, a new note, an update."""
    folder, text = workspace / "bare", "Deploys happen on Thursdays, after the tests. " * 8
    folder.mkdir()
    taken: dict[str, list[float]] = {"bare": [], "create": [], "update": []}
    with closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE journal (number INTEGER PRIMARY KEY, note TEXT, text TEXT)")
        for number in range(WRITES):

            def bare(number: int = number) -> None:
                said = f"{number} {text}"
                durable.replace(folder / f"{number % 10}.md", said.encode())
                database.execute("INSERT INTO journal (note, text) VALUES (?, ?)", ("note", said))

            draft = NoteDraft(content=f"{number} {text}", kind="project", audience="private")
            taken["bare"].append(_seconds(bare))
            taken["create"].append(_seconds(lambda draft=draft: memory.put(draft)))  # type: ignore[misc]
            change = NoteDraft(id=f"n{number:07}", content=f"{number} {text}")
            taken["update"].append(_seconds(lambda change=change: memory.put(change)))  # type: ignore[misc]
    return {name: 1 / statistics.median(seconds) for name, seconds in taken.items()}


def _settled(workspace: Path) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as promptuary:
        memory = promptuary._app.memory.of()
        memory.refresh(wait=True)
        memory.settle()


def _in_a_child(workspace: Path, work: str) -> float:
    """Return the seconds that a new process takes to open the workspace, do some work, and end."""
    code = (
        "import sys; from promptuary.blocking import Promptuary\n"
        f"with Promptuary.open(sys.argv[1], exact=True, embedder='none') as promptuary: {work}"
    )
    return _seconds(lambda: subprocess.run([sys.executable, "-c", code, str(workspace)], check=True))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
