"""``promptuary complete``, over a real workspace."""

import json
from pathlib import Path
from typing import Any

import pytest

from promptuary.cli.main import main
from tests.conftest import Files, git


@pytest.fixture
def project(files: Files, repository: Path) -> Path:
    files(
        {
            "src/app.py": "def main(): pass\n",
            "src/apple pie.md": "x\n",
            ".gitignore": "dist/\n",
            "dist/app.js": "",
            ".env": "",
        }
    )
    git(repository, "add", ".gitignore", "src")
    git(repository, "commit", "-qm", "Begin the app")
    return repository


def complete(project: Path, capsys: pytest.CaptureFixture[str], text: str) -> list[dict[str, Any]]:
    main(["complete", "--json", "--workspace", str(project), text])
    items: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["items"]
    return items


@pytest.mark.parametrize(
    ("text", "inserted"),
    [
        ("look at @", "@file:"),
        ("look at @fo", "@folder:"),
        ("look at @app", "@src/app.py"),
        ("look at @file:app", "@file:src/app.py"),
        ("look at @file:pie", '@file:"src/apple pie.md"'),
        ('look at @file:"apple p', '@file:"src/apple pie.md"'),
        ("look at @folder:s", "@folder:src/"),
        ("look at @glob:", "@glob:**/*.py"),
        ("look at @git:", "@git:1"),
        ("look at @symbol:ma", "@symbol:main"),
        ("keep #app", "#src/app.py"),
    ],
)
def test_each_menu_offers_what_fits(
    project: Path, capsys: pytest.CaptureFixture[str], text: str, inserted: str
) -> None:
    assert inserted in [item["insert"] for item in complete(project, capsys, text)]


def test_files_come_with_size_lines_and_tokens(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert complete(project, capsys, "@file:app.py")[0]["hint"] == "17 B · 1 line · 5 tokens"


def test_commits_are_offered_by_subject(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert complete(project, capsys, "@commit:begin")[0]["label"] == "Begin the app"


@pytest.mark.parametrize("text", ["mail me@", "@file:dist/app", "@file:.env", "`code @", "plain text"])
def test_nothing_is_offered_where_nothing_fits(project: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert [
        item for item in complete(project, capsys, text) if item["kind"] == "file" and "dist" in item["insert"]
    ] == []
    assert not any(".env" in item["insert"] for item in complete(project, capsys, text))


def test_a_file_that_was_used_comes_first_among_equals(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    project = files({"one/note.md": "x", "two/note.md": "x"})
    main(["expand", "-q", "--workspace", str(project), "@file:two/note.md"])
    capsys.readouterr()

    assert [item["insert"] for item in complete(project, capsys, "@note")][:2] == ["@two/note.md", "@one/note.md"]


def test_people_get_a_table_and_an_empty_menu_is_explained(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "-w", str(project), "@file:app.py"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["@file:src/app.py", "file"]
    assert main(["complete", "-w", str(project), "nothing here"]) == 1
    assert "nothing to offer" in capsys.readouterr().err
