"""Whatever the candidates are: each has one place, which depends on nothing but their scores."""

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from promptuary.core.ports.index import ChunkTraits, Similarity
from promptuary.search.ranking import Candidate, fuse

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


@given(CANDIDATES.filter(lambda every: any(one.similarity for one in every)), st.lists(WORDS, max_size=10), TERMS)
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
