"""How words and meaning become one score."""

from math import isclose, log

from promptuary.search.index.port import Ahead, ChunkTraits, Similarity
from promptuary.search.ranking import (
    NEAREST,
    Candidate,
    Span,
    Weights,
    by_date,
    compared,
    confidence,
    deciding,
    fuse,
    preferring,
    spread,
)
from promptuary.search.values import Why

PLAIN = Weights(hub=0.0, length=0.0)
"""Nothing but words and meaning."""


def order(*candidates: Candidate, terms: int = 3, weights: Weights = PLAIN) -> list[int]:
    return [one.chunk for one in fuse(candidates, terms, weights)]


def scores(*candidates: Candidate, terms: int = 3, weights: Weights = PLAIN) -> dict[int, float]:
    return {one.chunk: one.score for one in fuse(candidates, terms, weights)}


def near(cosine: float, usual: float = 0.0, typical: float = 0.0) -> Similarity:
    return Similarity(cosine, usual, typical)


def test_nothing_is_ranked_as_nothing() -> None:
    assert fuse([], 3) == []


def test_without_vectors_words_decide() -> None:
    assert order(Candidate(1, 0.5), Candidate(2, 2.0), Candidate(3, 1.0)) == [2, 3, 1]


def test_without_words_meaning_decides() -> None:
    assert order(Candidate(1, None, near(0.1)), Candidate(2, None, near(0.7)), Candidate(3, None, near(-0.5))) == [
        2,
        1,
        3,
    ]


def test_what_both_find_comes_before_what_one_finds() -> None:
    both, words, meaning = Candidate(3, 2.0, near(0.5)), Candidate(1, 2.0, near(0.0)), Candidate(2, None, near(0.5))

    assert order(both, words, meaning)[0] == 3


def test_equal_candidates_stand_in_the_order_of_their_numbers() -> None:
    assert order(*(Candidate(number, 1.0, near(0.5)) for number in (9, 4, 7))) == [4, 7, 9]


def test_a_cosine_counts_against_what_is_usual_for_the_query() -> None:
    assert scores(Candidate(1, None, near(0.5, usual=0.2))) == scores(Candidate(1, None, near(0.3)))


def test_a_chunk_that_is_near_to_everything_loses_a_part_of_that() -> None:
    hub, other = Candidate(1, None, near(0.50, typical=0.2)), Candidate(2, None, near(0.45))

    assert order(hub, other) == [1, 2]
    assert order(hub, other, weights=Weights(hub=0.5)) == [2, 1]


def test_a_long_document_pays_for_its_many_chances() -> None:
    long, short = Candidate(1, None, near(0.50), traits=ChunkTraits(100)), Candidate(2, None, near(0.45))
    found = scores(long, weights=Weights(length=0.02))

    assert order(long, short) == [1, 2]
    assert order(long, short, weights=Weights(length=0.02)) == [2, 1]
    assert isclose(found[1], 0.50 - 0.02 * log(100))


def test_every_further_word_counts_as_much_as_the_one_before() -> None:
    sure = [Candidate(number, float(number), near(0.9)) for number in range(1, 4)]
    found = scores(*sure)

    assert isclose(found[3] - found[2], found[2] - found[1])


def test_one_word_is_doubted_where_the_meaning_does_not_agree_and_many_words_less() -> None:
    weights = Weights(hub=0.0, length=0.0, words=0.1, sure=0.4)
    found = scores(
        Candidate(1, 1.0, near(0.0)), Candidate(2, 9.0, near(0.0)), Candidate(3, 1.0, near(0.4)), weights=weights
    )

    assert isclose(found[1], 0.0)
    assert isclose(found[2], 0.1 * 9 * (1 - 1 / 3))
    assert isclose(found[3], 0.4 + 0.1)


def test_in_chats_words_count_for_more_and_need_no_agreement() -> None:
    weights = Weights(hub=0.0, length=0.0, chat=0.5)
    found = scores(Candidate(1, 2.0, near(0.0), spoken=3.0), weights=weights)

    assert isclose(found[1], 0.5 * 2.0)


def test_where_a_chat_says_less_of_the_words_its_chunks_count_for_less() -> None:
    weights = Weights(hub=0.0, length=0.0, chat=0.5, spoken=1.0)
    found = scores(Candidate(1, 2.0, near(0.0), spoken=3.0), Candidate(2, 2.0, near(0.0), spoken=1.0), weights=weights)

    assert isclose(found[2] / found[1], (2.0 + 1.0) / (2.0 + 3.0))


def test_among_notes_the_words_of_a_chat_count_as_much_as_theirs() -> None:
    note, chat, other = Candidate(1, 2.0), Candidate(2, 2.1, spoken=0.5), Candidate(3, 2.2, spoken=0.1)

    assert order(note, chat, other) == [2, 1, 3]


