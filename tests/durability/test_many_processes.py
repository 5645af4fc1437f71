"""Several processes use one workspace at once: nobody sees an error, nothing is lost."""

import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.base.errors import ConflictError, PromptuaryError
from promptuary.base.messages import Item
from promptuary.threads.records import ThreadChange
from tests.conftest import Figure
from tests.durability.writer import written
from tests.stores import FileStore, MemoryStore
from tests.suites.threads import said, turned

WRITER = Path(__file__).with_name("writer.py")


def together(path: Path, arguments: list[list[str]]) -> list[str]:
    """Run writers at once and return what each said; none may fail."""
    running = [
        subprocess.Popen(
            [sys.executable, str(WRITER), str(path), *one], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for one in arguments
    ]
    said = [process.communicate() for process in running]
    assert [(process.returncode, error) for process, (_, error) in zip(running, said, strict=True)] == [(0, "")] * len(
        said
    )
    return [output for output, _ in said]


@pytest.mark.torture
@pytest.mark.parametrize("processes", [2, 8])
def test_each_on_its_own_thread(tmp_path: Path, processes: int, figure: Figure) -> None:
    """The database is new, so that they make its tables at once too."""
    path, count = tmp_path / "state.db", figure(12, 500)
    names = [f"thread {number}" for number in range(processes)]
    started = time.perf_counter()
    together(path, [["own", name, str(count)] for name in names])
    seconds = time.perf_counter() - started
    print(f"{processes} processes, {count} turns each: {processes * count / seconds:.0f} turns a second, 0 errors")

    with closing(FileStore(path)) as store:
        store.verify()
        assert {(line.id, line.turns) for line in store.threads()} == {(name, count) for name in names}
        for name in names:
            model = MemoryStore()
            for change in written(name, count, "finished"):
                model.apply(change)
            assert store.turns(name) == model.turns(name)
            assert store.history(name) == model.history(name)


@pytest.mark.torture
def test_two_on_the_same_thread_take_turns_or_are_told(tmp_path: Path, figure: Figure) -> None:
    path, count = tmp_path / "state.db", figure(25, 500)
    conflicts = sum(map(int, together(path, [["shared", "t", str(count)]] * 2)))
    print(f"2 processes, {count} turns each on one thread: {conflicts} conflicts told, 0 turns lost")

    with closing(FileStore(path)) as store:
        turns, history = store.turns("t"), store.history("t")
        assert [turn.number for turn in turns] == list(range(1, 2 * count + 1))
        assert [item.id for item in history] == [turn.id for turn in turns]
        assert set(Counter(turn.id.split()[0] for turn in turns).values()) == {count}


def test_the_second_to_take_a_number_is_told_and_can_go_on(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(FileStore(path)) as one, closing(FileStore(path)) as other:
        one.apply(ThreadChange("t", turn=turned(1, name="one"), items=[said("a")]))
        with pytest.raises(ConflictError, match="'t' has moved on: turn 1 was taken by somebody else"):
            other.apply(ThreadChange("t", turn=turned(1, name="other"), items=[said("b")]))
        other.apply(ThreadChange("t", turn=turned(2, name="other"), items=[said("b")]))

        assert [turn.id for turn in one.turns("t")] == ["one", "other"]
        assert [item.id for item in one.history("t")] == ["a", "b"]


def test_a_writer_waits_for_another_and_readers_wait_for_nobody(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(FileStore(path)) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        store.apply(ThreadChange("t", items=[said("a")]))
        other.execute("BEGIN IMMEDIATE")
        waiting = threading.Thread(target=store.apply, args=[ThreadChange("t", items=[said("b")])])
        waiting.start()
        assert store.history("t") == (said("a"),)
        waiting.join(0.1)
        assert waiting.is_alive()
        other.execute("COMMIT")
        waiting.join(10)
        assert [item.id for item in store.history("t")] == ["a", "b"]


def test_patience_ends_with_a_clear_error_and_the_store_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with (
        closing(FileStore(path, timeout=0.05)) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(PromptuaryError, match="in use by another process for too long; try again") as caught:
            store.apply(ThreadChange("t", items=[said("a")]))
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
        other.execute("ROLLBACK")
        store.apply(ThreadChange("t", items=[said("a")]))
        assert store.history("t") == (said("a"),)


def test_threads_that_wait_for_each_other_have_patience_too(tmp_path: Path) -> None:
    with closing(FileStore(tmp_path / "state.db", timeout=0.05)) as store:
        entered, leave = threading.Event(), threading.Event()

        def slow(_: sqlite3.Connection) -> None:
            entered.set()
            leave.wait(10)

        holder = threading.Thread(target=store._database.write, args=[slow])
        holder.start()
        entered.wait(10)
        with pytest.raises(PromptuaryError, match="in use by other threads"):
            store.apply(ThreadChange("t"))
        leave.set()
        holder.join()
        store.apply(ThreadChange("t", items=[Item("a", "user", "")]))


def test_a_process_that_forks_is_told_to_open_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(FileStore(tmp_path / "state.db")) as store:
        with monkeypatch.context() as patch:
            patch.setattr("os.getpid", lambda: -1)
            with pytest.raises(PromptuaryError, match="open it again in the child"):
                store.threads()
        assert store.threads() == ()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "state.db")
    store.close()
    store.close()
    with pytest.raises(PromptuaryError, match="is closed"):
        store.threads()
    with pytest.raises(PromptuaryError, match="is closed"):
        store.apply(ThreadChange("t"))
