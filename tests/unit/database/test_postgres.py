"""The driver for PostgreSQL, with a real server: races, lost connections, migrations, locks, and any text."""

import re
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, nullcontext
from functools import partial
from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.errors import (
    ConflictError,
    DatabaseUnavailableError,
    LockTimeoutError,
    PromptuaryError,
    StorageError,
    UnknownFormatError,
)
from promptuary.base.principals import LOCAL, Principal
from promptuary.database import postgres as driver
from promptuary.database import schema
from promptuary.database.columns import escaped, to_column, unescaped
from promptuary.database.dialect import translate
from promptuary.database.port import Connection
from promptuary.database.tenant import TenantDatabase
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from tests.postgres import cutting, is_commit, new_state, new_tenant
from tests.stores import feed_of
from tests.suites.threads import said


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_escaped_text_can_be_stored_comes_back_and_keeps_its_beginning(one: str, other: str) -> None:
    stored = escaped(one)

    assert "\0" not in stored
    assert unescaped(stored) == to_column(one)
    assert escaped(to_column(one)) == stored
    assert (stored == escaped(other)) is (one == other)
    assert escaped(one + other) == stored + escaped(other)
    stored.encode()


def test_only_placeholders_are_translated() -> None:
    query = "-- why: this\nSELECT ':no', \":no\", x::text FROM t WHERE a = :one AND b LIKE '%' || :two"

    assert translate(query) == "SELECT ':no', \":no\", x::text FROM t WHERE a = %(one)s AND b LIKE '%%' || %(two)s"


@pytest.fixture
def empty(postgres: str) -> Iterator[str]:
    """Return the address of a database without tables."""
    with psycopg.connect(postgres.replace("promptuary@/promptuary", "postgres@/postgres"), autocommit=True) as raw:
        raw.execute("CREATE DATABASE empty OWNER promptuary")
        yield postgres.replace("@/promptuary", "@/empty")
        raw.execute("DROP DATABASE empty WITH (FORCE)")
    driver._migrated.clear()


def test_any_number_of_processes_may_start_at_once_and_one_migrates(empty: str) -> None:
    steps = schema.postgres_steps()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: driver._migrate(empty, "it", steps), range(8)))

    with psycopg.connect(empty) as raw:
        assert raw.execute("SELECT version FROM promptuary.migration").fetchall() == [(len(steps),)]


def test_a_step_that_fails_leaves_the_tables_as_they_were(empty: str) -> None:
    steps = schema.postgres_steps()
    driver._migrate(empty, "it", steps)
    with pytest.raises(psycopg.Error):
        driver._migrate(empty, "it", [*steps, "DROP TABLE change; CREATE TABLE change (a BIGINT); SELECT nonsense"])

    with closing(new_state(empty)) as state:
        state.threads(LOCAL).apply(ThreadChange("t", items=[said("one")]))
        assert len(feed_of(state.database)) == 1


def test_an_old_process_stops_writing_when_a_newer_one_has_migrated(empty: str) -> None:
    with closing(new_state(empty)) as state:
        state.threads(LOCAL).apply(ThreadChange("t", items=[said("one")]))
        driver._migrate(empty, "it", [*schema.postgres_steps(), "CREATE TABLE more (a BIGINT)"])

        known = len(schema.postgres_steps())
        with pytest.raises(
            UnknownFormatError, match=rf"newer Promptuary \(format {known + 1}, this one knows {known}\)"
        ):
            state.threads(LOCAL).apply(ThreadChange("t", items=[said("two")]))
        assert [item.id for item in state.threads(LOCAL).history("t")] == ["one"]
        driver._migrated.clear()
        with pytest.raises(UnknownFormatError, match="Upgrade"):
            new_tenant(empty)


def test_writers_of_one_owner_and_of_many_lose_nothing(postgres: str) -> None:
    with closing(new_state(postgres)) as state:

        def write(writer: int) -> None:
            store = state.threads(Principal(f"user{writer % 3}"))
            for number in range(8):
                store.apply(ThreadChange(f"t{writer % 2}", items=[said(f"{writer}-{number}")]))

        with ThreadPoolExecutor(9) as pool:
            list(pool.map(write, range(9)))

        for user in range(3):
            store = state.threads(Principal(f"user{user}"))
            ids = {item.id for thread in ("t0", "t1") for item in store.history(thread)}
            assert ids == {f"{writer}-{number}" for writer in range(9) if writer % 3 == user for number in range(8)}
        numbers: dict[int, list[int]] = {}
        for owner, seq, *_ in feed_of(state.database):
            numbers.setdefault(owner, []).append(seq)
        assert list(numbers.values()) == [list(range(1, 25))] * 3
        state.verify()


