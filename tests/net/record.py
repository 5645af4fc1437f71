"""``python -m tests.net.record FOLDER``: record what the program of this interpreter shows."""

import argparse
import fcntl
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tests.net.commands import STORIES, Story
from tests.net.plain import Plain
from tests.net.protocol import record_protocol
from tests.net.world import PLACES, World, make_world

PARTS = ("cli", "turns", "mcp", "signatures")


def main() -> int:
    parser = argparse.ArgumentParser(description="Record what the program of this interpreter shows to its users.")
    parser.add_argument("folder", type=Path, help="where the recording goes")
    parser.add_argument("--only", action="append", choices=PARTS, help="record only this part; repeatable")
    parser.add_argument("--story", action="append", choices=STORIES, help="of the commands, only these; repeatable")
    options = parser.parse_args()
    with _free_place() as place:
        record(options.folder, options.only or PARTS, options.story or list(STORIES), place)
    return 0


@contextmanager
def _free_place() -> Iterator[Path]:
    """Take a place for worlds that no other recording uses; wait for one if there is none."""
    while True:
        for place in PLACES:
            place.mkdir(exist_ok=True)
            with (place / "lock").open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield place
                return
        time.sleep(1)


def record(folder: Path, parts: Sequence[str], stories: Sequence[str], place: Path) -> None:
    """Record parts, a few programs at a time."""
    for part in parts:
        shutil.rmtree(folder / part, ignore_errors=True)
    scribe = _Scribe(folder, place)
    tasks: list[tuple[str, Callable[[], None]]] = []
    if "turns" in parts:
        tasks += [(f"turns {kind}", partial(scribe.turns, kind)) for kind in ("async", "blocking")]
    if "cli" in parts:
        tasks += [(f"cli {name}", partial(scribe.story, name)) for name in STORIES if name in stories]
    if "mcp" in parts:
        tasks.append(("mcp", scribe.protocol))
    if "signatures" in parts:
        tasks.append(("signatures", scribe.signatures))
    with ThreadPoolExecutor(3) as pool:  # stories wait for the next second now and then
        for name, took in pool.map(_timed, tasks):
            print(f"{name}: {took:.0f} s", file=sys.stderr)
    if "turns" in parts:
        _name_the_same(folder / "turns/async", folder / "turns/blocking")


class _Scribe:
    """Writes each part of a recording below a folder."""

    def __init__(self, folder: Path, place: Path) -> None:
        asked = [sys.executable, "-P", "-c", "import promptuary; print(promptuary.__version__)"]
        self._version = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
        self._folder, self._place, self._today = folder, place, f"{datetime.now(UTC):%Y-%m-%d}"

    def story(self, name: str) -> None:
        tell, make = STORIES[name]
        world = make(self._place / name)
        try:
            tell(Story(world, self._folder / "cli" / name, self._plain(world)))
        finally:
            world.close()

    def turns(self, kind: str) -> None:
        self._run(make_world(self._place / f"turns-{kind}"), "library.py", self._folder / "turns" / kind, kind)

    def signatures(self) -> None:
        self._run(make_world(self._place / "signatures"), "signatures.py", self._folder / "signatures")

    def protocol(self) -> None:
        world = make_world(self._place / "mcp")
        record_protocol(world, self._folder / "mcp", self._plain(world))

    def _run(self, world: World, script: str, folder: Path, *arguments: str) -> None:
        """Run a script of this folder as a program; each of its lines is the name and the text of a file."""
        folder.mkdir(parents=True)
        done = world.run([sys.executable, "-P", str(Path(__file__).with_name(script)), *arguments])
        if done.returncode:
            raise RuntimeError(f"{script} failed:\n{done.stderr.decode()}")
        plain = self._plain(world)
        for line in done.stdout.decode().splitlines():
            name, text = json.loads(line)
            (folder / f"{name}.txt").write_text(plain(text), encoding="utf-8")

    def _plain(self, world: World) -> Plain:
        return Plain(world.root, self._today, self._version)


def _name_the_same(first: Path, second: Path) -> None:
    """Say of the files of ``second`` that are equal to those of ``first`` only that they are."""
    for file in second.iterdir():
        if (first / file.name).is_file() and (first / file.name).read_bytes() == file.read_bytes():
            file.write_text(f"the same as in {first.name}\n", encoding="utf-8")


def _timed(task: tuple[str, Callable[[], None]]) -> tuple[str, float]:
    began = time.monotonic()
    task[1]()
    return task[0], time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
