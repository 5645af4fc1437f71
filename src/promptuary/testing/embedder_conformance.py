"""The contract of every embedder: subclass ``EmbedderConformance`` and add an ``embedder`` fixture.

    class TestMyEmbedder(EmbedderConformance):
        @pytest.fixture
        def embedder(self):
            ...

The suite does not measure how good the vectors are: that is for a benchmark.
"""
# ruff: noqa: S101 - tests that ship with the package; their names are their sentences

import math
import struct
from functools import partial
from typing import Final

from promptuary.base import concurrency
from promptuary.models.protocols import Embedder

TEXTS: Final = ("How do I open a file?", "Reading a document from disk", "The cat sleeps in the sun.")
STRANGE: Final = ("", " ", "\x00", "\ud800", "😀", "a" * 50_000, "\u2028\r\n", "نص", "文字")
"""Texts that embedders have failed on: empty ones, control characters, lone surrogates, very long ones."""


def numbers(vector: bytes) -> tuple[float, ...]:
    """Return the numbers of a vector: little-endian 32-bit floats."""
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def close(one: bytes, other: bytes) -> bool:
    """Return whether two vectors have the same direction; the batching of texts may change the last digits."""
    return sum(a * b for a, b in zip(numbers(one), numbers(other), strict=True)) > 0.99


class EmbedderConformance:
    """The contract of an ``Embedder``."""

    def test_it_has_a_name_and_a_number_of_dimensions_that_stay(self, embedder: Embedder) -> None:
        before = embedder.id, embedder.dimensions
        embedder.embed(TEXTS[:1], "passage")

        assert before == (embedder.id, embedder.dimensions)
        assert embedder.id
        assert embedder.dimensions > 0

    def test_it_may_be_prepared_at_any_time_and_as_often_as_one_likes(self, embedder: Embedder) -> None:
        embedder.prepare()
        embedder.embed(TEXTS[:1], "query")
        embedder.prepare()

    def test_a_text_gets_one_vector_of_length_one(self, embedder: Embedder) -> None:
        for purpose in ("passage", "query"):
            vectors = embedder.embed(TEXTS, purpose)

            assert [len(vector) for vector in vectors] == [4 * embedder.dimensions] * len(TEXTS)
            assert all(0.99 < math.hypot(*numbers(vector)) < 1.01 for vector in vectors)

    def test_no_texts_get_no_vectors(self, embedder: Embedder) -> None:
        assert list(embedder.embed([], "passage")) == []

    def test_vectors_come_in_the_order_of_their_texts_and_are_the_same_again(self, embedder: Embedder) -> None:
        forwards = embedder.embed(TEXTS, "passage")
        backwards = embedder.embed(TEXTS[::-1], "passage")
        alone = [embedder.embed([text], "passage")[0] for text in TEXTS]

        assert all(map(close, forwards, backwards[::-1]))
        assert all(map(close, forwards, alone))
        assert not close(forwards[0], forwards[2])

    def test_any_text_is_embedded(self, embedder: Embedder) -> None:
        assert [len(vector) for vector in embedder.embed(STRANGE, "passage")] == [4 * embedder.dimensions] * len(
            STRANGE
        )

    def test_it_may_be_called_from_several_threads_at_once(self, embedder: Embedder) -> None:
        expected = embedder.embed(TEXTS, "passage")
        asked = [concurrency.begin(partial(embedder.embed, TEXTS, "passage")) for _ in range(4)]

        assert all(all(map(close, expected, one.result())) for one in asked)
