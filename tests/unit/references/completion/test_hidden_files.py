"""What ignore files hide is not offered, however it would get into the menu."""

from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from tests.conftest import Files, git


@pytest.mark.parametrize("name", [".promptuaryignore", ".ignore"])
def test_a_changed_file_that_an_ignore_file_hides_is_not_offered(files: Files, name: str) -> None:
    root = files({"app.py": "1\n", "generated/big.json": "1\n", "private.md": "1\n", name: "generated/\nprivate.md\n"})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "First")
    for path in ("app.py", "generated/big.json", "private.md"):
        (root / path).write_text("2\n")

    with Promptuary.open(root, exact=True) as p:
        offered = [item.label for item in p.complete("@", timeout=5).items]
        hidden = [item.label for item in p.complete("@", timeout=5, ignored=True).items]

    assert "app.py" in offered
    assert {"generated/big.json", "private.md"} & set(offered) == set()
    assert {"generated/big.json", "private.md"} <= set(hidden)


def test_the_library_counts_folders_from_the_workspace(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = files({"docs/a.md": "# Deploy\n\nPress the button.\n"})
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "docs").mkdir(parents=True)
    monkeypatch.chdir(elsewhere)

    with Promptuary.open(root, exact=True, embedder="none") as p:
        p.search.index("docs")
        assert [folder.path for folder in p.search.status().folders] == [str(root / "docs")]
        assert [hit.place for hit in p.search.find("button").hits] == ["docs/a.md:1-3"]
        assert p.search.remove("docs")
