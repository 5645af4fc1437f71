"""Cold commands of this version beside those of another commit, in one run: ``python -m bench.versions REVISION``.

The two take turns, so that whatever else the machine does slows both down; the medians are compared.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import Row, report

ROUNDS = 25
ROOT = Path(__file__).parents[1]

COMMANDS: dict[str, Sequence[str]] = {
    "expand": ["expand", "-q", "Review @file:src/module_3.py:1-20 against @file:notes/note_7.md"],
    "search --lexical": ["search", "-q", "--lexical", "release checklist"],
    "prepare (expand --thread)": [
        "expand",
        "-q",
        "--thread",
        "bench",
        "And now #notes/note_7.md with @file:src/module_3.py",
    ],
}


def main() -> None:
    revision = sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("bench") else "HEAD~1"
    with TemporaryDirectory() as place:
        other = Path(place) / "other"
        git("worktree", "add", "--detach", str(other), revision)
        try:
            compare(revision, {revision: other / "src", "this version": ROOT / "src"}, Path(place))
        finally:
            git("worktree", "remove", "--force", str(other))


def compare(revision: str, versions: dict[str, Path], place: Path) -> None:
    workspaces = {name: workspace(place / f"workspace {number}") for number, name in enumerate(versions)}
    for name, source in versions.items():
        run(source, workspaces[name], ["index", "-q", "--embedder", "none"], place / name)
        for command in COMMANDS.values():
            run(source, workspaces[name], command, place / name)
    rows = []
    for what, command in COMMANDS.items():
        times: dict[str, list[float]] = {name: [] for name in versions}
        for _ in range(ROUNDS):
            for name, source in versions.items():
                began = time.perf_counter()
                run(source, workspaces[name], command, place / name)
                times[name].append((time.perf_counter() - began) * 1000)
        middle = {name: statistics.median(taken) for name, taken in times.items()}
        rows += [Row(f"{what}, {name}", value, "ms", value / middle[revision]) for name, value in middle.items()]
    report("Cold commands beside another version (medians of interleaved runs; goal: at most 1.10x)", rows)


def workspace(folder: Path) -> Path:
    """Return a folder with notes and code."""
    for name in ("notes", "src", ".promptuary"):
        (folder / name).mkdir(parents=True)
    for number in range(200):
        text = f"# Note {number}\n\nThe release checklist of week {number}: tag, build, announce.\n" * 5
        (folder / "notes" / f"note_{number}.md").write_text(text, encoding="utf-8")
        code = "\n".join(f"def function_{line}(value: int) -> int:\n    return value + {line}\n" for line in range(20))
        (folder / "src" / f"module_{number}.py").write_text(code, encoding="utf-8")
    return folder


def run(source: Path, folder: Path, command: Sequence[str], home: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "promptuary", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(source), "HOME": str(home)},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)


if __name__ == "__main__":
    main()
