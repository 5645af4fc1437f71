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
    "owners.sql owners": "old conversations of clients are removed for each owner",
    "owners.sql find_owner": "the owner is what is asked for",
    "vectors.sql owners": "vectors that nobody uses any more are removed for each owner",
    "sqlite.sql add_change": "the feed is one list",
    "sqlite.sql changes": "a follower of the feed serves everybody; each entry says whom it is for",
    "sqlite.sql drop_changes": "the feed is one list",
}
"""The queries that find rows of several owners of a workspace, and why."""

ELSEWHERE = {"inbox.sql", "old_format.sql", "tokens.sql"}
"""The queries of other databases, and of the one that was."""

KEY = ("tenant", "owner", "space")


def every_query() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.sql")):
        if not {"schema", "catalog"} & set(path.parts) and path.name not in ELSEWHERE:
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
