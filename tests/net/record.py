"""``python -m tests.net.record FOLDER``: record what the program of this interpreter shows."""

import argparse
import fcntl
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from tests.net.commands import STORIES, Story
from tests.net.plain import Plain
from tests.net.protocol import record_protocol
from tests.net.world import ROOT, World, make_world

PARTS = ("cli", "turns", "mcp", "signatures")
_HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(description="Record what the program of this interpreter shows to its users.")
    parser.add_argument("folder", type=Path, help="where the recording goes")
    parser.add_argument("--only", action="append", choices=PARTS, help="record only this part; repeatable")
    parser.add_argument("--story", action="append", choices=STORIES, help="of the commands, only these; repeatable")
    options = parser.parse_args()
    ROOT.mkdir(exist_ok=True)
    with (ROOT / "lock").open("w") as lock:
        # Worlds have fixed paths, so there can be one recording at a time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        record(options.folder, options.only or PARTS, options.story or list(STORIES))
    return 0


def record(folder: Path, parts: list[str] | tuple[str, ...], stories: list[str]) -> None:
    """Record parts, a few programs at a time."""
    version = subprocess.run(
        [sys.executable, "-P", "-c", "import promptuary; print(promptuary.__version__)"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    tasks: list[tuple[str, Callable[[], None]]] = []
    for part in parts:
        shutil.rmtree(folder / part, ignore_errors=True)

    def plain(world: World) -> Plain:
        return Plain(world.root, today, version)

    def story(name: str) -> None:
        tell, make = STORIES[name]
        world = make(name)
        try:
            tell(Story(world, folder / "cli" / name, plain(world)))
        finally:
            world.close()

    def turns(kind: str) -> None:
        world = make_world(f"turns-{kind}")
        _child(world, "library.py", folder / "turns" / kind, plain(world), kind)

    def signatures() -> None:
        world = make_world("signatures")
        _child(world, "signatures.py", folder / "signatures", plain(world))

    def protocol() -> None:
        world = make_world("mcp")
        record_protocol(world, folder / "mcp", plain(world))

    if "turns" in parts:
        tasks += [(f"turns {kind}", lambda kind=kind: turns(kind)) for kind in ("async", "blocking")]  # type: ignore[misc]
    if "cli" in parts:
        tasks += [(f"cli {name}", lambda name=name: story(name)) for name in STORIES if name in stories]  # type: ignore[misc]
    if "mcp" in parts:
        tasks.append(("mcp", protocol))
    if "signatures" in parts:
        tasks.append(("signatures", signatures))
    with ThreadPoolExecutor(3) as pool:  # stories wait for the next second now and then
        for name, took in pool.map(_timed, tasks):
            print(f"{name}: {took:.0f} s", file=sys.stderr)


def _timed(task: tuple[str, Callable[[], None]]) -> tuple[str, float]:
    began = time.monotonic()
    task[1]()
    return task[0], time.monotonic() - began


def _child(world: World, script: str, folder: Path, plain: Plain, *arguments: str) -> None:
    """Run a script of this folder in a process of its own; each of its lines is the name and the text of a file."""
    folder.mkdir(parents=True)
    done = world.run([sys.executable, "-P", str(_HERE / script), *arguments])
    if done.returncode:
        raise RuntimeError(f"{script} failed:\n{done.stderr.decode()}")
    for line in done.stdout.decode().splitlines():
        name, text = json.loads(line)
        (folder / f"{name}.txt").write_text(plain(text), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