def test_for_long_queries_words_count_for_more_and_need_no_agreement() -> None:
    weights = Weights(hub=0.0, length=0.0, words=0.05, long=0.2, short_query=10, long_query=20)
    candidate = Candidate(1, 2.0, near(0.0))

    assert isclose(scores(candidate, terms=40, weights=weights)[1], 0.2 * 2.0)
    assert scores(candidate, terms=10, weights=weights)[1] < scores(candidate, terms=15, weights=weights)[1] < 0.4


def test_in_code_words_count_for_less() -> None:
    code = [Candidate(number, None, near(0.9), traits=ChunkTraits(is_code=True)) for number in range(NEAREST)]
    prose = [Candidate(number, None, near(0.9)) for number in range(NEAREST)]
    asked = Candidate(500, 2.0, near(0.5))

    assert 0.5 < scores(*code, asked)[500] < scores(*prose, asked)[500]


def test_the_nearest_candidates_decide_whether_a_query_is_about_chats() -> None:
    chats = [Candidate(number, None, near(0.9), spoken=0.0) for number in range(NEAREST)]
    notes = [Candidate(100 + number, None, near(0.8)) for number in range(50)]
    unembedded = [Candidate(200 + number, 3.0) for number in range(50)]
    asked = Candidate(500, 2.0, near(0.1))
    before = scores(*chats, asked)

    assert scores(*chats, *notes, *unembedded, asked)[500] == before[500]
    assert scores(*notes, asked)[500] < before[500]


def test_a_chunk_without_a_vector_gets_the_usual_meaning_of_the_others() -> None:
    close, far = Candidate(1, 1.0, near(0.6)), Candidate(2, 1.0, near(0.2))

    assert order(close, far, Candidate(3, 20.0)) == [3, 1, 2]
    assert order(close, far, Candidate(3, 1.0)) == [1, 3, 2]


def test_a_score_is_explained_by_its_parts() -> None:
    found = {
        one.chunk: one.why()
        for one in fuse([Candidate(1, 2.0, near(0.5, 0.1), traits=ChunkTraits(10)), Candidate(2, 1.0)], 4)
    }

    assert found[1] == Why(2.0, 0.5, meaning=0.4, length=0.02 * log(10), share=0.5)
    assert found[2] == Why(1.0, None, share=0.25)


# How sure an answer is


def sure(*candidates: Candidate, chunks: int = 1_000, terms: int = 3) -> float:
    return confidence(fuse(candidates, terms), candidates, chunks, terms)


def test_nothing_is_no_answer() -> None:
    assert sure() == 0


def test_an_answer_is_near_or_has_the_words_and_less_of_both_is_enough() -> None:
    assert sure(Candidate(1, None, near(0.2))) < 1 < sure(Candidate(1, None, near(0.5)))
    assert sure(Candidate(1, 0.5, near(0.1))) < 1 < sure(Candidate(1, 2.5, near(0.1)))
    assert sure(Candidate(1, 1.5, near(0.3))) > 1


def test_among_many_chunks_the_best_of_chance_is_better() -> None:
    candidate = Candidate(1, None, near(0.45))

    assert sure(candidate, chunks=1_000) > 1 > sure(candidate, chunks=100_000)


def test_for_a_question_less_evidence_is_enough() -> None:
    candidates = [Candidate(1, 0.5, near(0.28))]
    ranked = fuse(candidates, 3)

    assert confidence(ranked, candidates, 1_000, 3) < 1 < confidence(ranked, candidates, 1_000, 3, asked=True)


def test_without_vectors_an_answer_explains_several_words_the_more_the_larger_the_index_is() -> None:
    assert sure(Candidate(1, 1.6)) > 1 > sure(Candidate(1, 1.4))
    assert sure(Candidate(1, 1.6), chunks=10_000) < 1
    assert sure(Candidate(1, 0.5), chunks=4) > 1


def test_without_vectors_a_rare_word_that_counts_for_several_is_one_word() -> None:
    assert sure(Candidate(1, 5.0), terms=1) < 1 < sure(Candidate(1, 5.0), terms=2)


def test_without_vectors_a_few_of_very_many_words_are_no_answer() -> None:
    assert sure(Candidate(1, 3.0), terms=60) < 1 < sure(Candidate(1, 3.0), terms=20)


def test_without_vectors_a_question_needs_as_many_words_as_a_message() -> None:
    candidates = [Candidate(1, 1.4)]
    ranked = fuse(candidates, 3)

    assert confidence(ranked, candidates, 1_000, 3, asked=True) == confidence(ranked, candidates, 1_000, 3) < 1


# Several documents


def test_further_chunks_of_a_document_give_way_to_others_that_are_nearly_as_good() -> None:
    ranked = fuse([Candidate(number, None, near(0.5 - number / 1_000)) for number in range(1, 5)], 3)
    placed = spread(ranked, {1: 7, 2: 7, 3: 7, 4: 8}, 0.01)

    assert [one.chunk for one in placed] == [1, 4, 2, 3]
    assert [one.chunk for one in spread(ranked, {1: 7, 2: 7, 3: 7, 4: 8}, 0.0)] == [1, 2, 3, 4]


