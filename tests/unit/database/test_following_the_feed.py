"""Who follows the feed of changes misses nothing, however transactions overlap, and knows when that cannot be said."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from promptuary.base.principals import LOCAL, Owner
from promptuary.database import shared
from promptuary.database.feed import Follower
from promptuary.database.owners import EVERYBODY, add_owner
from promptuary.database.port import Connection, Database
from promptuary.state import StateDatabase

OWNER = LOCAL.owner
SPACE = "agents/default"


def tell(database: Database, key: str, owner: Owner | None = OWNER, noun: str = "note", place: str = SPACE) -> None:
    def work(connection: Connection) -> None:
        number = EVERYBODY if owner is None else add_owner(connection, owner)
        database.notify(connection, number, noun, key, place=place)

    database.write(work)


def follower(state: StateDatabase) -> Follower:
    made = Follower(state.database, OWNER, "note", SPACE)
    assert made.news() is None  # it has read nothing yet, so anything may have changed
    assert made.news() == set()
    return made


def test_each_change_of_ones_own_and_of_everybodys_is_told_once(state: StateDatabase) -> None:
    own = follower(state)
    tell(state.database, "first")
    tell(state.database, "shared", None)
    tell(state.database, "second\nthird")
    assert own.news() == {"first", "shared", "second", "third"}
    assert own.news() == set()


def test_what_is_of_others_or_elsewhere_is_not_told(state: StateDatabase) -> None:
    own = follower(state)
    tell(state.database, "theirs", Owner("user", "eve", "default"))
    tell(state.database, "other", noun="turn")
    tell(state.database, "elsewhere", None, place="agents/reviewer")
    tell(state.database, "agents/reviewer", None, noun="notes", place="")
    assert own.news() == set()
    tell(state.database, SPACE, None, noun="notes", place="")
    assert own.news() is None
    tell(state.database, "")
    assert own.news() is None
    assert own.news() == set()


def test_a_change_that_is_committed_after_later_ones_were_told_is_told(state: StateDatabase) -> None:
    """Lists of their own grow in the order of commits, so the one that was behind does not hide behind the other."""
    tell(state.database, "before")
    tell(state.database, "before", None)
    own = follower(state)
    written, told = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with state.transaction():
            tell(state.database, "slow")
            written.set()
            assert told.wait(20)

    if state.database.name.startswith("PostgreSQL"):
        with ThreadPoolExecutor(3) as pool:
            slow = pool.submit(write_slowly)
            assert written.wait(20)
            tell(state.database, "quick", None)
            behind = pool.submit(tell, state.database, "behind")  # waits for the slow one: its number comes after
            assert own.news() == {"quick"}
            assert not behind.done()
            told.set()
            slow.result()
            behind.result()
        assert own.news() == {"slow", "behind"}
    assert own.news() == set()


def test_many_who_overlap_are_all_told_in_time(state: StateDatabase) -> None:
    """Whatever a writer has been told is stored is in the news, or was in them before."""
    own, known, lock = follower(state), set[str](), threading.Lock()

    def write(writer: int) -> None:
        for number in range(12):
            with state.transaction():
                tell(state.database, f"{writer}-{number}", OWNER if number % 3 else None)
            with lock:
                news = own.news()
                assert news is not None
                known.update(news)
                assert f"{writer}-{number}" in known

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))
    assert known == {f"{writer}-{number}" for writer in range(6) for number in range(12)}


def removed(connection: Connection) -> None:
    connection.act_as(None)
    connection.execute("DELETE FROM change WHERE tenant = :tenant", {"tenant": connection.tenant})


def replaced(connection: Connection) -> None:
    connection.act_as(None)
    query = "UPDATE change SET id = 'other' WHERE tenant = :tenant"
    connection.execute(query, {"tenant": connection.tenant})


@pytest.mark.parametrize("work", [removed, replaced])
def test_in_a_database_that_was_restored_anything_may_have_changed(
    state: StateDatabase, work: Callable[[Connection], None]
) -> None:
    tell(state.database, "first")
    own = follower(state)
    state.database.write(work)
    assert own.news() is None
    assert own.news() == set()


def test_who_is_too_far_behind_is_told_that_anything_may_have_changed(
    state: StateDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "MAX_CHANGES", 4)
    tell(state.database, "first")
    own = follower(state)
    for number in range(11):
        tell(state.database, str(number))
    assert own.news() is None
    tell(state.database, "next")
    assert own.news() == {"next"}
