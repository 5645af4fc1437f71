"""Row-level security: what the queries leave open, the policies of PostgreSQL close; and either wall holds alone."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from promptuary.base.principals import LOCAL, Principal
from promptuary.database import postgres as driver
from promptuary.database import tenant
from promptuary.database.owners import NOBODY, find_owner
from promptuary.database.port import Connection
from promptuary.database.queries import named
from promptuary.database.tenant import TenantDatabase, _of_connection
from promptuary.memory.store.rows import NoteRows
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from tests.architecture.source import PACKAGE
from tests.postgres import as_superuser, as_worker, new_state, new_tenant, without_owners
from tests.stores import thread_state
from tests.suites.experiences import ALL, FAILED
from tests.suites.forgetting import RECALLED, said_everywhere, turn_with
from tests.suites.notes import noted, write
from tests.suites.sessions import ONE as SESSION
from tests.suites.sessions import PINS
from tests.suites.threads import said
from tests.suites.writeback import FIRST, ONE

ADA = Principal("ada")
"""Whose the notes of the suites are."""
EVE = Principal("eve")


def fill(state: StateDatabase, principal: Principal) -> None:
    said_everywhere(state, principal)
    turn = turn_with(RECALLED, number=9)
    state.threads(principal).apply(ThreadChange("t", turn=turn, states=[thread_state("layer", "t", 1, "kept")]))
    state.experiences(principal).add(FAILED)
    state.writeback_queue(principal).add(ONE)
    state.proposals(principal).add(FIRST)
    state.sessions(principal).add(SESSION, PINS)


@pytest.fixture
def state(postgres: str) -> Iterator[StateDatabase]:
    with closing(new_state(postgres)) as made:
        fill(made, LOCAL)
        write(made.notes("agents/default"), noted("mine"))
        NoteRows(made.database, "agents/default", ADA.owner).create("private/project/mine.md", b"mine")
        made.threads(EVE).apply(ThreadChange("hers", items=[said("hers")]))
        yield made


TABLES = """
SELECT relname, relrowsecurity AND relforcerowsecurity, polname IS NOT NULL, owned.attname
FROM pg_class
JOIN pg_attribute AS keyed ON keyed.attrelid = pg_class.oid AND keyed.attname = 'tenant'
LEFT JOIN pg_attribute AS owned ON owned.attrelid = pg_class.oid AND owned.attname IN ('owner', 'reader')
LEFT JOIN pg_policy ON polrelid = pg_class.oid
WHERE relnamespace = 'promptuary'::regnamespace AND relkind = 'r'
"""


def tables(state: StateDatabase) -> list[Any]:
    return state.database.read(lambda own: own.execute(TABLES).fetchall())


def test_every_table_but_the_version_has_a_policy_that_holds_for_its_owner_too(state: StateDatabase) -> None:
    every = "SELECT relname FROM pg_class WHERE relnamespace = 'promptuary'::regnamespace AND relkind = 'r'"
    names = {row[0] for row in state.database.read(lambda own: own.execute(every).fetchall())}

    found = {name for name, is_forced, has_policy, _ in tables(state) if is_forced and has_policy}
    assert names - found == {"migration"}


def test_whoever_acts_finds_no_row_of_another_in_any_table_and_changes_none(state: StateDatabase) -> None:
    owned = [(name, column) for name, _, _, column in tables(state) if column and name not in {"owner", "note_owner"}]

    def numbers(own: Connection, acting: Principal | None) -> dict[str, set[int]]:
        if acting is None:
            own.act_as(None)
        else:
            find_owner(own, acting.owner)
        return {name: {row[0] for row in own.execute(f"SELECT {column} FROM {name}")} for name, column in owned}

    everything = state.database.read(lambda own: numbers(own, None))
    others = {number for found in everything.values() for number in found} - {0, numbers_of(state, EVE)}
    assert {name for name, found in everything.items() if others & found} >= {
        *("content", "thread", "item", "turn", "source", "state", "experience", "proposal", "writeback_turn"),
        *("session", "session_pin", "change", "note", "note_count", "mention"),
    }
    for acting in (EVE, Principal("nobody")):
        found = state.database.read(partial(numbers, acting=acting))
        assert not any(others & some for some in found.values())

    def spoil(own: Connection) -> int:
        find_owner(own, EVE.owner)
        mine = ", ".join(map(str, others))
        return sum(own.execute(f"DELETE FROM {name} WHERE {column} IN ({mine})").rowcount for name, column in owned)

    assert state.database.write(spoil) == 0
    assert state.database.read(lambda own: numbers(own, None)) == everything


def numbers_of(state: StateDatabase, principal: Principal) -> int:
    return state.database.read(lambda own: find_owner(own, principal.owner) or NOBODY)


HISTORY = ("note_owner", "note_change", "note_text")
"""Tables of notes whose rows name no reader."""


def history_rows(state: StateDatabase, principal: Principal | None) -> list[int]:
    """Return how many rows of the history of notes one finds who forgets to ask for anything."""

    def count(own: Connection) -> list[int]:
        if principal is None:
            own.act_as(None)
        else:
            find_owner(own, principal.owner)
        return [int(own.execute(f"SELECT count(*) FROM {name}").fetchone()[0]) for name in HISTORY]

    return state.database.read(count)


def test_the_history_of_a_note_is_there_for_who_may_see_the_note_now(state: StateDatabase) -> None:
    journal = state.notes("agents/default")
    assert history_rows(state, EVE) == history_rows(state, Principal("nobody")) == [0, 0, 0]
    assert history_rows(state, ADA) == history_rows(state, None) == [1, 1, 1]

    write(journal, noted("mine"), "second")
    assert history_rows(state, ADA) == [1, 2, 2]
    write(journal, noted("mine", audience="shared"), "third")
    assert history_rows(state, EVE) == [1, 1, 1]  # not what it was before
    assert [change.text for change in journal.view(EVE.owner).changes("mine")] == ["third"]
    write(journal, noted("mine"), "fourth")
    assert history_rows(state, EVE) == [0, 0, 0]
    assert history_rows(state, ADA) == [1, 4, 4]
    assert journal.view(EVE.owner).changes("mine") == ()
    assert len(journal.view(ADA.owner).changes("mine")) == 4


def test_nobody_writes_a_row_for_another(state: StateDatabase) -> None:
    mine = numbers_of(state, LOCAL)

    def forge(own: Connection) -> None:
        find_owner(own, EVE.owner)
        state.database.notify(own, mine, "note", "forged")

    with pytest.raises(Exception, match="row-level security"):
        state.database.write(forge)


def seen(state: StateDatabase, principal: Principal) -> list[Any]:
    """Return what a principal sees through the stores."""
    store = state.threads(principal)
    return [
        *(thread.id for thread in store.threads()),
        *(item.content for thread in ("t", "hers") for item in store.history(thread)),
        *(item.content for item in store.said("t")),
        *store.turns("t"),
        *store.addresses(),
        *state.experiences(principal).list(ALL),
        *state.writeback_queue(principal).waiting(),
        *state.proposals(principal).all(),
        *state.sessions(principal).all(),
        *state.notes("agents/default").view(principal.owner).headers(),
    ]


def test_queries_that_forget_the_owner_leak_nothing(state: StateDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    before = seen(state, EVE)
    monkeypatch.setattr(driver, "translate", without_owners)

    assert seen(state, EVE) == before
    assert seen(state, Principal("nobody")) == []


def test_without_policies_the_queries_leak_nothing_and_without_both_all_is_open(
    state: StateDatabase, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = seen(state, EVE)
    with closing(StateDatabase(database=TenantDatabase(as_superuser(postgres), str(state.database.binding)))) as alone:
        assert seen(alone, EVE) == before
        assert seen(alone, Principal("nobody")) == []
        monkeypatch.setattr(driver, "translate", without_owners)
        assert len(alone.experiences(EVE).list(ALL)) == len(alone.sessions(EVE).all()) == 1


def test_a_role_that_owns_nothing_can_work_and_cannot_migrate(postgres: str) -> None:
    with closing(StateDatabase(database=new_tenant(as_worker(postgres)))) as state:
        fill(state, LOCAL)
        assert seen(state, EVE) == []
        assert state.database.problems() == []
        with pytest.raises(Exception, match=r"may not do that \(must be owner of table thread\)"):
            state.database.write(lambda own: own.execute("ALTER TABLE thread DISABLE ROW LEVEL SECURITY"))


def test_the_doctor_says_what_the_roles_the_policies_and_the_connection_cost(
    state: StateDatabase, postgres: str
) -> None:
    assert [problem for problem, _ in state.database.problems()] == [
        "the role that works owns the tables, so it could switch row-level security off"
    ]
    state.database.write(lambda own: own.execute("ALTER TABLE thread NO FORCE ROW LEVEL SECURITY"))
    try:
        assert "these tables have no row-level security: thread" in dict(state.database.problems())
    finally:
        state.database.write(lambda own: own.execute("ALTER TABLE thread FORCE ROW LEVEL SECURITY"))
    with closing(TenantDatabase(as_superuser(postgres), str(state.database.binding))) as above:
        assert "row-level security does not hold for this role" in dict(above.problems())


def test_the_doctor_finds_partitions_without_policies_and_tables_that_have_no_partition_for_new_tenants(
    state: StateDatabase,
) -> None:
    def run(*statements: str) -> None:
        state.database.write(lambda own: [own.execute(statement) for statement in statements])

    before = state.database.problems()
    run(
        "CREATE TABLE cut (tenant bigint NOT NULL) PARTITION BY LIST (tenant)",
        "CREATE TABLE cut_one PARTITION OF cut FOR VALUES IN (1)",
        *(f"ALTER TABLE cut {what} ROW LEVEL SECURITY" for what in ("ENABLE", "FORCE")),
        "CREATE POLICY own ON cut USING (true)",
    )
    try:
        assert [problem for problem, _ in state.database.problems() if (problem, _) not in before] == [
            "these tables have no row-level security: cut_one",
            "these tables refuse the rows of a tenant that has no partition: cut",
        ]
        run("DROP TABLE cut_one", "CREATE TABLE cut_rest PARTITION OF cut DEFAULT")
        run(*(f"ALTER TABLE cut_rest {what} ROW LEVEL SECURITY" for what in ("ENABLE", "FORCE")))
        run("CREATE POLICY own ON cut_rest USING (true)")
        assert state.database.problems() == before
    finally:
        run("DROP TABLE cut")


@pytest.mark.parametrize(
    ("address", "is_well"),
    [
        ("postgresql://ada@db.example.com/p", False),
        ("postgresql://ada@db.example.com/p?sslmode=require", False),
        ("postgresql://ada@db.example.com/p?sslmode=verify-full", True),
        ("postgresql://ada@localhost/p", True),
        ("postgresql://ada@/p?host=/run/postgresql", True),
    ],
)
def test_a_connection_to_another_machine_must_check_whom_it_talks_to(address: str, is_well: bool) -> None:
    assert (not list(_of_connection(address))) is is_well


def test_the_doctor_looks_for_pgvector_if_the_index_is_in_the_database(
    state: StateDatabase, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [what for what, _ in state.database.problems(has_vectors=True)] == [
        what for what, _ in state.database.problems()
    ]
    for found, problem in (
        ((None, False), "pgvector is missing, so the index in this database is searched by words only"),
        (("0.7.4", True), "pgvector 0.7.4 is too old: large indexes need 0.8 or newer"),
        (("0.10.0", False), "pgvector was added after the tables were made"),
        (("0.10.0", True), None),
    ):
        version, has_table = found
        query = f"SELECT {'NULL' if version is None else repr(version)}, {has_table}"
        monkeypatch.setattr(tenant, "_QUERIES", {**tenant._QUERIES, "vectors": query})
        told = [what for what, _ in state.database.problems(has_vectors=True) if what.startswith("pgvector")]
        assert [what[: len(problem)] for what in told] == [problem] if problem else told == []


def test_the_doctor_says_that_a_transaction_has_been_open_for_hours(
    state: StateDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant, "_TOO_OLD", -1)  # so that its own is too old
    assert "a transaction has been open for 0 minutes" in " ".join(what for what, _ in state.database.problems())


def test_the_tables_can_be_cut_by_tenant(state: StateDatabase) -> None:
    """What Citus and partitions refuse: a key without the tenant, a sequence, a reference to another tenant's row."""
    problems = """
        SELECT relname, 'no tenant' FROM pg_class
        WHERE relnamespace = 'promptuary'::regnamespace AND relkind IN ('r', 'p') AND NOT EXISTS (
            SELECT 1 FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'tenant' AND attnotnull
        )
        UNION ALL
        SELECT relname, 'no primary key' FROM pg_class
        WHERE relnamespace = 'promptuary'::regnamespace AND relkind IN ('r', 'p') AND NOT EXISTS (
            SELECT 1 FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary
        )
        UNION ALL
        SELECT indexrelid::regclass::text, 'an index that does not begin with the tenant' FROM pg_index
        JOIN pg_class ON pg_class.oid = indrelid
        LEFT JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
        WHERE relnamespace = 'promptuary'::regnamespace AND attname IS DISTINCT FROM 'tenant'
        UNION ALL
        SELECT relname, 'a sequence' FROM pg_class WHERE relnamespace = 'promptuary'::regnamespace AND relkind = 'S'
        UNION ALL
        SELECT relname, 'an identity column' FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'promptuary'::regnamespace AND attidentity <> ''
        UNION ALL
        SELECT conname, 'a reference without the tenant' FROM pg_constraint
        JOIN pg_attribute AS own ON own.attrelid = conrelid AND own.attnum = conkey[1]
        JOIN pg_attribute AS other ON other.attrelid = confrelid AND other.attnum = confkey[1]
        WHERE connamespace = 'promptuary'::regnamespace AND contype = 'f'
            AND (own.attname <> 'tenant' OR other.attname <> 'tenant')
        UNION ALL
        SELECT conname, 'an exclusion' FROM pg_constraint
        WHERE connamespace = 'promptuary'::regnamespace AND contype = 'x'
        UNION ALL
        SELECT tgname, 'a trigger' FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE relnamespace = 'promptuary'::regnamespace AND NOT tgisinternal
    """
    version = {("migration", "no tenant"), ("migration", "no primary key")}  # one row, the same everywhere
    assert set(state.database.read(lambda own: own.execute(problems).fetchall())) == version


def test_no_query_locks_rows_of_several_tenants() -> None:
    for path in PACKAGE.rglob("*.sql"):
        if "schema" not in path.parts:
            for name, query in named(path.read_text("utf-8")).items():
                if any(word in query for word in ("FOR UPDATE", "FOR SHARE", "FOR NO KEY", "FOR KEY", "SKIP LOCKED")):
                    assert "tenant = :tenant" in query, f"{path.name} {name}"
