"""A workspace, a home and an environment that are the same in every recording."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

PLACES = [Path(f"/tmp/promptuary-net-{number}") for number in range(1, 5)]
"""Where worlds are. Hashes and lengths of paths are in prompts, so these must be the same everywhere."""
_PAST = 1_770_000_000
"""The day on which every file was changed last: 2026-02-02."""

APP = '''"""The application."""

import sys

from util.paths import ROOT


class App:
    """Serves requests."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def run(self, port: int = 8000) -> int:
        """Run until stopped."""
        return port


def main() -> None:
    """Start."""
    App(sys.argv[1])
'''
_BIG = "\n".join(f"def function_{n}(value: int) -> int:\n    return value + {n}\n" for n in range(250))
_CACHE = "---\ntags: [cache, speed]\ndate: 2026-01-15\n---\n# Page cache\n\nPages live for one hour. See [[deploy]].\n"
_FILES: Mapping[str, str | bytes] = {
    "README.md": "# Example\n\nAn example for recordings. See [style](docs/style.md).\n",
    "src/app.py": APP,
    "src/util/paths.py": "ROOT = '.'\n\n\ndef join(*parts: str) -> str:\n    return '/'.join(parts)\n",
    "src/big.py": _BIG,
    "src/server.ts": "export class Server {\n  start(port: number): void {\n    console.log(port);\n  }\n}\n",
    "src/main.go": "package main\n\nfunc main() {\n\tprintln(1)\n}\n",
    "docs/style.md": "# Style\n\nShort names.\n\n## Tests\n\nNames are sentences.\n\n```python\nx = 1\n```\n",
    "docs/deploy.md": "# Deploying\n\nWe deploy on Fridays, never before noon.\n\n## Rollback\n\nRun `make back`.\n",
    "docs/notes on caching.md": _CACHE,
    "docs/übersicht.md": "# Übersicht\n\nEine Seite mit Umlauten: äöü.\n",
    "data/table.csv": "name,value\n" + "".join(f"row {n},{n}\n" for n in range(50)),
    "data/config.json": '{"port": 8000, "debug": false}\n',
    "log.txt": "".join(f"line {n} of the log\n" for n in range(500)),
    "AGENTS.md": "# Instructions\n\nAnswer briefly. Use British spelling.\n",
    ".env": "TOKEN=abcdef0123456789\n",
    ".gitignore": "build/\n*.tmp\n",
    "build/out.txt": "made\n",
    "odd/a b'c.txt": "a quote and a space\n",
    "odd/-dash.txt": "begins with a dash\n",
    "odd/@file.txt": "begins with an at\n",
    "odd/new\nline.txt": "a newline in its name\n",
    "odd/\x1b[31mred.txt": "an escape in its name\n",
    "odd/empty.txt": "",
    "odd/binary.bin": bytes(range(256)),
    "odd/latin.txt": "caf\xe9\n".encode("latin-1"),
    "keys/id_rsa": "-----BEGIN OPENSSH PRIVATE KEY-----\nnothing\n-----END OPENSSH PRIVATE KEY-----\n",
    "src/settings.py": 'API_KEY = "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD"\nPORT = 8000\n',
}


class Done(NamedTuple):
    """What a program answered."""

    code: int
    out: bytes
    err: bytes


class World:
    """A home and a workspace with the environment in which programs are started there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._warm: tuple[subprocess.Popen[bytes], socket.socket] | None = None

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the environment of whoever records, but for where programs are."""
        day = "2026-01-02T03:04:05Z"
        people = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", "Ada"), ("EMAIL", "ada@example.com"), ("DATE", day))
        }
        return {
            **people,
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "USER": "ada",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "COLUMNS": "100",
            "LINES": "40",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "TMPDIR": str(self.root / "tmp"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONPATH": str(Path(__file__).parent / "fixed"),
            "PYTHONHASHSEED": "0",
            "NET_COUNTERS": str(self.root / "counters"),
            "PROMPTUARY_EMBEDDER": "none",
        }

    def run(self, command: Sequence[str], given: bytes = b"", **changed: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command to its end, with what it left running."""
        done = subprocess.run(
            command,
            cwd=self.work,
            env={**self.environment, **changed},
            input=given,
            capture_output=True,
            check=False,
            timeout=600,
        )
        self._wait_for_others()
        return done

    def program(self, arguments: Sequence[str], given: bytes = b"", **changed: str) -> Done:
        """Run the program of this interpreter."""
        if self._warm is None:
            self._warm = self._start()
        own = self._warm[1]
        reading, writing = os.pipe()
        os.write(writing, given)
        os.close(writing)
        with TemporaryFile() as out, TemporaryFile() as err:
            request = json.dumps({"arguments": list(arguments), "changed": changed}).encode()
            socket.send_fds(own, [request], [reading, out.fileno(), err.fileno()])
            os.close(reading)
            code = int(own.recv(100))
            out.seek(0)
            err.seek(0)
            done = Done(code, out.read(), err.read())
        self._wait_for_others()
        return done

    def close(self) -> None:
        """End the process that starts programs."""
        if self._warm is not None:
            process, own = self._warm
            own.close()
            process.wait(20)

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        own, other = socket.socketpair()
        command = [sys.executable, "-P", str(Path(__file__).parent / "warm.py"), str(other.fileno())]
        process = subprocess.Popen(
            command, cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL, pass_fds=[other.fileno()]
        )
        other.close()
        if own.recv(100) != b"ready\n":
            raise RuntimeError("the program could not be imported")
        return process, own

    def _wait_for_others(self) -> None:
        """Wait until nothing that was started here runs: learning goes on after a hook has ended."""
        mark = f"NET_COUNTERS={self.root}/".encode()
        own = str(self._warm[0].pid) if self._warm else ""
        for _ in range(600):
            if not any(
                mark in _environment(one) for one in Path("/proc").iterdir() if one.name.isdigit() and one.name != own
            ):
                return
            time.sleep(0.1)

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file of the workspace, with a fixed date."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(data)
        # A change that keeps the size must change the time, or git does not see it.
        when = _PAST + zlib.crc32(data) % 86_400
        os.utime(path, (when, when))

    def git(self, *arguments: str) -> None:
        """Run git in the workspace."""
        subprocess.run(["git", *arguments], cwd=self.work, env=self.environment, check=True, capture_output=True)


def empty_world(root: Path) -> World:
    """Make a home, and a folder with nothing in it."""
    world = World(root)
    shutil.rmtree(world.root, ignore_errors=True)
    for folder in (world.home, world.work, world.root / "tmp", world.root / "counters"):
        folder.mkdir(parents=True)
    return world


def make_world(root: Path) -> World:
    """Make a home, and a repository with two commits, a staged change and one that is not."""
    world = empty_world(root)
    world.git("init", "-q", "-b", "main")
    for file, content in _FILES.items():
        world.write(file, content)
    world.write("picture.png", picture())
    world.write("paper.pdf", paper("The lifetime of a page is one hour."))
    world.git("add", "-A")
    world.git("commit", "-qm", "Begin\n\nWith everything.")
    world.write("src/util/paths.py", "ROOT = '/'\n\n\ndef join(*parts: str) -> str:\n    return '/'.join(parts)\n")
    world.git("commit", "-qam", "Begin at the root")
    world.write("src/util/paths.py", "ROOT = '/'\n\n\ndef join(*parts: str) -> str:\n    return ROOT.join(parts)\n")
    world.git("add", "src/util/paths.py")
    world.write("src/app.py", APP.replace("8000", "9000"))
    world.write("notes.txt", "not tracked\n")
    return world


def next_second() -> None:
    """Wait for the next second: notes are dated by the second, and lists are sorted by it."""
    time.sleep(1.02 - time.time() % 1)


def picture() -> bytes:
    """Return a PNG of four pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    header = (2).to_bytes(4, "big") * 2 + b"\x08\x02\x00\x00\x00"
    rows = (b"\x00" + b"\xff\x00\x00\x00\xff\x00") * 2
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def paper(text: str) -> bytes:
    """Return a PDF of one page with one line."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    made, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer << /Size 7 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(made)
    return made + b"xref\n0 7\n0000000000 65535 f \n" + table + trailer


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""