# Time


def test_what_is_of_the_time_that_is_asked_for_is_preferred_but_not_required() -> None:
    ranked = fuse([Candidate(1, None, near(0.50)), Candidate(2, None, near(0.45)), Candidate(3, None, near(0.05))], 3)
    dates = {1: 10, 2: 20, 3: 20}

    assert [one.chunk for one in preferring(ranked, dates, Span(15, 25))] == [2, 1, 3]
    assert [one.chunk for one in preferring(ranked, dates, Span(30, None))] == [1, 2, 3]
    assert [one.chunk for one in preferring(ranked, dates, Span(None, 20))] == [1, 2, 3]


def test_what_is_of_the_days_that_are_asked_for_comes_first_also_without_any_word_or_nearness() -> None:
    ranked = fuse([Candidate(1, None, near(0.50)), Candidate(2, None, near(0.45)), Candidate(3, None, near(0.05))], 3)

    for alone in (False, True):
        first, *others = deciding(ranked, {3}, alone=alone)
        assert [one.chunk for one in others] == [1, 2]
        assert [first.chunk, first.time, others[0].time] == [3, "decides", ""]
        assert others[0].score == ranked[0].score < first.score
        # Recall brings in what has a quarter of the best score.
        assert (4 * others[0].score < first.score) is alone
    assert [one.chunk for one in deciding(fuse([Candidate(1), Candidate(2)], 1), {2})] == [2, 1]


def test_the_latest_and_the_first_are_chosen_among_the_good_ones() -> None:
    good = [Candidate(1, None, near(0.50)), Candidate(2, None, near(0.48)), Candidate(3, None, near(0.45))]
    ranked = fuse([*good, Candidate(4, None, near(0.1))], 3)
    dates = {1: 20, 2: 30, 3: 10, 4: 40}
    newest = by_date(ranked, dates, newest=True)

    assert [one.chunk for one in newest] == [2, 1, 3, 4]
    assert [one.chunk for one in by_date(ranked, dates, newest=False)] == [3, 1, 2, 4]
    assert [one.score for one in newest] == [one.score for one in ranked]


def test_where_the_model_does_not_know_the_language_words_decide_and_meaning_orders_the_rest() -> None:
    words, nearer = Candidate(1, 2.0, near(0.1), foreign=True), Candidate(2, 1.0, near(0.9), foreign=True)
    far, nearest = Candidate(3, None, near(0.2), foreign=True), Candidate(4, None, near(0.6), foreign=True)

    assert order(far, nearest, nearer, words, weights=Weights()) == [1, 2, 4, 3]


def test_a_passage_that_the_model_does_not_know_stands_beside_others_by_its_words() -> None:
    unknown = Candidate(1, 2.0, near(0.0), foreign=True)

    assert order(unknown, Candidate(2, 1.0, near(0.3))) == [1, 2]
    assert order(unknown, Candidate(2, 1.0, near(0.9))) == [2, 1]


def test_a_passage_that_the_model_does_not_know_says_so_and_loses_nothing_for_its_document() -> None:
    first, *_ = fuse([Candidate(1, 1.0, near(0.3), traits=ChunkTraits(100), foreign=True)], 3)

    assert first.why().foreign
    assert first.length == 0


def test_confidence_in_a_passage_that_the_model_does_not_know_is_that_of_its_words() -> None:
    by_words = [Candidate(1, 2.0)]
    unknown = [Candidate(1, 2.0, near(0.9), foreign=True)]

    assert confidence(fuse(unknown, 3), unknown, 1_000, 3) == confidence(fuse(by_words, 3), by_words, 1_000, 3)


def test_what_small_talk_or_a_general_topic_is_nearer_to_than_the_hits_has_no_answer() -> None:
    ahead, talk, elsewhere = Ahead(0.3, 0.3), Ahead(0.3, -0.3), Ahead(-0.1, 0.3)

    assert compared(1.5, ahead, strict=True) > 1
    assert compared(1.5, talk, strict=True) < 1
    assert compared(1.5, talk, strict=False) < 1
    assert compared(2.5, talk, strict=False) < 1 < compared(2.5, talk, strict=True)
    assert compared(1.5, elsewhere, strict=True) < 1
    assert compared(1.5, None, strict=True) == 1.5


def test_notes_about_what_people_ask_everywhere_need_more_evidence_and_others_less() -> None:
    assert compared(0.9, Ahead(0.1, 0.3), strict=False) > 1
    assert compared(1.2, Ahead(-0.1, 0.3), strict=False) < 1
    assert compared(1.5, Ahead(-0.1, 0.3), strict=False) > 1
