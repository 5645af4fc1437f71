"""Prompts are stored as lists of hashes, in parts, so that a history is stored once."""

import sqlite3
from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from promptuary.base.messages import Message
from promptuary.base.principals import LOCAL, Principal
from promptuary.database.binding import BoundDatabase
from promptuary.database.contents import Contents
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from promptuary.threads.store.prompts import add_names, entries_of, put_messages
from tests.suites.threads import turned

TEXTS = st.text(st.characters(), max_size=8)
MESSAGES = st.lists(
    st.one_of(
        st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": TEXTS}),
        st.fixed_dictionaries({"content": TEXTS, "role": st.just("user")}),
        st.fixed_dictionaries({"role": st.just("tool"), "content": TEXTS, "tool_call_id": TEXTS}),
    ),
    max_size=40,
)


@given(MESSAGES)
def test_whatever_was_sent_comes_back_in_order_with_the_order_of_its_keys(messages: list[Message]) -> None:
    with closing(BoundDatabase(None)) as database:

        def written(connection: object) -> list[Message]:
            contents = Contents(connection, 1)  # type: ignore[arg-type]  # a connection
            listed, hashes = put_messages(messages, contents)
            entries = entries_of(listed, contents)
            found: set[bytes] = set()
            add_names(listed, contents, found)
            assert [entry.content for entry in entries] == hashes
            assert set(hashes) <= found
            return [entry.message(contents.get(entry.content)) for entry in entries]

        read = database.write(written)

    assert [list(message.items()) for message in read] == [list(message.items()) for message in messages]


def test_a_long_history_is_stored_once(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    history: list[Message] = [{"role": "user", "content": f"message {number}"} for number in range(200)]
    with closing(StateDatabase(path)) as state:
        for number in range(1, 31):
            sent = replace(turned(number), messages=[*history, {"role": "user", "content": f"question {number}"}])
            state.threads(LOCAL).apply(ThreadChange("t", turn=sent))
    with closing(sqlite3.connect(path)) as raw:
        (parts,) = raw.execute("SELECT count(*) FROM content WHERE packed & 4").fetchone()
        (longest,) = raw.execute("SELECT max(length(messages)) FROM turn").fetchone()
    assert parts == 200 // 16
    assert longest < 1_000


def test_the_same_text_of_two_owners_is_stored_for_each(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(StateDatabase(path)) as state:
        for principal in (LOCAL, Principal("ada")):
            state.threads(principal).apply(ThreadChange("t", turn=turned(1)))
    with closing(sqlite3.connect(path)) as raw:
        shared = raw.execute("SELECT count(*) FROM content GROUP BY sha256").fetchall()
    assert set(shared) == {(2,)}
