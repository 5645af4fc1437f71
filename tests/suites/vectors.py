"""The contract of every vector store, as tests: subclass the suite and add its fixture.

    class TestMyVectors(VectorStoreConformance):
        @pytest.fixture
        def vectors(self, tmp_path):
            ...

Each test gets a new, empty store.
"""

import hashlib
import struct
from collections.abc import Sequence
from math import isclose

from promptuary.search.index.port import VectorStore
from promptuary.testing.word_embedder import unit_vector


class VectorStoreConformance:
    """The contract of a ``VectorStore``."""

    def test_an_empty_store_has_nothing(self, vectors: VectorStore) -> None:
        assert dict(vectors.get("e", [sha("a")])) == dict(vectors.get("e", [])) == {}
        assert vectors.keep_only("e", [sha("a")]) == 0

    def test_vectors_come_back_nearly_as_they_were_by_embedder_and_hash(self, vectors: VectorStore) -> None:
        one, other = unit_vector(0.1, 0.7, -0.3, 0.2), unit_vector(1, 2, 3, 4, 5, 6)
        vectors.put("e", {sha("a"): one, sha("b"): unit_vector(1, 0, 0, 0)})
        vectors.put("f", {sha("a"): other})

        assert list(vectors.get("e", [sha("a"), sha("c")])) == [sha("a")]
        assert _is_near(vectors.get("e", [sha("a")])[sha("a")], one)
        assert _is_near(vectors.get("f", [sha("a")])[sha("a")], other)
        assert dict(vectors.get("g", [sha("a")])) == {}

    def test_a_vector_that_is_put_again_replaces_the_first(self, vectors: VectorStore) -> None:
        vectors.put("e", {sha("a"): unit_vector(1, 0)})
        vectors.put("e", {sha("a"): unit_vector(0, 1)})

        assert _is_near(vectors.get("e", [sha("a")])[sha("a")], unit_vector(0, 1))

    def test_nothing_may_be_put(self, vectors: VectorStore) -> None:
        vectors.put("e", {})

        assert dict(vectors.get("e", [sha("a")])) == {}

    def test_only_the_vectors_that_are_named_are_kept_and_those_of_others_stay(self, vectors: VectorStore) -> None:
        vectors.put("e", {sha(name): unit_vector(1, 0) for name in "abc"})
        vectors.put("f", {sha("a"): unit_vector(1, 0)})

        assert vectors.keep_only("e", iter([sha("b"), sha("d")])) == 2
        assert list(vectors.get("e", [sha(name) for name in "abcd"])) == [sha("b")]
        assert list(vectors.get("f", [sha("a")])) == [sha("a")]

    def test_the_vectors_of_a_text_are_removed_whichever_embedder_made_them(self, vectors: VectorStore) -> None:
        for embedder in "ef":
            vectors.put(embedder, {sha(name): unit_vector(1, 0) for name in "abc"})

        assert vectors.remove([sha("a"), sha("b"), sha("a"), sha("d")]) == 4
        assert [list(vectors.get(one, [sha(name) for name in "abcd"])) for one in "ef"] == [[sha("c")]] * 2
        assert vectors.remove([sha("a")]) == vectors.remove([]) == 0

    def test_thousands_are_asked_for_and_kept_at_once(self, vectors: VectorStore) -> None:
        many = {sha(str(number)): unit_vector(number + 1, 1) for number in range(2_500)}
        vectors.put("e", many)

        assert vectors.get("e", list(many)).keys() == many.keys()
        assert vectors.keep_only("e", many) == 0


def sha(text: str) -> str:
    """Return a hash under which a vector is stored."""
    return hashlib.sha256(text.encode()).hexdigest()


def _numbers(vector: bytes) -> Sequence[float]:
    return [number for (number,) in struct.iter_unpack("<f", vector)]


def _is_near(one: bytes, other: bytes) -> bool:
    pairs = zip(_numbers(one), _numbers(other), strict=True)
    return all(isclose(a, b, abs_tol=0.002) for a, b in pairs)
