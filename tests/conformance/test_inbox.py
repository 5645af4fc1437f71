"""The store of received messages keeps its contract; what is stored survives the process."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.gateways.inbox_store import InboxStore
from tests.suites.inbox import BODY, InboxConformance


class TestSqliteInbox(InboxConformance):
    @pytest.fixture
    def inbox(self, tmp_path: Path) -> Iterator[InboxStore]:
        with closing(InboxStore(tmp_path / "inbox.db")) as store:
            yield store


def test_the_words_of_an_answered_message_are_not_kept(tmp_path: Path) -> None:
    with closing(InboxStore(tmp_path / "inbox.db")) as store:
        number = store.receive("bot", "7", "1", {**BODY, "text": "confidential"})
        assert number is not None
        store.begin(number)
        store.store_answer(number, "confidential, too")
        store.mark_answered(number)
    with closing(InboxStore(tmp_path / "inbox.db")) as store:
        assert store.receive("bot", "7", "1", BODY) is None
        assert store.list_unanswered("bot") == []
    with closing(sqlite3.connect(tmp_path / "inbox.db")) as database:
        assert database.execute("SELECT status, body, answer FROM received").fetchall() == [("answered", None, None)]
