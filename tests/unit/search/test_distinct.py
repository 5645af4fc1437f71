"""One document is one hit, with how many more of its passages match; the same text is one hit that names its places."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.search.answer import Distinct, Passage, distinct
from promptuary.search.chunks.lines import Sizes
from promptuary.search.index.port import ChunkTraits
from promptuary.search.ranking import Ranked
from promptuary.search.service import SearchService
from promptuary.search.values import Hit, SearchQuery
from tests.conftest import Files
from tests.embedders import HashedWords, search_with


def passage(number: int, score: float, document: int, text: str) -> Passage:
    ranked = Ranked(number, score, lexical=None, cosine=None, meaning=None, length=0.0, share=0.0)
    return Passage(ranked, ChunkTraits(document=document, sha256=text.encode()))


PASSAGES = st.lists(st.tuples(st.integers(1, 3), st.sampled_from("xyz")), max_size=30).map(
    lambda pairs: [passage(place, 2 - place / 20, document, text) for place, (document, text) in enumerate(pairs, 1)]
)


@given(PASSAGES, st.integers(0, 3), st.integers(0, 30))
def test_no_text_comes_twice_and_every_place_of_it_is_named(passages: list[Passage], per_file: int, pool: int) -> None:
    found = list(distinct(passages[:pool], passages[pool:], per_file))
    traits = {one.ranked.chunk: one.traits for one in passages}

    assert len({traits[one.ranked.chunk].sha256 for one in found}) == len(found)
    assert sorted(one.ranked.chunk for one in found) == [one.ranked.chunk for one in found]
    for one in found:
        text = traits[one.ranked.chunk].sha256
        same = {each.ranked.chunk for each in passages[:pool] if each.traits.sha256 == text}
        assert {one.ranked.chunk, *one.copies} == {one.ranked.chunk, *same}
    if not per_file:
        assert {traits[one.ranked.chunk].sha256 for one in found} == {one.traits.sha256 for one in passages}
    else:
        documents = [traits[one.ranked.chunk].document for one in found]
        assert all(documents.count(one) <= per_file for one in documents)


@given(PASSAGES, st.integers(0, 3), st.booleans())
def test_a_passage_is_left_out_only_for_a_better_one(passages: list[Passage], per_file: int, merge: bool) -> None:
    found = list(distinct(passages, (), per_file, merge=merge))
    first = {one.traits.document: one for one in reversed(passages)}

    shown: set[int] = set()
    for one in found:
        shown |= {one.ranked.chunk, *one.copies}
    # The best passage of every document is shown, or its text is.
    texts = {one.traits.sha256 for one in passages if one.ranked.chunk in shown}
    assert all(one.ranked.chunk in shown or (merge and one.traits.sha256 in texts) for one in first.values())


def test_further_passages_count_if_they_are_half_as_good_as_the_best() -> None:
    scores = (1.0, 0.9, 0.5, 0.49, -1.0)
    pool = [passage(number, score, 1, str(number)) for number, score in enumerate(scores)]

    assert [(one.ranked.chunk, one.more) for one in distinct(pool, (), 1)] == [(0, 2)]
    assert [(one.ranked.chunk, one.more) for one in distinct(pool, (), 2)] == [(0, 1), (1, 1)]
    assert {one.more for one in distinct(pool, (), 0)} == {0}
    assert list(distinct(pool[4:], (), 1)) == [Distinct(pool[4].ranked)]


@pytest.fixture
def vault(files: Files) -> Path:
    copied = "# Deploying\n\nThe gateway is restarted after each release.\n"
    long = "\n".join(f"## Part {number}\n\nThe gateway number {number} {'waits ' * 20}\n" for number in range(30))
    return files({"deploy.md": copied, "old/deploy.md": copied, "backup/deploy copy.md": copied, "long.md": long})


@contextmanager
def opened(vault: Path, embedder: HashedWords | None = None) -> Iterator[SearchService]:
    with search_with(vault, embedder, sizes=Sizes(64, 8)) as service:
        service.index([vault])
        service.embed()
        yield service


def places(hit: Hit, vault: Path) -> list[str]:
    return sorted(
        one.partition(f"{str(vault)[1:]}/")[2].partition(".md")[0].strip('"') for one in (hit.place, *hit.copies)
    )


def test_copies_are_one_hit_that_names_the_other_places(vault: Path) -> None:
    with opened(vault) as service:
        (hit,) = service.find(SearchQuery("restarted release")).hits

        assert places(hit, vault) == ["backup/deploy copy", "deploy", "old/deploy"]


def test_a_copied_document_is_one_hit_and_not_two_with_different_passages(files: Files) -> None:
    long = "\n".join(f"## Part {number}\n\nThe gateway number {number} {'waits ' * 20}\n" for number in range(5))
    vault = files({"long.md": long, "copy.md": long, "other.md": "The gateway.\n"})
    with opened(vault) as service:
        hits = service.find("gateway").hits

        assert sorted(places(hit, vault) for hit in hits) == [["copy", "long"], ["other"]]


@pytest.mark.parametrize("embedder", [None, HashedWords()])
def test_every_document_is_one_hit_and_fewer_hits_are_the_first_of_more(
    vault: Path, embedder: HashedWords | None
) -> None:
    with opened(vault, embedder) as service:
        every = service.find(SearchQuery("gateway", 100, per_file=0)).hits
        two = service.find(SearchQuery("gateway", 100, per_file=2)).hits
        one = service.find("gateway", limit=100).hits

        assert sum(hit.path == "long.md" for hit in every) > 5
        assert [hit.path for hit in two].count("long.md") == 2
        assert [hit.path for hit in one].count("long.md") == 1
        assert len(one) == 2
        (long,) = (hit for hit in one if hit.path == "long.md")
        assert 0 < long.more < 30 or embedder
        assert len(service.find(SearchQuery("gateway", 100, per_file=1 + long.more)).hits) == 2 + long.more
        for limit in range(1, 10):
            assert service.find(SearchQuery("gateway", limit, per_file=0)).hits == every[:limit]
            assert service.find(SearchQuery("gateway", limit, per_file=2)).hits == two[:limit]
            assert service.find("gateway", limit=limit).hits == one[:limit]


def test_documents_below_the_pool_are_found_too(files: Files) -> None:
    # Far more passages of one file than a search compares, all better than those of the others.
    long = "\n".join(f"## gateway {number}\n\nThe gateway waits. {'word ' * 40}\n" for number in range(200))
    vault = files({"long.md": long} | {f"{number}.md": f"The gateway {'is open ' * 90}\n" * 2 for number in range(5)})
    with opened(vault) as service:
        hits = service.find(SearchQuery("gateway", merge_copies=False)).hits

        assert sorted(hit.path for hit in hits) == ["0.md", "1.md", "2.md", "3.md", "4.md", "long.md"]
        assert hits[0].path == "long.md"
        for limit in range(1, 7):
            assert service.find(SearchQuery("gateway", limit, merge_copies=False)).hits == hits[:limit]
