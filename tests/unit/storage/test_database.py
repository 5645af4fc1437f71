"""Work that shares a transaction is done at once or not at all, each piece for itself, and is never left behind."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary.core.errors import PromptuaryError
from promptuary.storage.embedded import database as module
from promptuary.storage.embedded.database import Database

STEPS = ["CREATE TABLE word (text TEXT NOT NULL UNIQUE);"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "words.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    own = Database(path, STEPS, patience=0.2, lasting=False)
    yield own
    own.close()


def add(word: str, own: sqlite3.Connection) -> None:
    own.execute("INSERT INTO word VALUES (?)", (word,))


def words(own: sqlite3.Connection) -> list[str]:
    return [word for (word,) in own.execute("SELECT text FROM word ORDER BY text")]


def seen_by_others(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return words(connection)
    finally:
        connection.close()


def test_what_is_shared_is_seen_here_at_once_and_then_by_others(database: Database, path: Path) -> None:
    database.share(lambda own: add("one", own))
    database.share(lambda own: add("two", own))

    assert seen_by_others(path) == []
    assert database.read(words) == ["one", "two"]
    assert seen_by_others(path) == ["one", "two"]


def test_what_is_shared_is_on_the_disk_before_what_is_written_after_it(database: Database, path: Path) -> None:
    database.share(lambda own: add("shared", own))
    database.write(lambda own: add("written", own))
    assert seen_by_others(path) == ["shared", "written"]

    database.share(lambda own: add("again", own))
    database.settle(lambda _: None)
    assert "again" in seen_by_others(path)


def test_what_is_shared_is_on_the_disk_after_a_moment_of_sharing(
    database: Database, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TOGETHER", 0.0)

    database.share(lambda own: add("one", own))

    assert seen_by_others(path) == ["one"]


def test_what_fails_is_taken_back_alone(database: Database) -> None:
    def twice(own: sqlite3.Connection) -> None:
        add("half", own)
        add("one", own)

    database.share(lambda own: add("one", own))
    with pytest.raises(PromptuaryError):
        database.share(twice)
    database.share(lambda own: add("two", own))

    assert database.read(words) == ["one", "two"]


def test_closing_keeps_what_was_shared(database: Database, path: Path) -> None:
    database.share(lambda own: add("one", own))
    database.close()

    assert seen_by_others(path) == ["one"]


def test_who_shares_keeps_another_writer_waiting_only_for_a_moment(database: Database, path: Path) -> None:
    other = Database(path, STEPS, patience=0.05, lasting=False)
    database.share(lambda own: add("one", own))

    with pytest.raises(PromptuaryError, match="in use"):
        other.write(lambda own: add("other", own))
    database.read(words)
    other.write(lambda own: add("other", own))
    other.close()

    assert database.read(words) == ["one", "other"]
