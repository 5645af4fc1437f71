"""Many users of one server, each with a note of its own: what one costs in time, on disk, in files and in memory.

``python -m bench principals [--principals N]``. Each is opened as a request opens it, remembers a note, looks for it
and becomes idle; the least recently used are closed. Figures of the disk leave out the notes and the database.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.process import Process
from bench.report import Row, report
from promptuary.base.principals import Principal
from promptuary.server.tokens import Token
from promptuary.server.workspaces import Workspaces
from promptuary.workspace.data_folder.data_path import data_path

_PARTS = 10


async def use_each(workspaces: Workspaces, first: int, last: int) -> None:
    for number in range(first, last):
        async with workspaces.of(Token("", "bench", Principal(f"user{number}")), "app") as p:
            await p.memory.remember(f"The door of house {number} is painted blue.", scope="project")
            found = await p.memory.find("colour of the painted door")
            if len(found.hits) != 1:
                raise AssertionError(f"{number} found {len(found.hits)} notes")


def entries(folder: Path) -> Iterator[os.stat_result]:
    for path in folder.rglob("*"):
        yield path.lstat()


async def measure(workspace: Path, principals: int) -> None:
    own, workspaces = Process(os.getpid()), Workspaces({"app": workspace}, {"embedder": "none"})
    await use_each(workspaces, 0, 1)  # what all of them share
    index = data_path(workspace, disposable=True).folder / "index"
    step = max(1, principals // _PARTS)
    took = list[tuple[float, float, float, int, int]]()
    for first in range(1, principals, step):
        began, processor = time.monotonic(), own.seconds()
        last = min(first + step, principals)
        await use_each(workspaces, first, last)
        count = last - first
        took.append(
            (
                (time.monotonic() - began) / count * 1e3,
                (own.seconds() - processor) / count * 1e3,
                own.memory(),
                own.descriptors(),
                own.threads(),
            )
        )
    kept = list(entries(index)) if index.exists() else []
    rows = list[Row]()
    for name, (wall, processor, memory, files, threads) in (("first tenth", took[0]), ("last tenth", took[-1])):
        rows += [
            Row(f"a principal, {name}", wall, "ms"),
            Row(f"of it processor, {name}", processor, "ms"),
            Row(f"memory after the {name}", memory, "MB"),
            Row(f"open files after the {name}", files, ""),
            Row(f"threads after the {name}", threads, ""),
        ]
    rows += [
        Row("open principals", len(workspaces), ""),
        Row("files and folders of indexes", len(kept), ""),
        Row("bytes of indexes on disk", sum(one.st_blocks for one in kept) * 512 / 1e6, "MB"),
    ]
    await workspaces.close()
    report(f"{principals:,} principals, a note and a search each", rows)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--principals", type=int, default=300)
    arguments, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        for name in [name for name in os.environ if name.startswith("XDG_")]:
            del os.environ[name]
        (workspace := Path(folder) / "app").mkdir()
        asyncio.run(measure(workspace, arguments.principals))


if __name__ == "__main__":
    main()
