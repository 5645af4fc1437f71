"""No view is heavy, and the largest turn is shown without its text; ``python -m bench page`` says how fast they are."""

from contextlib import closing
from pathlib import Path

from bench.ledger import fill
from bench.page import BIG, KILOBYTES, LARGE_TEXT, addresses, store_large_turn, weight
from bench.page import Visitor as Reader
from promptuary.client import BlockingClient
from promptuary.state import StateDatabase
from tests.server.conftest import StartServer


def test_no_view_is_heavier_than_it_may_be_nor_has_the_text_of_the_largest_turn(
    workspace: Path, start_server: StartServer
) -> None:
    server = start_server()
    secret = server.create()
    with BlockingClient(server.base, token=secret) as p:
        note = p.memory.write("word " * 20_000, title="A long note")
        for number in range(60):
            p.memory.write(f"note {number}", title=f"The note with the number {number}")
        p.threads.abandon(p.threads.prepare("hello"))
    with closing(StateDatabase(workspace / ".promptuary" / "state.db")) as state:
        fill(state, 200)
        store_large_turn(state)
    reader = Reader(server.port, secret)
    names = {**BIG, "key": note.header.id, "id": note.header.id, "note": note.header.id, "thread": "thread 7"}

    seen = []
    for path in addresses(names):
        status, body = reader.get(path)
        if status == 200:
            seen.append(path)
            assert weight(reader, body) <= KILOBYTES * 1000, path
            assert LARGE_TEXT[: len(LARGE_TEXT) // 2].encode() not in body, path
    reader.close()
    assert {"/turns", "/turns/big/1", "/status"} <= {*seen}
