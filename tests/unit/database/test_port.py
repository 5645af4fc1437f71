"""The port to the database, on SQLite in a file and in memory: locks with fencing tokens, the feed of changes."""

import gc
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from promptuary.base.errors import ConflictError, DatabaseDamagedError, LockTimeoutError, ThreadBusyError
from promptuary.base.principals import LOCAL, Principal
from promptuary.database import shared, sqlite
from promptuary.database.binding import BoundDatabase
from promptuary.database.queries import queries
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from tests.stores import feed_of
from tests.suites.threads import said, turned


@pytest.fixture(params=["file", "memory"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BoundDatabase]:
    with closing(BoundDatabase(tmp_path / "state.db" if request.param == "file" else None)) as opened:
        yield opened


def test_a_lock_has_one_holder_and_its_token_counts_up(database: BoundDatabase) -> None:
    with database.lock("a") as first:
        with pytest.raises(LockTimeoutError), database.lock("a"):
            pass
        with database.lock("b") as other:
            assert other == 1
    with database.lock("a") as second:
        assert second == first + 1


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    program = (
        "import os, sys, pathlib; from promptuary.database.binding import BoundDatabase\n"
        "with BoundDatabase(pathlib.Path(sys.argv[1])).lock('a') as token: print(token, flush=True); os._exit(9)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert (killed.stdout, killed.stderr) == ("1\n", "")
    with closing(BoundDatabase(path)) as database, database.lock("a") as token:
        assert token == 2


def test_nothing_that_was_deleted_is_left_in_the_file_after_a_purge(tmp_path: Path) -> None:
    path, secret = tmp_path / "state.db", b"the anchor is brass"
    with closing(sqlite.SqliteDatabase(path, ["CREATE TABLE said (text BLOB NOT NULL);"])) as database:
        database.write(lambda connection: connection.execute("INSERT INTO said VALUES (?)", [secret * 1_000]))
        with closing(sqlite3.connect(path)) as raw:
            # Whether SQLite overwrites what it deletes is chosen where it is built.
            raw.execute("PRAGMA secure_delete = OFF")
            raw.execute("DELETE FROM said")
            raw.commit()
            raw.execute("PRAGMA wal_checkpoint (TRUNCATE)")
        assert secret in path.read_bytes()

        database.purge()

        assert [one.name for one in tmp_path.iterdir() if one.is_file() and secret in one.read_bytes()] == []


def test_what_an_overtaken_holder_writes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(StateDatabase(path)) as state:
        threads = state.threads(LOCAL)
        with state.answering(LOCAL, "t"):
            threads.apply(ThreadChange("t", turn=turned(1)))
            with pytest.raises(ThreadBusyError), state.answering(LOCAL, "t"):
                pass
            # A process that was paused for so long that another took its place, as a lease of a server runs out.
            with closing(sqlite3.connect(path)) as raw, raw:
                raw.execute("UPDATE lease SET token = token + 1")
            with pytest.raises(ConflictError, match="another process took over"):
                threads.apply(ThreadChange("t", items=[said("a")]))
            threads.apply(ThreadChange("other", items=[said("b")]))
        threads.apply(ThreadChange("t", items=[said("c")]))
        assert [item.id for item in threads.history("t")] == ["c"]


def test_changes_are_fed_with_what_was_written_and_in_order(database: BoundDatabase) -> None:
    def written(key: str) -> None:
        database.write(lambda connection: database.notify(connection, 1, "thread", key))

    written("a")
    with suppress(ZeroDivisionError), database.transaction():
        written("never")
        raise ZeroDivisionError
    with database.transaction():
        written("b")
        written("\udc80")

    assert [row[1:4] for row in feed_of(database)] == [(1, "thread", "a"), (2, "thread", "b"), (3, "thread", "\udc80")]


def test_old_changes_are_dropped(database: BoundDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MAX_CHANGES", 3)
    for number in range(10):
        for owner in (0, 7) if number == 0 else (0,):
            database.write(lambda own, owner=owner, key=str(number): database.notify(own, owner, "noun", key))  # type: ignore[misc]

    assert [row[3] for row in feed_of(database)] == ["6", "7", "8", "9", "0"]


def test_every_change_of_a_thread_is_fed_to_its_owner(tmp_path: Path) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        for principal in (LOCAL, Principal("ada")):
            state.threads(principal).apply(ThreadChange("t"))
        state.threads(LOCAL).rename("t", "u")

        fed = [(row[0], *row[2:4]) for row in feed_of(state.database)]
    assert fed == [(1, "thread", "t"), (1, "thread", "t"), (1, "thread", "u"), (2, "thread", "t")]


def test_a_query_knows_where_it_is_from() -> None:
    query = queries("promptuary.database", "owners.sql")["find_owner"]

    assert (query.file, query.name) == ("promptuary.database/owners.sql", "find_owner")
    assert "owner" in query


def test_a_database_in_memory_is_closed_when_nobody_has_it_any_more() -> None:
    connection = BoundDatabase(None).read(lambda own: own)
    gc.collect()

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_damaged_database_is_not_copied_over_a_good_one(tmp_path: Path) -> None:
    source, target = tmp_path / "state.db", tmp_path / "copy.db"
    many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500)"
    fill = f"{many} INSERT INTO said SELECT hex(zeroblob(i)) FROM n"
    with closing(sqlite.SqliteDatabase(source, ["CREATE TABLE said (text TEXT NOT NULL);"])) as database:
        database.write(lambda connection: connection.execute(fill))
    sqlite.copy_database(source, target)
    good = target.read_bytes()
    pages = bytearray(source.read_bytes())
    pages[-8 * 4096 : -4 * 4096] = bytes(4 * 4096)
    source.write_bytes(pages)

    with pytest.raises(DatabaseDamagedError, match=r"state\.db is damaged"):
        sqlite.copy_database(source, target)
    assert target.read_bytes() == good
