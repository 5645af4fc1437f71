"""The search of notes: one hit a note, what is preferred among equals, and when nothing answers."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError
from promptuary.memory.recall.index import NoteIndex
from promptuary.memory.recall.search import NoteQuery, answering, with_priors
from promptuary.memory.recall.visible import NoteKey
from promptuary.memory.values import NoteHit
from promptuary.models.protocols import Purpose
from promptuary.search.records import among_few
from promptuary.search.rerank import Reranking
from promptuary.search.values import IndexRebuilt, SearchedByWordsOnly, Why
from promptuary.testing.scripted import ScriptedReranker
from promptuary.testing.word_embedder import WordEmbedder
from tests.notes import NOW, Shelf, index_at, note


def indexed(folder: Path, shelf: Shelf, **changes: WordEmbedder) -> NoteIndex:
    index = index_at(folder, shelf, **changes)
    index.sync()
    index.embed()
    return index


def ids(hits: Sequence[NoteHit]) -> list[str]:
    return [hit.header.id for hit in hits]


@pytest.mark.parametrize(
    "asked", ["how should I indent this function?", "which indentation do I prefer", "do I indent with tabs or spaces?"]
)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_plain_question_is_answered_by_words_where_there_are_few_notes(
    tmp_path: Path, asked: str, count: int
) -> None:
    others = [note("lunch", "The canteen closes at two.", title="Lunch"), note("badge", "It says 4711.", title="Badge")]
    shelf = Shelf(note("tabs", "I indent with tabs.", title="Indentation"), *others[: count - 1])
    index = indexed(tmp_path, shelf)

    assert ids(answering(index.search(NoteQuery(asked)), 5)) == ["tabs"]
    for idle in ("explain quicksort", "what is the capital of France", "thank you", "translate this function to Go"):
        assert not answering(index.search(NoteQuery(idle)), 5), idle


def test_a_long_note_is_found_once_by_the_lines_that_answer(tmp_path: Path) -> None:
    paragraphs = [f"# Part {number}\n\n" + f"The heron of part {number} waits. " * 40 for number in range(8)]
    index = indexed(tmp_path, Shelf(note("long", "\n\n".join(paragraphs)), note("short", "A raven waits.")))

    (hit,) = index.search(NoteQuery("the heron of part 5")).hits
    assert hit.header.id == "long"
    assert "part 5" in hit.text
    assert "part 2" not in hit.text


def test_a_search_is_restricted_by_scope_audience_and_kind(tmp_path: Path) -> None:
    index = indexed(
        tmp_path,
        Shelf(
            note("one", "A raven.", kind="user"),
            note("two", "A raven.", audience="shared", kind="project"),
            note("three", "A raven.", scope="user", kind="user"),
        ),
    )

    assert set(ids(index.search(NoteQuery("raven", kinds=["user"])).hits)) == {"one", "three"}
    assert ids(index.search(NoteQuery("raven", audiences=["shared"])).hits) == ["two"]
    assert ids(index.search(NoteQuery("raven", scopes=["user"])).hits) == ["three"]
    assert ids(index.search(NoteQuery("raven", scopes=["user"], kinds=["project"])).hits) == []


def test_a_note_whose_kind_changed_since_it_was_indexed_is_judged_by_what_it_is_now(tmp_path: Path) -> None:
    shelf = Shelf(note("one", "A raven.", kind="user"))
    index = indexed(tmp_path, shelf)
    shelf.put(note("one", "A raven.", kind="project"))

    assert ids(index.search(NoteQuery("raven", kinds=["user"])).hits) == []


def test_a_note_that_may_not_be_seen_any_more_is_not_found_although_it_is_still_indexed(tmp_path: Path) -> None:
    shelf = Shelf(note("one", "A raven."), note("two", "A raven."))
    index = indexed(tmp_path, shelf)
    shelf.drop("one")

    assert ids(index.search(NoteQuery("raven")).hits) == ["two"]


def test_the_hits_for_fewer_are_the_first_of_those_for_more(tmp_path: Path) -> None:
    shelf = Shelf(*(note(f"n-{number}", f"raven {number} " * (number % 7 + 1)) for number in range(90)))
    index = indexed(tmp_path, shelf)
    most = ids(index.search(NoteQuery("raven", 90)).hits)

    assert len(most) == len(set(most)) == 90
    for limit in (0, 1, 7, 59, 60):
        assert ids(index.search(NoteQuery("raven", limit)).hits) == most[:limit]


def test_every_note_can_be_found_and_not_only_the_newest_two_hundred(tmp_path: Path) -> None:
    """W8: older notes take part in recall."""
    old = note("old", "The raven rule is from the beginning.", created_at="2001-01-01T00:00:00+00:00")
    index = indexed(tmp_path, Shelf(old, *(note(f"n-{number}", f"Heron {number}.") for number in range(300))))

    assert ids(index.search(NoteQuery("raven rule")).hits)[0] == "old"


def test_among_notes_that_answer_as_well_the_pinned_and_then_the_newest_stands_first(tmp_path: Path) -> None:
    index = indexed(
        tmp_path,
        Shelf(
            note("old", "A raven.", title="Bird", created_at="2020-01-01T00:00:00+00:00"),
            note("new", "A raven.", title="Bird", created_at=NOW),
            note("pinned", "A raven.", title="Bird", pinned=True, created_at="2020-01-01T00:00:00+00:00"),
        ),
    )

    assert ids(index.search(NoteQuery("raven")).hits) == ["pinned", "new", "old"]


HITS = st.lists(
    st.builds(
        lambda score, pinned, day: NoteHit(
            note(f"n-{score}", "", pinned=pinned, created_at=f"2026-03-{day:02}").header, "", score, Why()
        ),
        st.floats(0.0, 5.0),
        st.booleans(),
        st.integers(1, 28),
    ),
    max_size=8,
)


@given(HITS)
def test_neither_pinned_nor_recent_lifts_a_note_over_one_that_answers_clearly_better(hits: list[NoteHit]) -> None:
    ranked = with_priors(sorted(hits, key=lambda hit: -hit.score), NOW)
    best = max((hit.score for hit in hits), default=0.0)
    before = {id(hit.header): hit.score for hit in hits}

    for first, second in pairwise(ranked):
        assert before[id(first.header)] >= before[id(second.header)] - 0.0501 * best


def test_in_a_small_index_less_evidence_is_enough_and_in_a_large_one_it_is_as_for_files() -> None:
    assert among_few(0.6, 20) > 1
    assert among_few(0.6, 5) == among_few(0.6, 20)
    assert among_few(0.6, 100) < among_few(0.6, 20)
    assert among_few(0.6, 300) == 0.6
    assert among_few(0.6, 50_000) == 0.6


def test_a_damaged_index_is_rebuilt_by_the_search_that_finds_it_so(tmp_path: Path) -> None:
    shelf = Shelf(note("one", "A raven."))
    indexed(tmp_path, shelf).close()
    for file in tmp_path.rglob("*.db"):
        file.write_bytes(b"\xff" * file.stat().st_size)
    found = index_at(tmp_path, shelf).search(NoteQuery("raven"))

    assert ids(found.hits) == ["one"]
    assert IndexRebuilt() in found.notes


class Unreachable(WordEmbedder):
    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        if purpose == "query":
            raise PromptuaryError("the endpoint does not answer")
        return super().embed(texts, purpose)


def test_without_the_embedder_words_are_compared_and_the_person_is_told(tmp_path: Path) -> None:
    index = indexed(tmp_path, Shelf(note("one", "A raven.")), embedder=Unreachable())
    found = index.search(NoteQuery("raven"))

    assert ids(found.hits) == ["one"]
    assert (found.mode, found.notes) == ("lexical", (SearchedByWordsOnly("the endpoint does not answer"),))


def test_a_reranker_decides_about_the_best(tmp_path: Path) -> None:
    index = indexed(tmp_path, Shelf(note("one", "raven raven raven"), note("two", "A raven and a heron are birds.")))
    reranker = ScriptedReranker(lambda _, text: float("heron" in text))
    index._backend = replace(index.backend, reranking=Reranking(reranker, 5.0))

    assert ids(index.search(NoteQuery("raven")).hits) == ["two", "one"]
    assert ids(index.search(NoteQuery("raven", lexical_only=True)).hits) == ["one", "two"]


@pytest.mark.parametrize("query", ["", "   ", '"', "((", "\x00", "日本", "a" * 10_000])
def test_any_text_is_a_query(tmp_path: Path, query: str) -> None:
    index = indexed(tmp_path, Shelf(note("one", "A raven.")))

    assert index.search(NoteQuery(query)).hits == []


def test_an_index_that_does_not_exist_finds_nothing(tmp_path: Path) -> None:
    index = index_at(tmp_path, Shelf(note("one", "A raven.")))

    assert index.search(NoteQuery("raven")).hits == []
    assert index.hashes(NoteKey("project", "one")) == []
