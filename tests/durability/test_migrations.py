"""The tables become what this version knows, once, whole, and never backwards."""

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import Replacement
from promptuary.database import migrate
from promptuary.database.queries import named, statements
from promptuary.database.sqlite import SqliteDatabase
from promptuary.threads.records import ThreadChange
from tests.stores import FileStore
from tests.suites.threads import said

FIRST = "CREATE TABLE a (x);\nINSERT INTO a VALUES (1);\n"
SECOND = "ALTER TABLE a ADD COLUMN y;\nUPDATE a SET y = x;\n"
BROKEN = "INSERT INTO a VALUES (2, 2);\nINSERT INTO missing VALUES (1);\n"


def opened(path: Path, *steps: str) -> SqliteDatabase:
    return SqliteDatabase(path, steps, timeout=10)


def rows(database: SqliteDatabase) -> list[tuple[object, ...]]:
    return database.read(lambda connection: connection.execute("SELECT * FROM a").fetchall())


def test_only_the_missing_steps_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(opened(path, FIRST)) as database:
        assert rows(database) == [(1,)]
    for _ in range(2):
        with closing(opened(path, FIRST, SECOND)) as database:
            assert rows(database) == [(1, 1)]
            assert database.read(migrate.version) == 2


def test_a_step_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    opened(path, FIRST).close()
    with pytest.raises(PromptuaryError, match="no such table: missing"):
        opened(path, FIRST, SECOND, BROKEN)
    with closing(opened(path, FIRST)) as database:
        assert (rows(database), database.read(migrate.version)) == ([(1,)], 1)


def test_a_newer_database_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    opened(path, FIRST, SECOND).close()
    before = path.read_bytes()
    with pytest.raises(PromptuaryError, match=r"newer Promptuary \(format 2, this one knows 1\); it was not changed"):
        opened(path, FIRST)
    assert path.read_bytes() == before


def test_a_process_does_not_write_what_a_newer_one_has_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(opened(path, FIRST)) as old:
        opened(path, FIRST, SECOND).close()
        with pytest.raises(PromptuaryError, match="newer Promptuary"):
            old.write(lambda connection: connection.execute("INSERT INTO a (x) VALUES (3)"))
        assert rows(old) == [(1, 1)]


def test_many_may_take_the_steps_at_once(tmp_path: Path) -> None:
    path, found = tmp_path / "a.db", list[list[tuple[object, ...]]]()
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        with closing(opened(path, FIRST, SECOND)) as database:
            found.append(rows(database))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [[(1, 1)]] * 8


def test_many_processes_may_take_them_at_once(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from promptuary.state import StateDatabase\n"
        "sys.stdin.read(); StateDatabase(pathlib.Path(sys.argv[1])).close()"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "state.db")]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in running:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    assert [(process.communicate()[1], process.returncode) for process in running] == [("", 0)] * 4


def test_what_is_kept_lasts_until_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(FileStore(path, clock=lambda: "then")) as store:
        store.apply(ThreadChange("t", items=[said("a"), said("b")]))
        store.apply(ThreadChange("t", replacements=[Replacement(("a",), said("s"))]))
    with closing(FileStore(path, clock=lambda: "now")) as store:
        assert [item.id for item in store.history("t")] == ["s", "b"]
        store.apply(ThreadChange("t"))
        assert [(line.created, line.updated) for line in store.threads()] == [("then", "now")]


def test_threads_are_sorted_by_use_even_if_the_clock_goes_back(tmp_path: Path) -> None:
    times = iter("321")
    with closing(FileStore(tmp_path / "state.db", clock=lambda: next(times))) as store:
        for thread in "abc":
            store.apply(ThreadChange(thread))
        assert [line.id for line in store.threads()] == ["c", "b", "a"]


def test_the_same_text_is_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(FileStore(path)) as store:
        for number in range(20):
            store.apply(ThreadChange("t", items=[said(f"i{number}", "the same " * 10_000)]))
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT count(*), sum(length(body)) < 10000 FROM content").fetchone() == (1, 1)


def test_statements_are_told_apart_whatever_they_hold() -> None:
    trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  DELETE FROM b;\n  DELETE FROM c;\nEND;"

    assert statements(f"-- first; not yet\nSELECT ';';\n\n{trigger}\n-- last") == (
        "-- first; not yet\nSELECT ';';",
        trigger,
    )
    with pytest.raises(ValueError, match="does not end"):
        statements("SELECT 1;\nSELECT 2")


def test_a_query_has_a_name_of_its_own_and_a_sentence() -> None:
    assert named("-- about\n-- name: one\n-- The first.\nSELECT 1;\n\n-- name: two\n-- The next.\nSELECT 2;\n") == {
        "one": "-- The first.\nSELECT 1;",
        "two": "-- The next.\nSELECT 2;",
    }
    with pytest.raises(ValueError, match="two queries are called one"):
        named("-- name: one\n-- A.\nSELECT 1;\n-- name: one\n-- B.\nSELECT 2;\n")
    with pytest.raises(ValueError, match="one does not say"):
        named("-- name: one\nSELECT 1;\n")
