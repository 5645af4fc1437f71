"""Every query reads and changes the rows of one owner: SQLite says so itself, by how it finds them."""

import re
from collections.abc import Iterator
from contextlib import closing

import pytest

from promptuary.database.port import Connection
from promptuary.database.queries import named
from promptuary.state import StateDatabase
from tests.architecture.source import PACKAGE

OF_EVERYBODY = {
    "contents.sql every_content": "the examination of a workspace compares every text with its hash",
    "forgetting.sql drop_mentions": "a note is forgotten in the prompts of all who saw it",
    "forgetting.sql mentions": "a note is forgotten in the prompts of all who saw it",
    "forgetting.sql states": "a note is forgotten in the states of all who saw it",
    "sources.sql forget_parts": "a note is forgotten in the sources of all who saw it",
    "notes.sql every_owner": "the owner is what is asked for; the space is the key",
    "notes.sql note_owner": "the owner is what is asked for; the space is the key",
    "notes.sql note_owners": "the owners are what is asked for",
    "rows.sql spaces": "all notes of a workspace are moved; where they are is what is asked for",
    "threads.sql has_threads": "whether a workspace was moved to a server is asked for all who are in it",
    "owners.sql owners": "old conversations of clients are removed for each owner",
    "owners.sql find_owner": "the owner is what is asked for",
    "vectors.sql owners": "vectors that nobody uses any more are removed for each owner",
}
"""The queries that find rows of several owners of a workspace, and why."""

ELSEWHERE = {"inbox.sql", "postgres.sql", "tenant.sql", "old_format.sql", "tables.sql", "tokens.sql"}
"""The queries of other databases, and of the one that was."""

DIALECT = ".postgres.sql"
"""The end of the names of files with queries that PostgreSQL needs otherwise."""

KEY = ("tenant", "owner", "space")


def every_query() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.sql")):
        if path.name in ELSEWHERE or path.name.endswith(DIALECT):
            continue
        if not {"schema", "catalog"} & set(path.parts):
            yield from ((f"{path.name} {name}", query) for name, query in named(path.read_text("utf-8")).items())


def found_without_its_key(state: StateDatabase, query: str) -> list[str]:
    """Return how rows are found, where that does not need the tenant and the owner that they have."""
    values = dict.fromkeys(re.findall(r":(\w+)", query), 1)
    short = dict(re.findall(r"\b(?:FROM|JOIN) (\w+) AS (\w+)", query))
    names = {alias: table for table, alias in short.items()}

    def plan(connection: Connection) -> list[str]:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]
        loose = []
        for step in steps:
            match = re.match(r"(?:SCAN|SEARCH) (\w+)", step)
            table = names.get(match[1], match[1]) if match else ""
            # A table with one row for each tenant is found by its number, and a subquery has been looked into.
            if table not in tables or "rowid=?" in step or f") AS {table}" in query:
                continue
            columns = {row[1] for row in connection.execute(f"PRAGMA table_info ({table})")}
            if not all(f"{part}=?" in step for part in KEY if part in columns):
                loose.append(step)
        return loose

    return state.database.read(plan)


@pytest.fixture(scope="module")
def state() -> Iterator[StateDatabase]:
    with closing(StateDatabase()) as made:
        yield made


def test_rows_are_found_by_their_tenant_and_their_owner(state: StateDatabase) -> None:
    loose = {name for name, query in every_query() if found_without_its_key(state, query)}

    assert loose == set(OF_EVERYBODY)


def test_a_query_in_another_dialect_has_the_same_key() -> None:
    for path in PACKAGE.rglob(f"*{DIALECT}"):
        if "catalog" in path.parts:  # ours is a file of one index
            continue
        ours = named(path.with_name(path.name.removesuffix(DIALECT) + ".sql").read_text("utf-8"))
        for name, query in named(path.read_text("utf-8")).items():
            for part in ("tenant = :tenant", "owner = :owner"):
                assert query.count(part) == ours[name].count(part), f"{path.name} {name}"


def test_search_in_the_database_names_the_owner_and_the_generation_of_every_row() -> None:
    every = [
        query
        for name in ("catalog/queries.postgres.sql", "postgres/tables.sql")
        for query in named((PACKAGE / "search" / "index" / name).read_text("utf-8")).items()
    ]
    for name, query in every:
        tables = len(re.findall(r"\b(?:FROM|JOIN|UPDATE) index_", query))
        key: tuple[str, ...] = ("tenant = :tenant", "owner = :owner", "generation = :generation")
        if name in {"current", "retire", "others"}:
            key = ("tenant = :tenant", "owner = :owner", "name = :name")
        elif name == "named":
            key = ("tenant = :tenant",)
        assert all(query.count(part) == tables for part in key), name


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM thread",
        "SELECT name FROM thread WHERE tenant = :tenant",
        "SELECT id FROM thread JOIN item USING (thread) WHERE thread.tenant = 1 AND thread.owner = 2",
        "DELETE FROM session WHERE name = :name",
        "SELECT path FROM note WHERE tenant = :tenant AND reader = 0",
    ],
)
def test_a_query_without_the_key_is_seen(state: StateDatabase, query: str) -> None:
    assert found_without_its_key(state, query)