def test_who_follows_a_feed_misses_nothing_while_many_write(postgres: str) -> None:
    with closing(new_state(postgres)) as state:
        ended, seen = threading.Event(), list[int]()
        query = "SELECT seq FROM change WHERE tenant = :tenant AND seq > :after ORDER BY seq"

        def newer(last: int, own: Connection) -> list[int]:
            own.act_as(None)
            return [row[0] for row in own.execute(query, {"tenant": own.tenant, "after": last})]

        def follow() -> None:
            while True:
                is_last = ended.is_set()
                last = seen[-1] if seen else 0
                seen.extend(state.database.read(partial(newer, last)))
                if is_last:
                    return

        def write(writer: int) -> None:
            for number in range(15):
                state.threads(LOCAL).apply(ThreadChange(f"t{writer}", items=[said(f"{writer}-{number}")]))

        with ThreadPoolExecutor(7) as pool:
            follower = pool.submit(follow)
            list(pool.map(write, range(6)))
            ended.set()
            follower.result()
        assert seen == list(range(1, 91))


@pytest.fixture
def short() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:  # the path of a socket is short
        yield Path(folder)


@pytest.mark.parametrize("forward", [True, False])
def test_a_write_whose_commit_was_cut_off_is_stored_once(postgres: str, short: Path, forward: bool) -> None:
    with closing(new_tenant(postgres, f"cut {forward}")) as direct:
        is_ready: list[int] = []
        with cutting(postgres, short, lambda data: bool(is_ready) and is_commit(data), forward=forward) as (url, cuts):
            database = TenantDatabase(url, f"cut {forward}")
            with closing(StateDatabase(database=database)) as state:
                ran: list[int] = []

                def work(own: Connection) -> int:
                    ran.append(1)
                    database.notify(own, 0, "noun", "key")
                    return len(ran)

                is_ready.append(1)
                assert database.write(work) == len(ran)
                assert (cuts, len(ran)) == ([1], 1 if forward else 2)
                assert state.database.binding == f"cut {forward}"
        query = "SELECT count(*) FROM change WHERE tenant = :tenant"
        assert direct.read(lambda own: own.execute(query, {"tenant": own.tenant}).fetchone()) == (1,)


@pytest.mark.parametrize("forward", [True, False])
def test_a_block_whose_commit_was_cut_off_says_truly_whether_it_is_stored(
    postgres: str,
    short: Path,
    forward: bool,
) -> None:
    name = f"cut block {forward}"
    with closing(StateDatabase(database=new_tenant(postgres, name))) as direct:
        is_ready: list[int] = []
        with (
            cutting(postgres, short, lambda data: bool(is_ready) and is_commit(data), forward=forward) as (url, _),
            closing(StateDatabase(database=TenantDatabase(url, name))) as state,
            ExitStack() as expected,
        ):
            if not forward:
                expected.enter_context(pytest.raises(DatabaseUnavailableError, match="nothing of this step was stored"))
            with state.transaction():
                state.threads(LOCAL).apply(ThreadChange("t", items=[said("one")]))
                is_ready.append(1)
        assert len(direct.threads(LOCAL).history("t")) == int(forward)


@pytest.mark.parametrize("is_block", [True, False])
def test_what_may_be_stored_by_a_server_that_went_away_is_not_said_to_be_lost(
    postgres: str, short: Path, is_block: bool
) -> None:
    name = f"away {is_block}"
    with closing(StateDatabase(database=new_tenant(postgres, name))) as direct:
        is_ready: list[int] = []

        def last(data: bytes) -> bool:
            if is_ready and is_commit(data):
                (short / ".s.PGSQL.5432").unlink()  # nobody connects any more
                return True
            return False

        with (
            cutting(postgres, short, last, forward=True) as (url, _),
            closing(StateDatabase(database=TenantDatabase(url, name, timeout=1.0))) as state,
        ):
            is_ready.append(1)
            with (
                pytest.raises(DatabaseUnavailableError, match="it is not known whether it was; look before"),
                state.transaction() if is_block else nullcontext(),
            ):
                state.threads(LOCAL).apply(ThreadChange("t", items=[said("one")]))
        assert len(direct.threads(LOCAL).history("t")) == 1


def test_work_whose_key_exists_is_run_again_a_few_times_and_not_for_long(postgres: str) -> None:
    with closing(new_tenant(postgres)) as database:
        ran: list[int] = []

        def add(own: Connection) -> None:
            ran.append(1)
            own.execute("INSERT INTO binding (tenant, value) VALUES (:tenant, 'another')", {"tenant": own.tenant})

        began = time.monotonic()
        with pytest.raises(StorageError, match="duplicate key"):
            database.write(add)
        assert 2 <= len(ran) <= 6
        assert time.monotonic() - began < 5


