"""Whatever the candidates are: each has one place, which depends on nothing but their scores."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.models.protocols import Scale
from promptuary.search.index.port import ChunkTraits, Similarity
from promptuary.search.ranking import Candidate, confidence, fuse

WORDS = st.none() | st.floats(0, 64)
SIMILARITY = st.none() | st.builds(Similarity, st.floats(-1, 1), st.floats(-0.2, 0.6), st.floats(-0.5, 0.5))
TRAITS = st.builds(ChunkTraits, st.integers(1, 10_000))
CANDIDATES = st.lists(
    st.builds(Candidate, st.integers(1, 10**9), WORDS, SIMILARITY, WORDS, TRAITS),
    max_size=40,
    unique_by=lambda one: one.chunk,
)
NOTES = CANDIDATES.map(lambda every: [one._replace(spoken=None) for one in every])
TERMS = st.integers(0, 64)


@given(CANDIDATES, TERMS)
def test_every_candidate_is_ranked_once_and_the_best_first(candidates: list[Candidate], terms: int) -> None:
    ranked = fuse(candidates, terms)

    assert sorted(one.chunk for one in ranked) == sorted(one.chunk for one in candidates)
    assert all((-one.score, one.chunk) < (-other.score, other.chunk) for one, other in pairwise(ranked))


@given(CANDIDATES, TERMS, st.randoms(use_true_random=False))
def test_the_order_in_which_candidates_come_changes_nothing(
    candidates: list[Candidate], terms: int, chance: random.Random
) -> None:
    shuffled = list(candidates)
    chance.shuffle(shuffled)

    assert fuse(shuffled, terms) == fuse(candidates, terms)


COMPARED = CANDIDATES.filter(lambda every: any(one.similarity and not one.foreign for one in every))
"""Some are compared by meaning; where none is, words decide, and a candidate without a vector is one as any other."""


@given(COMPARED, st.lists(WORDS, max_size=10), TERMS)
def test_candidates_without_a_vector_change_nothing_for_the_others(
    candidates: list[Candidate], more: list[float | None], terms: int
) -> None:
    added = [Candidate(10**9 + place, score) for place, score in enumerate(more, 1)]
    known = {one.chunk for one in candidates}

    assert [one for one in fuse([*candidates, *added], terms) if one.chunk in known] == fuse(candidates, terms)


@given(NOTES.filter(bool), TERMS, st.floats(0, 100))
def test_more_words_in_common_never_cost_a_place(candidates: list[Candidate], terms: int, more: float) -> None:
    chosen, *others = candidates
    better = chosen._replace(lexical=(chosen.lexical or 0.0) + more)

    before = [one.chunk for one in fuse(candidates, terms)].index(chosen.chunk)
    after = [one.chunk for one in fuse([better, *others], terms)].index(chosen.chunk)
    assert after <= before


@given(CANDIDATES.filter(bool), TERMS, st.floats(0, 1))
def test_a_longer_document_never_gains_a_place(candidates: list[Candidate], terms: int, more: float) -> None:
    chosen, *others = candidates
    longer = chosen._replace(traits=ChunkTraits(chosen.traits.siblings + round(1_000 * more)))

    before = [one.chunk for one in fuse(candidates, terms)].index(chosen.chunk)
    after = [one.chunk for one in fuse([longer, *others], terms)].index(chosen.chunk)
    assert after >= before


HUNDREDTHS = st.integers(-100, 100).map(lambda number: number / 100)
NEAR = st.none() | st.builds(Similarity, HUNDREDTHS, HUNDREDTHS, HUNDREDTHS)


@given(
    st.lists(st.builds(Candidate, st.integers(1, 99), WORDS, NEAR, WORDS, TRAITS), unique_by=lambda one: one.chunk),
    TERMS,
    st.builds(Scale, st.floats(0.5, 2), HUNDREDTHS),
    st.floats(0, 0.9),
)
def test_a_model_whose_cosines_range_less_ranks_and_answers_the_same(
    candidates: list[Candidate], terms: int, scale: Scale, least: float
) -> None:
    def squeezed(one: Similarity) -> Similarity:
        return Similarity(least + (1 - least) * one.cosine, least + (1 - least) * one.usual, (1 - least) * one.typical)

    others = [one._replace(similarity=squeezed(one.similarity) if one.similarity else None) for one in candidates]
    narrow = Scale(scale.factor / (1 - least), least + (1 - least) * scale.unrelated)
    expected, ranked = fuse(candidates, terms, scale=scale), fuse(others, terms, scale=narrow)

    assert {one.chunk: one.score for one in ranked} == pytest.approx({one.chunk: one.score for one in expected})
    in_order = [next(one for one in ranked if one.chunk == each.chunk) for each in expected]
    assert confidence(in_order, others, 1_000, 3) == pytest.approx(confidence(expected, candidates, 1_000, 3), abs=1e-9)
