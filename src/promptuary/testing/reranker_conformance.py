"""The contract of every reranker: subclass ``RerankerConformance`` and add a ``reranker`` fixture.

    class TestMyReranker(RerankerConformance):
        @pytest.fixture
        def reranker(self):
            ...

The suite does not measure how good the scores are: that is for a benchmark.
"""
# ruff: noqa: S101 - tests that ship with the package; their names are their sentences

import math
from functools import partial

from promptuary.base import concurrency
from promptuary.models.protocols import Reranker
from promptuary.testing.embedder_conformance import STRANGE, TEXTS


class RerankerConformance:
    """The contract of a ``Reranker``."""

    def test_a_text_gets_one_finite_score(self, reranker: Reranker) -> None:
        scores = reranker.rerank("open a file", TEXTS)

        assert len(scores) == len(TEXTS)
        assert all(map(math.isfinite, scores))

    def test_no_texts_get_no_scores(self, reranker: Reranker) -> None:
        assert list(reranker.rerank("open a file", [])) == []

    def test_scores_come_in_the_order_of_their_texts_and_are_the_same_again(self, reranker: Reranker) -> None:
        forwards = reranker.rerank("open a file", TEXTS)
        backwards = reranker.rerank("open a file", TEXTS[::-1])

        assert all(math.isclose(*pair, abs_tol=1e-3) for pair in zip(forwards, backwards[::-1], strict=True))
        assert len(set(forwards)) > 1

    def test_any_text_and_any_question_is_judged(self, reranker: Reranker) -> None:
        assert len(reranker.rerank("open a file", STRANGE)) == len(STRANGE)
        for question in STRANGE:
            assert len(reranker.rerank(question, TEXTS)) == len(TEXTS)

    def test_it_may_be_called_from_several_threads_at_once(self, reranker: Reranker) -> None:
        expected = reranker.rerank("open a file", TEXTS)
        asked = [concurrency.begin(partial(reranker.rerank, "open a file", TEXTS)) for _ in range(4)]

        assert all(
            math.isclose(*pair, abs_tol=1e-3) for one in asked for pair in zip(expected, one.result(), strict=True)
        )
