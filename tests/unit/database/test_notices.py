"""Commits are heard of as they happen, where notices arrive; elsewhere the server is asked now and then."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import psycopg
import pytest

from promptuary.database import listening
from promptuary.database import postgres as driver
from promptuary.database.listening import Listener
from promptuary.database.port import Connection
from promptuary.database.tenant import TenantDatabase
from tests.postgres import new_tenant


def tell(database: TenantDatabase, *keys: str) -> None:
    with database.transaction():
        for key in keys:
            database.write(lambda own, key=key: database.notify(own, 0, "noun", key))  # type: ignore[misc]


def until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def direct(postgres: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(postgres, autocommit=True, prepare_threshold=None) as raw:
        if not listening._is_direct(raw):
            pytest.skip("a pooler stands in between")
        yield raw


def test_a_transaction_sends_one_notice_with_a_number_to_its_workspace(
    postgres: str, direct: psycopg.Connection[tuple[object, ...]]
) -> None:
    with closing(new_tenant(postgres)) as one, closing(new_tenant(postgres)) as other:
        direct.execute(f'LISTEN "{driver.channel(one.tenant)}"')
        tell(one, "a secret", "b", "c")
        tell(other, "d")
        one.write(lambda own: own.execute("SELECT 1"))
        with suppress(ZeroDivisionError), one.transaction():
            one.write(lambda own: one.notify(own, 0, "noun", "e"))
            raise ZeroDivisionError
        tell(one, "f")
        heard = [notice.payload for notice in direct.notifies(timeout=10, stop_after=2)]
    assert heard == ["3", "4"]


@pytest.mark.usefixtures("direct")
def test_who_listens_asks_the_server_nothing_and_hears_of_its_own_workspace_only(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(new_tenant(postgres)) as one, closing(new_tenant(postgres)) as other:
        until(lambda: one.version() and one._server.listener.heard(driver.channel(one.tenant)))
        reads: list[int] = []
        read = TenantDatabase.read

        def counted(self: TenantDatabase, work: Callable[[Connection], object], /) -> object:
            reads.append(1)
            return read(self, work)

        monkeypatch.setattr(TenantDatabase, "read", counted)
        before = one.version()
        tell(other, "theirs")
        assert one.version() == before
        tell(one, "ours")
        until(lambda: one.version() != before)
        assert not reads


@pytest.mark.usefixtures("direct")
def test_what_was_said_while_nobody_could_listen_is_noticed(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_RETRY", 0.1)
    with closing(new_tenant(postgres)) as one:
        heard = one._server.listener.heard
        until(lambda: heard(driver.channel(one.tenant)))
        before = one.version()
        with psycopg.connect(postgres, autocommit=True) as raw:
            ours = "query LIKE 'LISTEN%' OR query = 'SELECT 1'"
            raw.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}")
        until(lambda: one.version() != before)
        until(lambda: heard(driver.channel(one.tenant)))
        assert one.version() != before


def test_behind_a_pooler_the_server_is_asked_now_and_then(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_is_direct", lambda _: False)
    monkeypatch.setattr(driver, "_POLL", 0.3)
    with closing(new_tenant(postgres)) as one:
        monkeypatch.setattr(one._server, "listener", Listener(postgres))
        began, before, asked = time.monotonic(), one.version(), 0
        read = TenantDatabase.read

        def counted(self: TenantDatabase, work: Callable[[Connection], object], /) -> object:
            nonlocal asked
            asked += 1
            return read(self, work)

        monkeypatch.setattr(TenantDatabase, "read", counted)
        tell(one, "ours")
        until(lambda: one.version() != before)
        assert asked <= 1 + (time.monotonic() - began) / 0.3
