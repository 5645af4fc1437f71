"""No view is heavy, and the largest turn is shown without its text; ``python -m bench page`` says how fast they are."""

from contextlib import closing
from pathlib import Path

from bench.ledger import fill
from bench.page import (
    FILE,
    KILOBYTES,
    LARGE_TEXT,
    addresses,
    load,
    names_of,
    store_large_turn,
    store_proposals,
    store_rest,
    weight,
)
from bench.page import Visitor as Reader
from promptuary.client import BlockingClient
from promptuary.state import StateDatabase
from tests.conftest import Files
from tests.server.conftest import StartServer


def test_no_view_is_heavier_than_it_may_be_nor_has_the_text_of_the_largest_turn(
    workspace: Path, files: Files, start_server: StartServer
) -> None:
    files({FILE: "some words\n" * 20_000})
    server = start_server()
    secret = server.create()
    with BlockingClient(server.base, token=secret) as p:
        for number in range(60):
            p.memory.write(f"note {number}", title=f"The note with the number {number}")
        p.memory.write("word " * 20_000, title="A long note")
        p.threads.abandon(p.threads.prepare("hello"))
        rest = store_rest(p)
    with closing(StateDatabase(workspace / ".promptuary" / "state.db")) as state:
        fill(state, 200)
        store_large_turn(state)
        store_proposals(state)
    with closing(Reader(server.port, secret)) as reader:
        for path in addresses(names_of(200) | rest):
            body = load(reader, path)
            assert weight(reader, body) <= KILOBYTES * 1000, path
            # The text of the message itself is what was asked for.
            is_asked = "/messages/" in path or "/blocks/" in path
            assert is_asked or LARGE_TEXT[: len(LARGE_TEXT) // 2].encode() not in body, path
