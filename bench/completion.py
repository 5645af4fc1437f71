"""One keystroke of the path menu, beside ``fzf --filter`` fed with the same list.

    python -m bench.completion

Every prefix of every query is one keystroke. Ours runs in the process, files and folders, with
changed and used files preferred; fzf is started for each keystroke, as an editor would start it.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.big_tree import paths
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


def main() -> None:
    """Print the table."""
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
