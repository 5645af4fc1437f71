"""Vectors last by the hash of what was embedded, beside everything else that the state keeps."""

import hashlib
import sqlite3
import struct
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.errors import PromptuaryError
from promptuary.base.principals import Principal
from promptuary.search.vectors.store import Vectors
from promptuary.threads.records import ThreadChange
from tests.stores import FileStore
from tests.suites.threads import said

if TYPE_CHECKING:
    from promptuary.search.index.port import VectorStore

pytest.importorskip("numpy")


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def packed(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Vectors]:
    with closing(Vectors(tmp_path / "state.db")) as opened:
        yield opened


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vectors]:
    with closing(Vectors(tmp_path_factory.mktemp("state") / "state.db")) as opened:
        yield opened


def test_an_empty_store_knows_nothing(store: Vectors) -> None:
    port: VectorStore = store

    assert (store.get("e", [sha("a")]), store.known("e", [sha("a")]), store.count("e")) == ({}, set(), 0)
    assert (port.get("e", []), port.keep_only("e", [])) == ({}, 0)


def test_what_is_put_is_got_by_its_hash_and_embedder(store: Vectors) -> None:
    store.put("one", {sha("a"): packed(1, 0.5), sha("b"): packed(0, -1)})
    store.put("two", {sha("a"): packed(0.25, 0.25, 0.25)})

    assert store.get("one", [sha("b"), sha("a"), sha("c")]) == {sha("b"): packed(0, -1), sha("a"): packed(1, 0.5)}
    assert store.get("two", [sha("a"), sha("b")]) == {sha("a"): packed(0.25, 0.25, 0.25)}
    assert store.known("one", [sha("a"), sha("c"), sha("a")]) == {sha("a")}
    assert (store.count("one"), store.count("two"), store.count("three")) == (2, 1, 0)


def test_what_is_put_again_takes_the_place_of_what_was(store: Vectors) -> None:
    store.put("e", {sha("a"): packed(1, 0)})
    store.put("e", {sha("a"): packed(0, 1)})

    assert (store.get("e", [sha("a")]), store.count("e")) == ({sha("a"): packed(0, 1)}, 1)


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=40))
def test_a_number_comes_back_to_three_digits(lasting: Vectors, numbers: list[float]) -> None:
    lasting.put("e", {sha("a"): packed(*numbers)})
    found = struct.unpack(f"<{len(numbers)}f", lasting.get("e", [sha("a")])[sha("a")])

    assert found == pytest.approx(numbers, rel=1e-3, abs=1e-6)


def test_vectors_outlast_the_process_and_share_the_file_of_the_state(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(FileStore(path)) as state, closing(Vectors(path)) as store:
        store.put("e", {sha("a"): packed(1)})
        state.apply(ThreadChange("t", items=[said("i")]))
    with closing(Vectors(path)) as store, closing(FileStore(path)) as state:
        assert store.get("e", [sha("a")]) == {sha("a"): packed(1)}
        assert [item.id for item in state.history("t")] == ["i"]
        state.verify()


def test_only_those_vectors_of_an_embedder_are_kept_that_are_wanted(store: Vectors) -> None:
    for name in ("one", "two"):
        store.put(name, {sha(text): packed(1) for text in "abc"})

    assert store.keep_only("two", [sha("a"), sha("a"), sha("never seen")]) == 2
    assert (store.known("two", [sha("a"), sha("b")]), store.count("one")) == ({sha("a")}, 3)
    assert store.keep_only("two", [sha("a")]) == 0
    assert store.keep_only("never used", []) == 0
    assert store.keep_only("two", []) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"abc": packed(1)},
        {"ab": packed(1)},
        {sha("b"): b"123"},
        {sha("b"): b""},
        {sha("b"): packed(float("nan"))},
        {sha("b"): packed(1e9)},
    ],
)
def test_what_is_no_vector_or_no_hash_is_refused_with_all_that_came_along(
    store: Vectors, wrong: dict[str, bytes]
) -> None:
    with pytest.raises(ValueError, match=r"SHA-256|hexadecimal|32-bit|finite"):
        store.put("e", {sha("a"): packed(1)} | wrong)

    assert store.count("e") == 0


def test_a_name_may_be_any_text(store: Vectors) -> None:
    for name in ("", "a'b", "ü", "half \ud800"):
        store.put(name, {sha("a"): packed(1)})

        assert store.known(name, [sha("a")]) == {sha("a")}


def test_a_vector_that_was_changed_behind_our_back_is_told(tmp_path: Path, store: Vectors) -> None:
    store.put("e", {sha("a"): packed(1)})
    with closing(sqlite3.connect(tmp_path / "state.db")) as raw, raw:
        raw.execute("UPDATE vector SET body = x'00'")
    with pytest.raises(PromptuaryError, match="damaged"):
        store.get("e", [sha("a")])


def test_many_may_put_at_once(tmp_path: Path) -> None:
    path = tmp_path / "state.db"

    def put(name: str) -> None:
        with closing(Vectors(path)) as store:
            for number in range(20):
                store.put("e", {sha(f"{name}{number}"): packed(1)})

    workers = [threading.Thread(target=put, args=(name,)) for name in "abcd"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with closing(Vectors(path)) as store:
        assert store.count("e") == 80


def test_vectors_of_owners_are_apart_and_what_is_forgotten_goes_for_all(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    ada, bob = (Principal(name).owner for name in ("ada", "bob"))
    with closing(Vectors(path)) as files, closing(Vectors(path, ada)) as mine, closing(Vectors(path, bob)) as theirs:
        mine.put("e", {sha("a"): packed(1), sha("b"): packed(1)})
        files.put("e", {sha("a"): packed(1)})

        assert (theirs.known("e", [sha("a")]), theirs.count("e")) == (set(), 0)
        assert files.keep_only("e", []) == 1
        assert mine.count("e") == 2
        assert theirs.remove([sha("a")]) == 1
        assert mine.known("e", [sha("a"), sha("b")]) == {sha("b")}
