"""Refusing a file of 1 GiB, beside refusing one just over the limit: the size must not matter, nor memory grow."""

import asyncio
import resource
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.report import Row, report
from promptuary import Promptuary

ROUNDS = 30


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, size in (("over.txt", (1 << 20) + 1), ("huge.txt", 1 << 30)):
            with (Path(folder) / name).open("wb") as file:
                file.truncate(size)
        asyncio.run(_measure(folder))


async def _measure(folder: str) -> None:
    times: dict[str, list[float]] = {"over.txt": [], "huge.txt": []}
    async with Promptuary.open(folder, exact=True) as promptuary:
        await promptuary.expand("@file:over.txt")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(ROUNDS):
            for name, taken in times.items():
                began = time.perf_counter()
                expansion = await promptuary.expand(f"@file:{name}")
                taken.append(time.perf_counter() - began)
                assert expansion.outcomes[0].code == "FILE_TOO_LARGE"
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    small, large = median(times["over.txt"]), median(times["huge.txt"])
    rows = [
        Row("1 MiB + 1 byte, refused", small * 1000, "ms", 1.0),
        Row("1 GiB, refused", large * 1000, "ms", large / small),
        Row("memory grown by", grown, "MiB"),
    ]
    report("Refusing a file that is too large, without reading it", rows)


if __name__ == "__main__":
    main()
