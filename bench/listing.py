"""A cold listing of a large working tree, beside git and ripgrep on the same tree.

    python -m bench.listing

"first" is when the first paths can be offered, "listed" when every name is known, "verified" when
deleted files, links and submodules are sorted out as well. Interleaved; the median of the rounds.
"""

import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.big_tree import big_tree
from promptuary.workspace.git.repository import Repository
from promptuary.workspace.listing.listing import Listing, NameStream

SIZES = (20_000, 200_000)
ROUNDS = 3
PEERS = {
    "git ls-files -co": ["git", "ls-files", "-co", "--exclude-standard"],
    "rg --files": ["rg", "--files"],
}


def ours(tree: Path) -> dict[str, float]:
    """List once through a repository that is open already, and return the seconds to each stage."""
    repository = Repository.find(tree, lambda _path: None)
    began = time.perf_counter()
    seconds: dict[str, float] = {}

    def noting(stream: NameStream) -> NameStream:
        def chunks() -> Iterator[bytes]:
            for chunk in stream():
                yield chunk
                seconds.setdefault("promptuary, first", time.perf_counter() - began)

        return chunks

    with repository:
        listing = Listing(tree, (noting(repository.tracked), noting(repository.untracked))).start()
        while not listing.complete:
            time.sleep(0.002)
        seconds["promptuary, listed"] = time.perf_counter() - began
        listing.wait()
        seconds["promptuary, verified"] = time.perf_counter() - began
    return seconds


def walked(tree: Path) -> dict[str, float]:
    """List as if there were no git."""
    began = time.perf_counter()
    Listing(tree).start().wait()
    return {"promptuary, no git": time.perf_counter() - began}


def peer(name: str) -> Callable[[Path], dict[str, float]]:
    def run(tree: Path) -> dict[str, float]:
        began = time.perf_counter()
        subprocess.run(PEERS[name], cwd=tree, stdout=subprocess.DEVNULL, check=True)
        return {name: time.perf_counter() - began}

    return run


def measure(tree: Path) -> dict[str, float]:
    """Return the median seconds of each contestant."""
    contestants = [ours, walked, *(peer(name) for name in PEERS if shutil.which(PEERS[name][0]))]
    rounds: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for contestant in contestants:
            for name, seconds in contestant(tree).items():
                rounds.setdefault(name, []).append(seconds)
    return {name: statistics.median(seconds) for name, seconds in rounds.items()}


def main() -> None:
    """Print the table."""
    if not shutil.which("rg"):
        print("ripgrep is not installed (apt-get install ripgrep): git alone is the peer")
    print(f"{'files':>8}  {'':<22}{'ms':>8}{'ratio':>8}")
    for files in SIZES:
        median = measure(big_tree(files))
        fastest = min(median[name] for name in PEERS if name in median)
        for name, seconds in median.items():
            print(f"{files:>8,}  {name:<22}{seconds * 1e3:>8.0f}{seconds / fastest:>7.2f}x")


if __name__ == "__main__":
    main()
