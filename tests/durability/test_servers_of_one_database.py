"""Several servers of one database, killed and cut off: what was acknowledged is there, and nothing is there twice.

Nor is anything that waits carried out twice.
"""

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from promptuary.base.principals import Principal
from promptuary.database.tenant import TenantDatabase
from promptuary.state import StateDatabase
from tests.conftest import Figure
from tests.postgres import PostgresServer, cutting, is_commit
from tests.stores import feed_of

BINDING = "many servers"

SERVER = """
import random, sys, threading, time
from promptuary.base.errors import DatabaseUnavailableError
from promptuary.base.messages import Item
from promptuary.base.principals import Principal
from promptuary.database.tenant import TenantDatabase
from promptuary.memory.writeback.values import QueuedTurn
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange

url, name, clients, workers = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
state = StateDatabase(database=TenantDatabase(url, "many servers"))
lock = threading.Lock()

def say(what, key):
    with lock:
        print(what, key, flush=True)

def tried(key, work):
    say("began", key)
    try:
        work()
    except DatabaseUnavailableError as error:
        say("unknown" if "not known" in str(error) else "failed", key)
    except Exception as error:
        say("wrong", f"{key} {error!r}")
    else:
        say("done", key)

def client(number):
    "Say something; every fourth time a turn waits for writeback with it."
    user = Principal(f"user{number % 3}")
    store, queue = state.threads(user), state.writeback_queue(user)
    for count in range(1_000_000):
        key = f"{name}-{number}-{count}"
        change = ThreadChange(f"thread{count % 5}", items=[Item(id=key, role="user", content=key)])

        def both():
            with state.transaction():
                store.apply(change)
                queue.add(QueuedTurn(key, change.thread, "now", key, due=time.time()))

        tried(key, both if count % 4 == 0 else lambda: store.apply(change))

def worker(number):
    "Carry out what waits. The lease is short: some are overtaken by another while they work."
    user, chance = Principal(f"user{number % 3}"), random.Random(f"{name} {number}")
    store, queue = state.threads(user), state.writeback_queue(user)
    for count in range(1_000_000):
        try:
            turn = queue.take(time.time(), lease=0.3)
        except DatabaseUnavailableError:
            continue
        except Exception as error:
            say("wrong", f"taking {error!r}")
            continue
        if turn is None:
            time.sleep(0.05)
            continue
        if chance.random() < 0.1:
            time.sleep(0.4)
        effect = Item(id=f"{turn.id}/{name}-{number}-{count}", role="user", content=turn.text)

        def carry_out():
            with state.transaction():
                if queue.done(turn.id, lease=turn.lease):
                    store.apply(ThreadChange("effects", items=[effect]))
                else:
                    say("overtaken", effect.id)

        tried(effect.id, carry_out)

for number in range(clients):
    threading.Thread(target=client, args=(number,), daemon=True).start()
for number in range(workers):
    threading.Thread(target=worker, args=(number,), daemon=True).start()
threading.Event().wait()
"""
CLIENTS = (6, 5, 5)
"""How many each server has."""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    made = PostgresServer(fsync=True)
    try:
        made.start()
        yield made
    finally:
        made.remove()


@pytest.fixture
def proxy(server: PostgresServer) -> Iterator[tuple[str, list[int]]]:
    """Stand before the server, and cut some connections after the server has committed, before the client knows it."""
    chance = random.Random(2)

    def is_cut(data: bytes) -> bool:
        return is_commit(data) and chance.random() < 0.02

    with (
        tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder,  # the path of a socket is short
        cutting(server.url, Path(folder), is_cut, forward=True, once=False) as made,
    ):
        yield made


@pytest.mark.timeout(600)
def test_nothing_acknowledged_is_lost_stored_twice_or_done_twice(
    server: PostgresServer, proxy: tuple[str, list[int]], tmp_path: Path, figure: Figure
) -> None:
    seconds, pause, chance = figure(8, 300), figure(2, 20), random.Random(1)
    url, cuts = proxy
    with closing(TenantDatabase(server.url, BINDING)) as made:
        made.make()
    logs: list[Path] = []
    with ExitStack() as running:

        def start(clients: int) -> tuple[int, subprocess.Popen[bytes]]:
            log = tmp_path / f"log{len(logs)}"
            logs.append(log)
            with log.open("wb") as out:
                command = [sys.executable, "-c", SERVER, url, log.name, str(clients), "3"]
                process = running.enter_context(subprocess.Popen(command, stdout=out))
            running.callback(process.kill)
            return clients, process

        servers = [start(clients) for clients in CLIENTS]
        began, restarted = time.monotonic(), False
        while time.monotonic() - began < seconds:
            time.sleep(pause)
            chosen = chance.randrange(len(servers))
            clients, process = servers[chosen]
            process.send_signal(signal.SIGKILL)
            process.wait()
            servers[chosen] = start(clients)
            time.sleep(1)  # it connects before the database goes away
            if not restarted and time.monotonic() - began > seconds / 2:
                restarted = True
                server.stop()
                time.sleep(0.5)
                server.start()

    said: dict[str, set[str]] = {what: set() for what in ("began", "done", "failed", "unknown", "wrong", "overtaken")}
    for log in logs:
        for line in log.read_text().splitlines():
            what, _, key = line.partition(" ")
            said[what].add(key)
    waiting: set[str] = set()
    with closing(StateDatabase(database=TenantDatabase(server.url, BINDING))) as state:
        found = Counter[str]()
        for user in map(Principal, ("user0", "user1", "user2")):
            for thread in ("effects", *(f"thread{number}" for number in range(5))):
                found.update(item.id for item in state.threads(user).said(thread))
            waiting.update(turn.id for turn in state.writeback_queue(user).waiting())
        feeds: dict[int, list[int]] = {}
        for owner, seq, *_ in feed_of(state.database):
            feeds.setdefault(owner, []).append(seq)
        state.verify()

    assert said["wrong"] == set()
    assert said["done"] - said["overtaken"] - found.keys() == set()  # nothing acknowledged is lost
    assert max(found.values()) == 1
    assert found.keys() <= said["began"] - said["failed"]  # what failed, as was said, is not there
    # One change each: nothing was applied twice. The oldest ones are dropped.
    assert sum(numbers[-1] for numbers in feeds.values()) == len(found)
    assert all(numbers == list(range(numbers[0], numbers[-1] + 1)) for numbers in feeds.values())
    # Every turn that waited was carried out once, or still waits.
    effects = Counter(key.partition("/")[0] for key in found if "/" in key)
    queued = {key for key in found if "/" not in key and int(key.rpartition("-")[2]) % 4 == 0}
    assert max(effects.values()) == 1
    assert waiting | effects.keys() == queued
    assert waiting & effects.keys() == set()
    assert len(said["done"]) > figure(20, 100)
    assert len(cuts) > 1
    figures = {what: len(keys) for what, keys in said.items()}
    print(figures, len(found), "stored", len(effects), "carried out", len(waiting), "waiting", len(cuts), "cut")
