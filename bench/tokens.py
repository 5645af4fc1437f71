"""Counting tokens, beside tiktoken with the same vocabulary on the same texts."""

import sysconfig
import time
from pathlib import Path
from statistics import median

from bench.report import Row, report
from promptuary import Counter
from tests.reference_tokenizer import reference

ROUNDS = 5


def main() -> None:
    library = Path(sysconfig.get_paths()["stdlib"])
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(library.glob("*.py"))]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    rows = []
    for vocabulary in ("o200k_base", "cl100k_base"):
        tiktoken = reference(vocabulary)
        peer: list[float] = []
        ours: list[float] = []
        again: list[float] = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            theirs = [len(tiktoken.encode_ordinary(text)) for text in texts]
            peer.append(time.perf_counter() - began)
            counter = Counter(vocabulary)
            for taken in (ours, again):
                began = time.perf_counter()
                counted = [counter.count(text) for text in texts]
                taken.append(time.perf_counter() - began)
                assert counted == theirs
        base = megabytes / median(peer)
        rows += [
            Row(f"{vocabulary}, tiktoken", base, "MB/s", 1.0),
            Row(f"{vocabulary}, ours", megabytes / median(ours), "MB/s", megabytes / median(ours) / base),
            Row(
                f"{vocabulary}, ours, unchanged text",
                megabytes / median(again),
                "MB/s",
                megabytes / median(again) / base,
            ),
        ]
    report(f"Counting tokens of {megabytes:.1f} MB of source, the same counts (higher is better)", rows)


if __name__ == "__main__":
    main()
