"""A filter for paths means what a person sees: the path from the workspace, from the indexed folder, or the whole."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from promptuary.search.filters import from_workspace
from promptuary.search.values import Filters, SearchQuery
from tests.indexes import search_of

FILES = ["docs/style.md", "docs/guide/one.md", "src/docs/deep.md", "src/app.py", "../notes/work/plan.md"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "w [1] {a,b}"
    for name in FILES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("zebra\n")
    return root


def found(root: Path, folders: Sequence[str], patterns: Sequence[str]) -> set[str]:
    with search_of(root) as service:
        service.index([root / folder for folder in folders])
        hits = service.find(SearchQuery("zebra", 100, Filters(paths=tuple(patterns)), merge_copies=False)).hits
    whole = {str(Path(hit.folder, hit.path).resolve()) for hit in hits}
    base = str(root.parent.resolve())
    return {path.removeprefix(f"{base}/").removeprefix(f"{root.name}/") for path in whole}


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["docs"], {"docs/style.md", "docs/guide/one.md", "src/docs/deep.md"}),
        (["docs/style.md"], {"docs/style.md"}),
        (["docs/**/one.md"], {"docs/guide/one.md"}),
        (["./docs/guide/"], {"docs/guide/one.md"}),
        (["style.md"], {"docs/style.md"}),
        (["../notes"], {"notes/work/plan.md"}),
        (["../notes/work/*.md"], {"notes/work/plan.md"}),
        (["!docs"], {"src/app.py", "notes/work/plan.md"}),
        (["src", "!src/docs"], {"src/app.py"}),
        (["nowhere"], set()),
    ],
)
def test_paths_are_counted_from_the_workspace_or_from_the_indexed_folder(
    workspace: Path, patterns: list[str], expected: set[str]
) -> None:
    assert found(workspace, ["docs", "src", "../notes"], patterns) == expected


def test_a_whole_path_names_one_place(workspace: Path) -> None:
    notes = (workspace / "../notes").resolve()

    assert found(workspace, ["docs", "../notes"], [f"{notes}/work"]) == {"notes/work/plan.md"}
    assert found(workspace, ["docs", "../notes"], [f"!{notes}"]) == {"docs/style.md", "docs/guide/one.md"}


def test_no_paths_are_left_as_they_are() -> None:
    filters = Filters(kinds=("code",))

    assert from_workspace(filters, "/w") is filters
