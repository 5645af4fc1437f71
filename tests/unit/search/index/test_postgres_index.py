"""The index in PostgreSQL: what only it does, beside the suites that every index passes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from math import isclose
from pathlib import Path

import pytest

pytest.importorskip("turbovec")

from promptuary.base.principals import Owner
from promptuary.database.port import Connection
from promptuary.database.tenant import TenantDatabase
from promptuary.search.index.index import DiskIndex
from promptuary.search.index.postgres import vectors as table_vectors
from promptuary.search.index.postgres.index import PostgresIndex, drop_indexes
from promptuary.search.index.postgres.tables import QUERIES
from promptuary.search.query import parse
from promptuary.search.values import Chunk, Filters
from tests.architecture.source import PACKAGE
from tests.in_memory_index import InMemoryVectorStore
from tests.postgres import new_tenant
from tests.suites.index import (
    EMBEDDER,
    HERE,
    embed_query,
    embedded,
    file,
    filled,
    found,
    numbers,
    put,
    writing,
)

ADA, BOB = Owner("user", "ada", ""), Owner("user", "bob", "")
Open = Callable[..., PostgresIndex]


@pytest.fixture
def tenant(postgres: str) -> Iterator[str]:
    """Return the binding of a workspace of its own."""
    with closing(new_tenant(postgres)) as made:
        yield made.binding or ""


@pytest.fixture
def open_index(postgres: str, tenant: str) -> Iterator[Open]:
    """Return what opens an index of that workspace, as one of several servers does."""
    with ExitStack() as opened:

        def opener(
            owner: Owner | None = ADA, name: str = "notes", store: InMemoryVectorStore | None = None
        ) -> PostgresIndex:
            database = TenantDatabase(postgres, tenant)
            embedder = EMBEDDER if store else None
            index = PostgresIndex(database, name, "recipe", owner=owner, store=store, embedder=embedder)
            return opened.enter_context(closing(index))

        yield opener


def count(index: PostgresIndex, table: str, what: str = "count(*)") -> int:
    def work(own: Connection) -> int:
        own.act_as(None)
        query = f"SELECT {what} FROM {table} WHERE tenant = :tenant"
        return int(own.execute(query, {"tenant": own.tenant}).fetchone()[0])

    return index._database.read(work)


def test_what_one_server_writes_another_finds(open_index: Open) -> None:
    one, other = open_index(), open_index()
    assert found(other, "alpha") == []
    filled(one, a="alpha")
    assert found(other, "alpha") == [("a", "alpha")]
    filled(other, b="alpha beta")

    assert found(one, "alpha") == [("a", "alpha"), ("b", "alpha beta")]


def test_one_server_writes_at_a_time(open_index: Open) -> None:
    one, other = open_index(), open_index()
    with writing(one), other.writing() as second:
        assert second is None


def test_an_owner_finds_nothing_of_another_and_is_ranked_by_own_words_alone(open_index: Open) -> None:
    ada, bob = open_index(ADA), open_index(BOB)
    texts = {f"n{number}": "alpha beta" if number % 3 else "beta gamma" for number in range(30)}
    filled(ada, **texts)
    before = list(ada.lexical(parse("alpha gamma"), 100))
    filled(bob, **{f"b{number}": "alpha secret" for number in range(60)})

    assert list(ada.lexical(parse("alpha gamma"), 100)) == before
    assert found(ada, "secret") == found(bob, "gamma") == []
    assert ada.respelled(parse("secrte")).respelled == ()


def test_segments_are_merged_after_writes_and_what_is_gone_is_gone_from_them(open_index: Open) -> None:
    index = open_index()
    for number in range(12):
        filled(index, **{f"n{number}": f"alpha word{number}"})
    with writing(index) as writer:
        writer.drop(HERE, [f"n{number}" for number in range(6)])
        writer.move(HERE, "n7", file("moved", "alpha word7"))
    before = numbers(index, "alpha word7 moved")
    index.close()

    index = open_index()
    assert count(index, "index_segment") < 9
    assert numbers(index, "alpha word7 moved") == before
    assert [path for path, _ in found(index, "alpha")] == [
        "moved",
        *sorted(f"n{number}" for number in (6, 8, 9, 10, 11)),
    ]
    assert count(index, "index_dead") == 0
    assert count(index, "index_posting", "max(cardinality(ids))") == 6
    assert count(index, "index_posting", "sum(chunks)") == count(index, "index_posting", "sum(cardinality(ids))")


def test_what_a_writer_wrote_that_was_killed_is_written_again(
    open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptuary.search.index.postgres.words._SEGMENT", 2)
    index = open_index()
    filled(index, a="alpha")
    with suppress(KeyboardInterrupt), writing(index) as writer:
        for number in range(70):
            put(writer, f"n{number}", "alpha")
        raise KeyboardInterrupt
    assert found(index, "alpha") == [("a", "alpha")]
    assert not index.is_complete()
    filled(index)

    assert index.is_complete()
    assert len(numbers(index, "alpha")) == len(index.files(HERE))


def test_a_rebuild_leaves_nothing_of_what_was_there(open_index: Open) -> None:
    store = InMemoryVectorStore()
    index = open_index(store=store)
    filled(index, a="alpha\nbeta", b="gamma")
    embedded(index, store)
    with writing(index, rebuild=True):
        pass

    tables = ("file", "content", "chunk", "posting", "segment", "vector", "folder", "dead", "pending", "link")
    assert {table: count(index, f"index_{table}") for table in tables} == dict.fromkeys(tables, 0)
    assert count(index, "index_generation") == 1


def test_the_indexes_of_all_owners_are_dropped_by_their_names(open_index: Open) -> None:
    ada, bob, other = open_index(ADA, "notes-1"), open_index(BOB, "notes-2"), open_index(BOB, "experiences-1")
    for index in (ada, bob, other):
        filled(index, a="alpha")
    drop_indexes(ada._database, "notes-", but="notes-2")

    assert [one.exists() for one in (ada, bob, other)] == [False, True, True]


def test_many_vectors_are_found_by_the_approximate_index(open_index: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryVectorStore()
    index = open_index(store=store)
    filled(index, **{f"n{number}": f"alpha{number % 40} beta{number % 7} gamma{number % 11}" for number in range(90)})
    embedded(index, store)
    exact = list(index.nearest(embed_query("alpha3 beta3 gamma3"), 5))
    monkeypatch.setattr(table_vectors, "MOST_EXACT", 80)
    filled(index, last="delta epsilon")
    embedded(index, store)

    assert count(index, "index_generation", "sum(is_large::int)") == 1
    assert count(index, "index_vector", "sum(is_large::int)") == 91
    near = list(index.nearest(embed_query("alpha3 beta3 gamma3"), 5))
    assert [round(one.cosine, 3) for _, one in near] == [round(one.cosine, 3) for _, one in exact]
    ((best, _),) = index.nearest(embed_query("delta epsilon"), 1)
    assert index.chunks([best])[best].path == "last"
    (number,) = [number for number, _, path in index.select(Filters()) if path == "n5"]
    assert len(index.nearest(embed_query("delta"), 5, files=[number])) == 1


def test_a_server_too_busy_for_the_approximate_index_keeps_what_is_written_and_the_next_write_goes_on(
    open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = InMemoryVectorStore()
    index = open_index(store=store)
    monkeypatch.setattr(table_vectors, "MOST_EXACT", 80)
    with monkeypatch.context() as busy:
        busy.setattr(table_vectors, "QUERIES", {**QUERIES, "small_vectors": "SELECT 1 / 0"})
        filled(index, **{f"n{number}": f"alpha{number % 40} beta{number % 7}" for number in range(90)})
        embedded(index, store)
    before = len(index.nearest(embed_query("alpha3 beta3"), 5))
    filled(index, last="delta epsilon")
    embedded(index, store)

    assert before == 5
    assert count(index, "index_vector", "sum(is_large::int)") == 91


def test_it_ranks_as_the_index_on_disk_does(open_index: Open, tmp_path: Path) -> None:
    texts = {path.name: path.read_text("utf-8") for path in sorted(PACKAGE.joinpath("search").glob("*.py"))}
    with closing(DiskIndex(tmp_path, "recipe")) as disk:
        tables = open_index()
        for index in (disk, tables):
            with writing(index) as writer:
                for path, text in texts.items():
                    lines = text.split("\n")
                    starts = range(0, len(lines), 12)
                    chunks = [Chunk(at + 1, min(at + 12, len(lines)), "\n".join(lines[at : at + 12])) for at in starts]
                    writer.put(HERE, file(path, text), text, chunks)
        for query in (
            *("which hits are merged", "SearchQuery limit", "lexical_only", '"of the index"', "conf* embedder"),
            *("vectors of chunks that lack one", "read_policy kind_index", "snake_case names", "rebiuld the indx"),
        ):
            words = disk.respelled(parse(query))
            assert tables.respelled(parse(query)) == words
            ours, theirs = dict(tables.lexical(words, 200)), dict(disk.lexical(words, 200))
            assert ours.keys() == theirs.keys(), query
            assert all(isclose(ours[one], theirs[one], rel_tol=0.002, abs_tol=0.002) for one in ours), query
