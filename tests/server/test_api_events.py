"""What changes, over HTTP: as it happens, for whom it concerns, and from where a client left off."""

import http.client
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from promptuary.base.principals import Principal
from promptuary.client import BlockingClient
from tests.programs import PROMPTUARY
from tests.served import RunningServer
from tests.waiting import wait_until


class Events:
    """A stream of events as they come: each is its name, its id and its data."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.response = response

    def __next__(self) -> tuple[str, str, Any]:
        fields: dict[str, str] = {}
        while True:
            line = self.response.readline().decode().rstrip("\n")
            if not line and "data" in fields:
                return fields["event"], fields.get("id", ""), json.loads(fields["data"])
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value


@contextmanager
def following(server: RunningServer, secret: str, last: str = "") -> Iterator[Events]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    headers = {"authorization": f"Bearer {secret}"} | ({"last-event-id": last} if last else {})
    try:
        connection.request("GET", "/api/v1/events", headers=headers)
        yield Events(connection.getresponse())
    finally:
        connection.close()


def test_turns_and_notes_are_told_as_they_happen_and_to_nobody_else(server: RunningServer) -> None:
    ada, bob = (server.create(principal=Principal(name)) for name in ("ada", "bob"))
    with (
        following(server, ada) as mine,
        following(server, bob) as theirs,
        BlockingClient(server.base, token=ada) as p,
        BlockingClient(server.base, token=bob) as other,
    ):
        assert next(mine)[0] == next(theirs)[0] == "start"
        note = p.memory.remember("We deploy on Fridays")
        turn = p.threads.prepare("hello", thread="talk")
        p.threads.finish(turn, "fine")
        own = other.memory.remember("I like tabs")

        told = [next(mine) for _ in range(3)]
        assert [(name, data["event"]) for name, _, data in told] == [
            ("note", "create"),
            ("turn", "prepared"),
            ("turn", "finished"),
        ]
        assert told[0][2]["id"] == note.header.id
        assert (told[2][2]["thread"], told[2][2]["number"]) == ("talk", 1)
        assert next(theirs)[2]["id"] == own.header.id


def test_a_client_that_comes_back_gets_what_it_has_missed(server: RunningServer) -> None:
    secret = server.create()
    with BlockingClient(server.base, token=secret) as p:
        with following(server, secret) as events:
            next(events)
            p.memory.remember("We deploy on Fridays")
            _, last, _ = next(events)
        late = p.memory.remember("We have two databases")

    with following(server, secret, last) as events:
        found = [next(events), next(events)]

    assert [data["id"] for name, _, data in found if name == "note"] == [late.header.id]


def test_what_another_program_writes_is_told_too(server: RunningServer, workspace: Path) -> None:
    with following(server, server.create()) as events:
        next(events)
        subprocess.run([*PROMPTUARY, "remember", "We deploy on Fridays"], cwd=workspace, check=True, timeout=60)

        name, _, data = next(events)

    assert (name, data["event"], data["title"]) == ("note", "create", "We deploy on Fridays")


def test_a_stream_ends_with_its_client_and_with_its_token(server: RunningServer) -> None:
    secret = server.create()
    with following(server, secret) as events:
        next(events)
        assert len(server.application.running) == 1
    wait_until(lambda: len(server.application.running) == 0)

    with following(server, secret) as events:
        next(events)
        server.store.revoke(secret.split("_")[1])
        wait_until(lambda: len(server.application.running) == 0)


def test_a_cursor_that_nobody_made_is_told_to_begin_anew(server: RunningServer) -> None:
    with following(server, server.create(), "x" * 3000) as events:
        names = [next(events)[0], next(events)[0]]

    assert "missed" in names
