"""One keystroke of the path menu, beside ``fzf --filter`` fed with the same list.

    python -m bench.completion
    python -m bench.completion --quality FOLDER [--seed N]

Every prefix of every query is one keystroke. Ours runs in the process, files and folders, with
changed and used files preferred; fzf is started for each keystroke, as an editor would start it.

``--quality`` asks both for files of a real repository (a working tree, or a git directory without one) with 800
queries in six families, and prints how often the file that was meant comes first and among the first five. fzf is
asked in both of its schemes, the default one and the one for paths.
"""

import argparse
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.big_tree import paths
from bench.typed_paths import FAMILIES, TypedPath, typed_paths
from promptuary.workspace.listing.listing import folders_of
from promptuary.workspace.matching.ranker import Preferences, Ranker

SIZES = (20_000, 200_000)
_QUERIES = (
    "config user_config usrcfg cofnig handler sessionstore src/config router.py readme "
    "payment_gateway UserProfile webhook invoice apigate docs/chat test_runner paymnet "
    "services/billing token_store index SearchIndex schema.sql loginform tenant/role audit-log "
    "queue_worker emailtemplate http_client media calendar_event exporter CloudDeploy permission "
    "proxy_cache lib/storage vector.rs zzqx mainthread ui/panel "
)
QUERIES = _QUERIES.split()


@dataclass
class Fixed:
    """A listing that is complete."""

    paths: list[str]
    folders: list[str]
    complete: bool = True
    generation: int = 1


def keystrokes() -> Iterator[str]:
    """Yield what stands in the box after each key."""
    for query in QUERIES:
        for end in range(1, len(query) + 1):
            yield query[:end]


def ours(ranker: Ranker, preferred: Preferences, typed: str) -> float:
    began = time.perf_counter()
    ranker.rank(typed, preferred=preferred)
    return time.perf_counter() - began


def fzf(program: str, listed: bytes, typed: str) -> float:
    began = time.perf_counter()
    subprocess.run([program, "--filter", typed], input=listed, capture_output=True, check=False)
    return time.perf_counter() - began


def percentile(times: list[float], share: float) -> float:
    """Return in milliseconds what ``share`` of the times do not exceed."""
    return sorted(times)[min(len(times) - 1, int(len(times) * share))] * 1e3


def measure(files: int, program: str | None) -> tuple[list[float], list[float]]:
    """Return our times for every keystroke, and those of the peer for every tenth: it is slow."""
    found = sorted(paths(files))
    ranker = Ranker(Fixed(found, folders_of(found)))
    ranker.wait_until_sorted()
    preferred = Preferences(frozenset(found[::2_000]), dict.fromkeys(found[::500], 1.0))
    listed = "\n".join(found).encode()
    mine: list[float] = []
    theirs: list[float] = []
    for number, typed in enumerate(keystrokes()):
        mine.append(ours(ranker, preferred, typed))
        if program and number % 10 == 0:
            theirs.append(fzf(program, listed, typed))
    return mine, theirs


def files_of(folder: Path) -> list[str]:
    """Return the files of a repository's last commit."""
    listed = subprocess.run(
        ["git", "-C", folder, "ls-tree", "-r", "-z", "--full-tree", "--name-only", "HEAD"],
        capture_output=True,
        check=True,
    )
    return [path.decode(errors="surrogateescape") for path in listed.stdout.split(b"\0") if path]


Search = Callable[[str], Sequence[str]]
"""Returns the first five paths for a query."""


def our_search(found: list[str]) -> Search:
    ranker = Ranker(Fixed(found, folders_of(found)))
    ranker.wait_until_sorted()
    return lambda query: [hit.path for hit in ranker.rank(query, kinds=("file",))[:5]]


def fzf_search(program: str, found: list[str], scheme: str) -> Search:
    listed = "\n".join(found).encode(errors="surrogateescape")

    def search(query: str) -> Sequence[str]:
        command = [program, f"--scheme={scheme}", "--filter", query]
        answer = subprocess.run(command, input=listed, capture_output=True, check=False).stdout
        return answer.decode(errors="surrogateescape").splitlines()[:5]

    return search


@dataclass
class Found:
    """How often a family's targets came first, and among the first five."""

    asked: int = 0
    first: int = 0
    five: int = 0

    def count(self, typed: TypedPath, answer: Sequence[str]) -> None:
        self.asked += 1
        self.first += answer[:1] == [typed.target]
        self.five += typed.target in answer


def quality(searches: dict[str, Search], queries: Sequence[TypedPath]) -> dict[str, dict[str, Found]]:
    """Return for each family what each search found."""
    table = {family: {name: Found() for name in searches} for family in FAMILIES}
    for typed in queries:
        for name, search in searches.items():
            table[typed.family][name].count(typed, search(typed.query))
    return table


def print_quality(folder: Path, seed: int) -> None:
    """Print how often each search finds what was meant, side by side."""
    program = shutil.which("fzf")
    found = files_of(folder)
    searches = {"promptuary": our_search(found)}
    if program:
        searches |= {"fzf": fzf_search(program, found, "default"), "fzf, paths": fzf_search(program, found, "path")}
    else:
        print("fzf is not installed (apt-get install fzf): ours alone")
    queries = typed_paths(found, seed=seed)
    table = quality(searches, queries)
    print(f"{len(found):,} files, {len(queries)} queries, seed {seed}; first / among the first five, in %")
    print(f"{'':<32}{'queries':>8}" + "".join(f"{name:>16}" for name in searches))
    for family, row in table.items():
        shares = (f"{100 * one.first / one.asked:.1f} / {100 * one.five / one.asked:.1f}" for one in row.values())
        print(f"{family:<32}{row['promptuary'].asked:>8}" + "".join(f"{share:>16}" for share in shares))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quality", type=Path, metavar="FOLDER", help="what is found in this repository")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.quality:
        print_quality(options.quality, options.seed)
    else:
        print_speed()


def print_speed() -> None:
    """Print how long a keystroke takes."""
    program = shutil.which("fzf")
    if not program:
        print("fzf is not installed (apt-get install fzf): ours alone")
    print(f"{'files':>8}  {'':<10}{'p50 ms':>8}{'p99 ms':>8}")
    for files in SIZES:
        mine, theirs = measure(files, program)
        rows = {"promptuary": mine, "fzf": theirs} if theirs else {"promptuary": mine}
        for name, times in rows.items():
            print(f"{files:>8,}  {name:<10}{percentile(times, 0.5):>8.1f}{percentile(times, 0.99):>8.1f}")
        if theirs:
            p50, p99 = (percentile(theirs, share) / percentile(mine, share) for share in (0.5, 0.99))
            print(f"{'':>8}  {'fzf / us':<10}{p50:>7.1f}x{p99:>7.1f}x")


if __name__ == "__main__":
    main()
