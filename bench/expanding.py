"""Expanding many files, beside reading and counting them with no checks at all.

Both do the same work on the same files in the same run, alternating: ours scans the message, opens beneath the root,
applies the policy, decodes, hashes, fences and measures; the limit opens, reads, decodes and counts.
"""

import asyncio
import sysconfig
import tempfile
import time
from pathlib import Path

from bench.report import Row, report
from promptuary import Counter, Promptuary

ROUNDS = 15


def main() -> None:
    library = Path(sysconfig.get_paths()["stdlib"])
    # Every file once: what the limit has counted before, it would not count again.
    packages = ("asyncio", "email", "json", "http", "logging", "unittest", "xml", "concurrent", "importlib")
    folders = [library, *(library / name for name in packages)]
    sources = [path for folder in folders for path in sorted(folder.glob("*.py")) if path.stat().st_size < 1 << 20]
    rows = [row for count in (20, 200) for row in measure(sources, count)]
    report("Expanding files of real source (limit: read and count them, nothing else; at most 1.5x)", rows)


def measure(sources: list[Path], count: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        names: list[str] = []
        for path in sources[:: max(len(sources) // count, 1)][:count]:
            names.append(f"{len(names):03}_{path.name}")
            (Path(folder) / names[-1]).write_bytes(path.read_bytes())
        ours, globbed, limit = asyncio.run(_alternate(folder, names))
    size = f"{count} files"
    return [
        Row(f"{size}, read and count", limit * 1000, "ms", 1.0),
        Row(f"{size}, @file: each", ours * 1000, "ms", ours / limit),
        Row(f"{size}, one @glob:", globbed * 1000, "ms", globbed / limit),
    ]


async def _alternate(folder: str, names: list[str]) -> tuple[float, float, float]:
    message = " ".join(f"@file:{name}" for name in names)
    times: tuple[list[float], list[float], list[float]] = ([], [], [])
    for _ in range(ROUNDS):
        for text, taken in ((message, times[0]), ("@glob:*.py", times[1])):
            # A new instance each time: nothing counted before may be remembered.
            async with Promptuary.open(folder, exact=True, window=1_000_000_000) as promptuary:
                began = time.perf_counter()
                expansion = await promptuary.expand(text)
                taken.append(time.perf_counter() - began)
            assert len(expansion.blocks) == len(names)
        counter = Counter()
        began = time.perf_counter()
        for name in names:
            counter.count((Path(folder) / name).read_text(encoding="utf-8", errors="replace"))
        times[2].append(time.perf_counter() - began)
    # The least of several runs: what others do on the machine only ever adds.
    ours, globbed, limit = map(min, times)
    return ours, globbed, limit


if __name__ == "__main__":
    main()
