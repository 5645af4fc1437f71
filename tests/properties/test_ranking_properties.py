"""Whatever the candidates are: each has one place, which depends on nothing but their scores."""

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from promptuary.search.ranking import Candidate, fuse

BM25 = st.none() | st.floats(0, 200)
COSINE = st.none() | st.floats(-1, 1)
CANDIDATES = st.lists(
    st.builds(Candidate, st.integers(1, 10**9), BM25, COSINE, st.booleans()),
    max_size=40,
    unique_by=lambda one: one.chunk,
)
PROSE = CANDIDATES.map(lambda every: [one._replace(is_code=False) for one in every])
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


@given(CANDIDATES, st.lists(st.tuples(BM25, st.booleans()), max_size=10), TERMS)
def test_candidates_without_a_vector_change_nothing_for_the_others(
    candidates: list[Candidate], more: list[tuple[float | None, bool]], terms: int
) -> None:
    added = [Candidate(10**9 + place, score, None, code) for place, (score, code) in enumerate(more, 1)]
    known = {one.chunk for one in candidates}

    assert [one for one in fuse([*candidates, *added], terms) if one.chunk in known] == fuse(candidates, terms)


@given(CANDIDATES, TERMS)
def test_candidates_without_a_vector_stand_in_the_order_of_their_words(candidates: list[Candidate], terms: int) -> None:
    words = {one.chunk: one.lexical or 0.0 for one in candidates if one.cosine is None}
    placed = [words[one.chunk] for one in fuse(candidates, terms) if one.chunk in words]

    # Scores are sums: a difference that is too small to be seen in one decides nothing.
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(placed))


@given(PROSE.filter(bool), TERMS, st.floats(0, 100))
def test_more_words_in_common_never_cost_a_place(candidates: list[Candidate], terms: int, more: float) -> None:
    chosen, *others = candidates
    better = chosen._replace(lexical=(chosen.lexical or 0.0) + more)

    before = [one.chunk for one in fuse(candidates, terms)].index(chosen.chunk)
    after = [one.chunk for one in fuse([better, *others], terms)].index(chosen.chunk)
    assert after <= before


@given(CANDIDATES, TERMS)
def test_code_never_makes_words_count_for_more(candidates: list[Candidate], terms: int) -> None:
    prose = {one.chunk: one.score for one in fuse([one._replace(is_code=False) for one in candidates], terms)}

    assert all(one.score <= prose[one.chunk] for one in fuse(candidates, terms))
