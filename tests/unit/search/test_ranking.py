"""What the words say and what the meaning says, put on one scale."""

from math import sqrt

import pytest

from promptuary.core.search import Why
from promptuary.search.ranking import CODE, NEAREST, PROSE, Candidate, Ranked, fuse


def order(*candidates: Candidate, terms: int = 1) -> list[int]:
    return [one.chunk for one in fuse(candidates, terms)]


def scores(*candidates: Candidate, terms: int = 1) -> dict[int, float]:
    return {one.chunk: one.score for one in fuse(candidates, terms)}


def test_nothing_is_nothing() -> None:
    assert fuse([], 3) == []


def test_a_score_is_the_cosine_and_a_part_of_what_the_words_say() -> None:
    assert fuse([Candidate(1, 9.0, 0.5)], 4) == [Ranked(1, 0.5 + PROSE * 9.0 / (9 * sqrt(4)), Why(9.0, 0.5))]


def test_a_question_without_terms_counts_as_one_of_one() -> None:
    assert fuse([Candidate(1, 9.0, 0.5)], 0) == fuse([Candidate(1, 9.0, 0.5)], 1)


def test_without_any_vector_words_decide() -> None:
    assert order(Candidate(1, 2.0), Candidate(2, 7.0), Candidate(3, 5.0)) == [2, 3, 1]


def test_without_any_words_the_meaning_decides() -> None:
    assert order(Candidate(1, None, 0.1), Candidate(2, None, 0.7), Candidate(3, None, -0.5)) == [2, 1, 3]


def test_what_both_find_stands_before_what_one_of_them_finds_as_well() -> None:
    both, words, meaning = Candidate(3, 5.0, 0.5), Candidate(1, 5.0, 0.0), Candidate(2, None, 0.5)

    assert order(words, meaning, both)[0] == 3


def test_of_equals_the_older_stands_first() -> None:
    assert order(Candidate(9, 1.0, 0.5), Candidate(4, 1.0, 0.5), Candidate(7, 1.0, 0.5)) == [4, 7, 9]


def test_a_good_match_of_five_words_counts_about_as_much_as_a_cosine_of_one() -> None:
    found = scores(Candidate(1, 9 * sqrt(5), 0.0), Candidate(2, None, 1.0), terms=5)

    assert found[1] == pytest.approx(found[2], rel=0.5)


def test_a_chunk_without_a_vector_is_as_near_as_the_others_are_on_average() -> None:
    found = scores(Candidate(1, None, 0.2), Candidate(2, None, 0.6), Candidate(3, 4.5, None))

    assert found[3] == pytest.approx(0.4 + 0.5 * PROSE)


def test_a_chunk_without_a_vector_is_placed_among_the_others_by_its_words() -> None:
    near, far = Candidate(1, 1.0, 0.6), Candidate(2, 1.0, 0.2)

    assert order(near, far, Candidate(3, 9.0)) == [3, 1, 2]
    assert order(near, far, Candidate(3, 1.0)) == [1, 3, 2]
    assert order(near, far, Candidate(3, None)) == [1, 3, 2]
    assert order(near, far, Candidate(3, None), Candidate(4, 1.0)) == [1, 4, 3, 2]


def test_an_absolute_score_does_not_make_the_best_of_nothing_look_good() -> None:
    (best, *_) = fuse([Candidate(1, 0.1, 0.05), Candidate(2, 0.05, 0.0)], 3)

    assert best.score < 0.1


@pytest.mark.parametrize("is_code", [True, False])
def test_what_is_asked_about_is_told_by_the_nearest_for_prose_and_code_alike(is_code: bool) -> None:
    """The weight is one for all: a candidate of prose among code gets no more for its words than the code does."""
    nearest = [Candidate(number, None, 0.9, is_code) for number in range(NEAREST)]
    found = scores(*nearest, Candidate(50, 9.0, 0.1, is_code=True), Candidate(51, 9.0, 0.1, is_code=False))

    assert found[50] == found[51] == pytest.approx(0.1 + (CODE if is_code else PROSE))


@pytest.mark.parametrize("code", range(NEAREST + 1))
def test_the_more_of_the_nearest_are_code_the_less_words_count(code: int) -> None:
    nearest = [Candidate(number, None, 0.9, number < code) for number in range(NEAREST)]
    found = scores(*nearest, Candidate(50, 9.0, 0.0))

    assert found[50] == pytest.approx(PROSE - (PROSE - CODE) * code / NEAREST)


def test_code_that_is_far_away_or_has_no_vector_says_nothing_about_the_question() -> None:
    nearest = [Candidate(number, None, 0.9) for number in range(NEAREST)]
    far = [Candidate(100 + number, None, 0.1, is_code=True) for number in range(50)]
    without = [Candidate(200 + number, 3.0, None, is_code=True) for number in range(50)]
    asked = Candidate(50, 9.0, 0.0)

    assert scores(*nearest, *far, *without, asked)[50] == scores(*nearest, asked)[50] == PROSE


def test_fewer_candidates_than_ten_are_all_the_nearest() -> None:
    found = scores(Candidate(1, None, 0.5, is_code=True), Candidate(2, 9.0, 0.0))

    assert found[2] == pytest.approx((PROSE + CODE) / 2)


def test_a_hit_tells_what_its_score_is_made_of() -> None:
    found = {
        one.chunk: one.why for one in fuse([Candidate(1, 2.0, 0.5), Candidate(2, None, 0.1), Candidate(3, 1.0)], 1)
    }

    assert found == {1: Why(2.0, 0.5), 2: Why(None, 0.1), 3: Why(1.0, None)}


@pytest.mark.parametrize("names", [0, 1, 2])
def test_words_that_are_names_count_in_code_as_they_do_in_prose(names: int) -> None:
    """Half of them names: half of what code takes away is given back."""
    nearest = [Candidate(number, None, 0.9, is_code=True) for number in range(NEAREST)]
    ranked = fuse([*nearest, Candidate(50, 9 * sqrt(2), 0.0)], 2, names=names)
    found = {one.chunk: one.score for one in ranked}

    assert found[50] == pytest.approx(CODE + (PROSE - CODE) * names / 2)


def test_in_prose_it_makes_no_difference_whether_words_are_names() -> None:
    candidates = [Candidate(1, 9.0, 0.5), Candidate(2, 5.0, 0.6)]

    assert fuse(candidates, 2, names=2) == fuse(candidates, 2)
