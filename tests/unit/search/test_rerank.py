"""A reranker puts the best hits in order, and a search is never worse for having one that fails."""

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError
from promptuary.models.protocols import Reranker
from promptuary.search.kind_index import SearchBackend
from promptuary.search.rerank import TOP, Reranking, reordered
from promptuary.search.service import SearchService
from promptuary.search.values import Hit, NotReranked, SearchQuery, Why, note_text
from promptuary.testing.scripted import ScriptedReranker
from tests.conftest import Files
from tests.embedders import search_with


def hit(place: int) -> Hit:
    return Hit("/w", f"{place}.md", 1, 1, f"text {place}", ("Title",), "markdown", 0, "", 1 / (place + 1), Why())


@contextmanager
def searched(workspace: Path, reranker: Reranker, *, timeout: float = 30.0) -> Iterator[SearchService]:
    """Open a search by words whose hits are reranked."""
    with search_with(workspace) as service:
        opened = service.backend
        service._backend = SearchBackend(opened.index, reranking=Reranking(reranker, timeout))
        service.index([workspace])
        yield service


def plain(service: SearchService, limit: int) -> list[str]:
    """Return the order that nobody reranked."""
    return paths(service, SearchQuery("apple", limit, lexical_only=True))


def paths(service: SearchService, query: str | SearchQuery) -> list[str]:
    return [one.path for one in service.find(query).hits]


@pytest.fixture
def notes(files: Files) -> Path:
    """Return thirty notes with the same word, more often in the first ones."""
    return files({f"n{number:02}.md": f"# Note {number}\n\n{'apple ' * (40 - number)}\n" for number in range(30)})


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=40))
def test_reranking_keeps_every_hit_and_orders_the_first_ones_by_their_scores(scores: list[float]) -> None:
    hits = [hit(place) for place in range(len(scores))]
    found = reordered(hits, scores[:TOP])

    assert sorted(one.path for one in found) == sorted(one.path for one in hits)
    assert [one.why.rerank for one in found[:TOP]] == sorted(scores[:TOP], reverse=True)
    assert found[TOP:] == hits[TOP:]
    assert [one.score for one in found] == [one.score for one in hits]


def test_hits_with_equal_scores_stay_in_the_order_that_they_had() -> None:
    hits = [hit(place) for place in range(4)]

    assert [one.path for one in reordered(hits, [1.0, 2.0, 1.0, 2.0])] == ["1.md", "3.md", "0.md", "2.md"]


def test_hits_from_the_days_that_the_query_names_stay_first() -> None:
    hits = [replace(hit(place), why=Why(time="decides" if place < 2 else "leans")) for place in range(4)]

    assert [one.path for one in reordered(hits, [1.0, 2.0, 3.0, 4.0])] == ["1.md", "0.md", "3.md", "2.md"]


@pytest.mark.parametrize("scores", [[], [1.0], [1.0, math.nan, 2.0], [1.0, math.inf, 0.0], [1.0] * 4])
def test_scores_that_are_not_one_number_a_hit_are_refused(scores: Sequence[float]) -> None:
    with pytest.raises(PromptuaryError, match="one finite score for each passage"):
        reordered([hit(place) for place in range(3)], scores)


def test_a_reranker_sees_the_first_twenty_whatever_the_limit_and_the_best_of_them_come_first(notes: Path) -> None:
    reranker = ScriptedReranker(lambda _, text: float("Note 17" in text))
    with searched(notes, reranker) as service:
        found = service.find(SearchQuery("apple", 3))
        before = plain(service, 2)

    assert [one.path for one in found.hits] == ["n17.md", *before]
    assert found.hits[0].why.rerank == 1.0
    (question, texts) = reranker.asked[0]
    assert (question, len(texts)) == ("apple", TOP)
    assert texts[0].startswith("# Note 0\n\napple apple")


def test_more_hits_than_a_reranker_sees_follow_in_their_own_order(notes: Path) -> None:
    with searched(notes, ScriptedReranker(lambda _, text: -len(text))) as service:
        found = paths(service, SearchQuery("apple", 30))
        before = plain(service, 30)

    assert found[:TOP] == sorted(before[:TOP], reverse=True)
    assert found[TOP:] == before[TOP:]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PromptuaryError("The service is away."), "The service is away."),
        (ZeroDivisionError("oh"), "the reranker failed: ZeroDivisionError('oh')"),
    ],
)
def test_if_it_fails_the_order_stays_and_a_note_says_why(notes: Path, error: Exception, reason: str) -> None:
    def fail(_: str, __: str) -> float:
        raise error

    with searched(notes, ScriptedReranker(fail)) as service:
        found = service.find("apple")
        before = plain(service, 10)

    assert [one.path for one in found.hits] == before
    assert found.notes == (NotReranked(reason),)
    assert note_text(found.notes[0]) == f"not reranked: {reason}"


def test_if_it_takes_too_long_nobody_waits_for_it(notes: Path) -> None:
    answered = threading.Event()

    def score(_: str, __: str) -> float:
        answered.wait(60)
        return 0.0

    try:
        with searched(notes, ScriptedReranker(score), timeout=0.05) as service:
            found = service.find("apple")
            before = plain(service, 10)
    finally:
        answered.set()

    assert [one.path for one in found.hits] == before
    assert found.notes == (NotReranked("the reranker did not answer within 0.05 seconds"),)


def test_a_search_by_words_only_and_one_with_a_single_hit_ask_nobody(notes: Path) -> None:
    (notes / "other.md").write_text("pear\n")
    reranker = ScriptedReranker(lambda _, __: 0.0)
    with searched(notes, reranker) as service:
        service.find(SearchQuery("apple", lexical_only=True))
        assert paths(service, "pear") == ["other.md"]
        assert paths(service, "nowhere") == []

    assert reranker.asked == []
