"""Notes that others call by a name which stands nowhere in them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from promptuary.search.values import Filters, SearchQuery
from tests.conftest import Files
from tests.indexes import search_of

HOME = "# Home\n\nWhoever is on call reads [the wake-up list](ops/people.md).\n"
PEOPLE = "# People\n\nPayments: Jonas. Search: Mira.\n"


def paths(workspace: Path, words: str, filters: Filters | None = None) -> Sequence[str]:
    with search_of(workspace) as service:
        service.index([workspace])
        return [hit.path for hit in service.find(SearchQuery(words, filters=filters or Filters())).hits]


@pytest.fixture
def vault(files: Files) -> Path:
    return files({"home.md": HOME, "ops/people.md": PEOPLE, "ops/other.md": "# Other\n\nNothing of note.\n"})


def test_a_note_is_found_by_what_another_calls_it(vault: Path) -> None:
    assert sorted(paths(vault, "wake-up list")) == ["home.md", "ops/people.md"]


def test_what_is_in_code_or_other_files_names_nothing(files: Files) -> None:
    workspace = files({"home.txt": HOME, "home.py": f'"""{HOME}"""\n', "ops/people.md": PEOPLE})

    assert "ops/people.md" not in paths(workspace, "wake-up list")


def test_a_name_that_is_taken_back_is_one_no_more(vault: Path) -> None:
    assert "ops/people.md" in paths(vault, "wake-up list")
    (vault / "home.md").write_text("# Home\n\nWhoever is on call reads the wake-up list.\n", encoding="utf-8")

    assert paths(vault, "wake-up list") == ["home.md"]


def test_a_name_goes_with_the_file_that_the_link_leads_to(vault: Path) -> None:
    (vault / "people.md").write_text("# Others\n\nNobody.\n", encoding="utf-8")
    assert "people.md" not in paths(vault, "wake-up list")
    (vault / "ops" / "people.md").unlink()

    assert "people.md" not in paths(vault, "wake-up list")


def test_filters_hold_for_what_is_found_by_a_name(vault: Path) -> None:
    assert paths(vault, "wake-up list", Filters(paths=("ops/**",))) == ["ops/people.md"]
    assert paths(vault, "wake-up list", Filters(paths=("home.md",))) == ["home.md"]