def test_who_loses_the_race_for_a_key_sees_what_the_winner_stored(postgres: str) -> None:
    with closing(new_tenant(postgres, "race")) as one, closing(new_tenant(postgres, "race")) as other:
        key = {"tenant": one.tenant}
        find = "SELECT token FROM lease WHERE tenant = :tenant AND name = 'race'"
        ran: list[int] = []

        def added(own: Connection, rival: TenantDatabase | None = None) -> int:
            ran.append(1)
            if (row := own.execute(find, key).fetchone()) is not None:
                return int(row[0])
            if rival is not None:
                rival.write(added)
            own.execute("INSERT INTO lease (tenant, name, token) VALUES (:tenant, 'race', 7)", key)
            return 0

        assert one.write(lambda own: added(own, other)) == 7
        assert len(ran) == 3


def test_connections_that_the_server_ended_are_replaced(postgres: str) -> None:
    with closing(new_state(postgres)) as state:
        state.threads(LOCAL).apply(ThreadChange("t", items=[said("one")]))
        with psycopg.connect(postgres, autocommit=True) as raw:
            ours = "usename = current_user AND pid <> pg_backend_pid()"
            raw.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}")

        state.threads(LOCAL).apply(ThreadChange("t", items=[said("two")]))
        assert [item.id for item in state.threads(LOCAL).history("t")] == ["one", "two"]


def test_a_server_that_is_away_is_one_sentence_without_the_password(tmp_path: Path) -> None:
    for url in (
        f"postgresql://ada:sesame@/prompts?host={tmp_path}",
        "postgresql://ada:sesame@127.0.0.1:1/prompts?connect_timeout=1",
        "postgresql://ada:sesame@[broken/prompts?nonsense=sesame",
    ):
        with pytest.raises(PromptuaryError, match=r"does not answer|not an address") as caught:
            TenantDatabase(url, "x", timeout=0.5)
        told: list[str] = []
        error: BaseException | None = caught.value
        while error is not None:
            told.append(repr(error))
            error = error.__cause__
        assert not re.search("sesame", " ".join(told))


def test_a_lock_has_one_holder_and_one_that_was_overtaken_writes_nothing(postgres: str) -> None:
    name = "locks"
    with (
        closing(StateDatabase(database=new_tenant(postgres, name))) as one,
        closing(StateDatabase(database=new_tenant(postgres, name))) as other,
        one.answering(LOCAL, "t"),
    ):
        with pytest.raises(LockTimeoutError), other.database.lock(next(iter(one.database._held))):  # type: ignore[attr-defined]
            pass
        one.threads(LOCAL).apply(ThreadChange("t", items=[said("mine")]))
        expire = "UPDATE lease SET until = now() - interval '1 second' WHERE tenant = :tenant"
        other.database.write(lambda own: own.execute(expire, {"tenant": own.tenant}))
        with other.answering(LOCAL, "t"):
            other.threads(LOCAL).apply(ThreadChange("t", items=[said("theirs")]))
            with pytest.raises(ConflictError, match="took over"):
                one.threads(LOCAL).apply(ThreadChange("t", items=[said("late")]))
    with closing(StateDatabase(database=new_tenant(postgres, name))) as third, third.answering(LOCAL, "t"):
        assert [item.id for item in third.threads(LOCAL).history("t")] == ["mine", "theirs"]


def test_a_lock_that_is_held_is_renewed(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_LEASE", 0.4)
    monkeypatch.setattr(driver, "_HEARTBEAT", 0.05)
    with closing(new_tenant(postgres, "renewed")) as one, closing(new_tenant(postgres, "renewed")) as other:
        query = "SELECT pg_sleep(0.6)"
        with one.lock("it"):
            other.read(lambda own: own.execute(query).fetchone())
            with pytest.raises(LockTimeoutError), other.lock("it"):
                pass
        with other.lock("it") as token:
            assert token == 2


def test_one_workspace_sees_nothing_of_another(postgres: str) -> None:
    with closing(new_state(postgres)) as one, closing(new_state(postgres)) as other:
        one.threads(LOCAL).apply(ThreadChange("t", items=[said("one")]))
        other.threads(LOCAL).apply(ThreadChange("t", items=[said("one", "other words")]))

        assert [item.content for item in other.threads(LOCAL).history("t")] == ["other words"]
        assert len(one.threads(LOCAL).threads()) == 1


def test_somebody_who_holds_a_row_for_too_long_is_not_waited_for_forever(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_LOCK_TIMEOUT", 1)
    with closing(new_state(postgres)) as state:
        state.threads(LOCAL).apply(ThreadChange("t", items=[said("one")]))
        with state.transaction(), ThreadPoolExecutor(1) as pool:
            store = state.threads(LOCAL)
            store.apply(ThreadChange("t", items=[said("two")]))
            waits = pool.submit(store.apply, ThreadChange("t", items=[said("three")]))
            with pytest.raises(StorageError, match="in use by others for too long"):
                waits.result()
        assert [item.id for item in state.threads(LOCAL).history("t")] == ["one", "two"]
