"""The same text is one hit that names its places, and one file does not fill the list."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.search.answer import distinct
from promptuary.search.chunks.lines import Sizes
from promptuary.search.service import SearchService
from promptuary.search.values import Hit, SearchQuery, Why
from tests.conftest import Files
from tests.embedders import search_with

HITS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=30).map(
    lambda pairs: [
        Hit("/w", f"{path}.md", place, place, text, (), "markdown", 0, text, -place, Why())
        for place, (path, text) in enumerate(pairs, 1)
    ]
)


@given(HITS, st.integers(0, 3))
def test_no_text_comes_twice_and_every_place_of_it_is_named(hits: list[Hit], per_file: int) -> None:
    found = distinct(hits, per_file)

    assert len({one.hit.sha256 for one in found}) == len(found)
    assert sorted((one.hit for one in found), key=hits.index) == [one.hit for one in found]
    for one in found:
        assert {one.hit.start_line, *(copy.start_line for copy in one.copies)} == {
            hit.start_line for hit in hits if hit.sha256 == one.hit.sha256
        }
    if not per_file:
        assert {one.hit.sha256 for one in found} == {hit.sha256 for hit in hits}
    else:
        assert all(sum(one.hit.path == hit.path for one in found) <= per_file for hit in hits)


@pytest.fixture
def vault(files: Files) -> Path:
    copied = "# Deploying\n\nThe gateway is restarted after each release.\n"
    long = "\n".join(f"## Part {number}\n\nThe gateway number {number} {'waits ' * 20}\n" for number in range(30))
    return files({"deploy.md": copied, "old/deploy.md": copied, "backup/deploy copy.md": copied, "long.md": long})


@contextmanager
def opened(vault: Path) -> Iterator[SearchService]:
    with search_with(vault, None, sizes=Sizes(64, 8)) as service:
        service.index([vault])
        yield service


def test_copies_are_one_hit_that_names_the_other_places(vault: Path) -> None:
    with opened(vault) as service:
        (hit,) = service.find(SearchQuery("restarted release")).hits

        places = [one.partition(f"{str(vault)[1:]}/")[2].partition(".md")[0] for one in (hit.place, *hit.copies)]
        assert sorted(places) == ["backup/deploy copy", "deploy", "old/deploy"]


def test_a_long_file_leaves_places_to_others_if_asked_and_fewer_hits_are_the_first_of_more(vault: Path) -> None:
    with opened(vault) as service:
        every = service.find(SearchQuery("gateway", 100)).hits
        two = service.find(SearchQuery("gateway", 100, per_file=2)).hits

        assert sum(hit.path == "long.md" for hit in every) > 5
        assert [hit.path for hit in two].count("long.md") == 2
        for limit in range(1, 10):
            assert service.find(SearchQuery("gateway", limit, per_file=2)).hits == two[:limit]
            assert service.find(SearchQuery("gateway", limit)).hits == every[:limit]
