"""Everything of a workspace is copied from any database to any other, row for row, and a copy can be continued."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import pytest

from promptuary.base.errors import ConflictError, PromptuaryError, SourceInUseError, StorageError, TargetInUseError
from promptuary.base.principals import LOCAL
from promptuary.database import transfer
from promptuary.database.binding import Bound, BoundDatabase
from promptuary.database.port import Connection, Row
from promptuary.database.tenant import TenantDatabase
from promptuary.database.transfer import Copy, Digest, Table, digests, tables, target_state
from promptuary.maintenance.database_migration import copy_locked, locked
from promptuary.state import StateDatabase
from tests.generated_store import ODD, STATE, add_odd_rows, empty_tables, fill
from tests.postgres import new_tenant

_names = count()


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Bound]:
    """Open a database with rows in every table, of several owners."""
    (tmp_path / "filled").mkdir()
    fill(tmp_path / "filled", turns=1)
    with closing(StateDatabase(tmp_path / "filled" / STATE)) as state:
        add_odd_rows(state)
        yield state.database


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bound]:
    """Open an empty database of either kind."""
    if request.param == "sqlite":
        made: Bound = BoundDatabase(tmp_path / "target.db")
    else:
        made = TenantDatabase(request.getfixturevalue("postgres"), f"target {next(_names)}")
    with closing(made):
        yield made


def copy(source: Bound, target: Bound, *, replace: bool = False) -> transfer.Digests:
    one = Copy(source, target)
    copied = one.run(replace=replace)
    one.finish("bound")
    return copied


def test_every_table_of_the_schema_but_the_binding_is_copied_and_keys_begin_with_the_tenant(tmp_path: Path) -> None:
    def names(own: Connection) -> set[str]:
        return {row[0] for row in own.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    with closing(BoundDatabase(tmp_path / "state.db")) as state:
        assert {table.name for table in tables()} == state.read(names) - {"binding"}
    assert [table.name for table in tables() if not table.key] == ["tenant"]


def test_rows_of_every_table_arrive_as_they_were_there_and_back(source: Bound, target: Bound, tmp_path: Path) -> None:
    before = source.read(digests)
    assert not empty_tables(before)

    assert copy(source, target) == before
    assert target.read(digests) == source.read(digests) == before
    with closing(BoundDatabase(tmp_path / "back.db")) as back:
        copy(target, back)
        assert back.read(digests) == before
        rows = "SELECT * FROM writeback_turn ORDER BY owner, turn"
        assert back.read(lambda own: own.execute(rows).fetchall()) == source.read(
            lambda own: own.execute(rows).fetchall()
        )


def test_from_one_server_to_another_tenant_rows_keep_all_but_the_tenant(source: Bound, postgres: str) -> None:
    with closing(new_tenant(postgres)) as one, closing(new_tenant(postgres)) as other:
        copied = copy(source, one)
        assert copy(one, other) == copied == other.read(digests)


def test_numbers_that_sqlite_cannot_store_arrive_as_it_stores_them(
    source: Bound, postgres: str, tmp_path: Path
) -> None:
    odd = "UPDATE writeback_turn SET due = CASE WHEN place % 2 = 0 THEN '-0'::float8 ELSE 'NaN' END WHERE owner = 9"
    with closing(new_tenant(postgres)) as server, closing(BoundDatabase(tmp_path / "back.db")) as back:
        copy(source, server)

        def change(own: Connection) -> None:
            own.act_as(None)
            own.execute(odd)

        server.write(change)
        copy(server, back)
        found = back.read(lambda own: own.execute("SELECT DISTINCT due FROM writeback_turn WHERE owner = 9").fetchall())
        assert set(found) == {(None,), (0.0,)}


def test_every_table_that_only_postgresql_has_can_be_made_again(postgres: str) -> None:
    every = "SELECT relname FROM pg_class WHERE relnamespace = 'promptuary'::regnamespace AND relkind = 'r'"
    with closing(new_tenant(postgres)) as server:
        names = {row[0] for row in server.read(lambda own: own.execute(every).fetchall())}

    others = {name for name in names if not name.startswith("index_")}  # an index is made again from the files
    assert others - {table.name for table in tables()} == {"binding", "migration", "written"}


@pytest.mark.parametrize("table", ["tenant", "content", "brought_note", "writeback_turn"])
def test_a_row_that_differs_in_one_value_is_noticed(source: Bound, table: str) -> None:
    change = {
        "tenant": "UPDATE tenant SET owners = owners + 1",
        "content": "UPDATE content SET body = body || x'00' WHERE rowid = 1",
        "brought_note": "UPDATE brought_note SET path = 'another' WHERE path = ''",
        "writeback_turn": "UPDATE writeback_turn SET due = 10.000000000000002 WHERE due = 10.0",
    }
    before = source.read(digests)
    source.write(lambda own: own.execute(change[table]))

    after = source.read(digests)
    assert {name for name in before if before[name] != after[name]} == {table}
    assert before[table].rows == after[table].rows


def test_the_order_of_rows_does_not_matter_and_their_number_does() -> None:
    rows = [(1, text) for text in ODD if "\ud800" not in text]

    assert Digest().add(rows) == Digest().add(rows[3:]).add(rows[:3])
    assert Digest().add(rows) != Digest().add([*rows, rows[0], rows[0]])
    assert Digest().add([(1, "1")]) != Digest().add([("1", 1)]) != Digest().add([(b"1", 1)])


class StoppedError(Exception):
    """The copy is broken off."""


class Counted(Copy):
    """A copy that counts the rows that it adds."""

    sent = 0

    def _add(self, own: Connection, *, table: Table, rows: Sequence[Row]) -> None:
        self.sent += len(rows)
        super()._add(own, table=table, rows=rows)


def broken_off(source: Bound, target: Bound, after: int) -> int:
    """Begin a copy, and break it off after some rows; return how many there were."""
    seen = 0

    def on_rows(rows: int) -> None:
        nonlocal seen
        seen += rows
        if seen >= after:
            raise StoppedError

    with suppress(StoppedError):
        Copy(source, target, on_rows).run()
    return seen


@pytest.mark.parametrize("page", [1, 7, 2_000])
def test_a_copy_that_is_broken_off_again_and_again_ends_as_if_it_was_not(
    source: Bound, target: Bound, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(transfer, "_MAX_PAGE", page)
    monkeypatch.setattr(transfer, "_FIRST_PAGE", page)
    total = source.read(transfer.count_rows)
    for after in (1, total // 3, total // 2, total - 1, total):
        broken_off(source, target, after)
        assert target_state(source, target) == "continued"
        with pytest.raises(StorageError, match="migration to it was not completed"):
            target.check_complete(target.binding)

    one = Counted(source, target)
    assert one.run() == source.read(digests)
    assert one.sent < total / 3  # only what was missing
    one.finish("bound")
    assert target.binding == "bound"
    assert target.read(digests) == source.read(digests)
    assert target_state(source, target) == "same"


def test_if_the_source_has_changed_since_a_copy_was_broken_off_the_copy_begins_anew(
    source: Bound, target: Bound
) -> None:
    broken_off(source, target, source.read(transfer.count_rows))
    source.write(lambda own: own.execute("DELETE FROM vector WHERE owner = 0"))
    source.write(lambda own: own.execute("UPDATE tenant SET owners = 77"))

    assert copy(source, target) == source.read(digests) == target.read(digests)


def test_what_a_workspace_has_is_not_replaced_unasked(source: Bound, target: Bound, tmp_path: Path) -> None:
    with closing(StateDatabase(tmp_path / "other.db")) as other:
        other.experiences(LOCAL)
        other.proposals(LOCAL)
        other.database.bind("other", ["a.md"])
        copy(other.database, target)
        before = target.read(digests)

        with pytest.raises(TargetInUseError, match="has data of this workspace already"):
            Copy(source, target).run()
        assert target.read(digests) == before
        assert target.binding == "bound"
        assert target_state(source, target) == "replaced"
        assert target_state(other.database, target) == "same"

    assert copy(source, target, replace=True) == target.read(digests)


def test_of_two_copies_to_one_place_the_first_stops_when_the_second_begins(source: Bound, target: Bound) -> None:
    first, second = Copy(source, target), Copy(source, target)
    first.run()
    copied = second.run()

    with pytest.raises(ConflictError, match="somebody else copies"):
        first.finish("first")
    second.finish("second")
    assert target.binding == "second"
    assert target.read(digests) == copied


def test_a_copy_that_another_took_over_adds_nothing_more(source: Bound, target: Bound, tmp_path: Path) -> None:
    begun: list[Copy] = []

    def on_rows(_: int) -> None:
        if not begun:
            begun.append(Copy(other, target))
            begun[0].run()

    with closing(BoundDatabase(tmp_path / "filled" / STATE)) as other:
        with pytest.raises(ConflictError, match="somebody else copies"):
            Copy(source, target, on_rows).run()
        begun[0].finish("second")
        assert target.read(digests) == other.read(digests)


def test_the_lock_of_a_source_outlives_the_time_after_which_postgresql_ends_what_is_idle(
    source: Bound, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = iter([0.6] * 7)
    with closing(new_tenant(postgres)) as server, closing(BoundDatabase(tmp_path / "back.db")) as back:
        copied = copy(source, server)
        monkeypatch.setattr("promptuary.database.postgres._IDLE_TIMEOUT", 3)
        assert (
            copy_locked(server, back, "bound", is_replaced=False, progress=lambda *_: time.sleep(next(slow, 0)))
            == copied
        )


def test_a_copy_whose_target_lost_a_row_is_not_used(source: Bound, target: Bound) -> None:
    left = [source.read(transfer.count_rows)]

    def on_rows(rows: int) -> None:
        left[0] -= rows
        if left[0] == 0:
            lose = "DELETE FROM vector WHERE owner = 0 AND tenant = :tenant"
            target.write(lambda own: own.execute(lose, {"tenant": own.tenant}))

    with pytest.raises(StorageError, match="other rows in the table vector"):
        Copy(source, target, on_rows).run()
    assert target_state(source, target) == "continued"


def test_nobody_writes_a_locked_source_and_one_that_is_being_written_is_refused(
    target: Bound, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptuary.database.postgres._LOCK_TIMEOUT", 1)

    def added(own: Connection) -> None:
        own.hold(0)
        own.execute("INSERT INTO brought_note (tenant, path) VALUES (:tenant, 'x')", {"tenant": own.tenant})

    if isinstance(target, TenantDatabase):
        target.make()
        other: Bound = TenantDatabase(target._url, target.expected, timeout=2)
    else:
        assert isinstance(target, BoundDatabase)
        assert target._path is not None
        other = BoundDatabase(target._path, timeout=0.3)
    with closing(other):
        with locked(target), pytest.raises(PromptuaryError, match="in use by"):
            other.write(added)
        other.write(added)
        with (
            locked(target),
            pytest.raises(SourceInUseError, match="Stop the programs that use this workspace"),
            locked(other),
        ):
            pass
