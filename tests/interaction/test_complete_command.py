"""``promptuary complete``, over a real workspace."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from promptuary import MenuItem, blocking
from promptuary.cli.complete import _details
from promptuary.cli.main import main
from tests.conftest import Files, Template, git


@pytest.fixture
def project(template: Template) -> Path:
    return template(begun)


def begun(folder: Path) -> None:
    for name in ("src", "dist"):
        (folder / name).mkdir()
    (folder / "src/app.py").write_text("def main(): pass\n")
    (folder / "src/apple pie.md").write_text("x\n")
    (folder / ".gitignore").write_text("dist/\n")
    for name in ("dist/app.js", ".env"):
        (folder / name).touch()
    git(folder, "add", ".gitignore", "src")
    git(folder, "commit", "-qm", "Begin the app")


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


def rows(project: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["complete", "-w", str(project), *arguments]) == 0
    return capsys.readouterr().out.splitlines()[1:]


def test_people_get_a_table(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rows(project, capsys, "@file:app.py") == ["@file:src/app.py  file  17 B · 1 line · 5 tokens"]


def test_a_commit_is_shown_with_its_subject_and_its_date(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = rows(project, capsys, "@commit:")

    assert re.fullmatch(r"@commit:(\w{10})  commit  Begin the app · \1 · .*2026.*", row)


def test_a_file_without_a_size_does_not_repeat_its_path() -> None:
    assert _details(MenuItem('@file:"a b.md"', "a b.md", "file")) == ""
    assert _details(MenuItem("@url:https://a.b", "https://a.b", "url")) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nothing here", "the text does not end with a reference; a reference starts with @ or # after a space"),
        ("mail me@", "the text does not end with a reference; a reference starts with @ or # after a space"),
        ("@file:zzz\x1b", "nothing matches @file:zzz⟨U+001B⟩"),
        ("look at #qqqq", "nothing matches #qqqq"),
    ],
)
def test_an_empty_menu_is_explained(project: Path, capsys: pytest.CaptureFixture[str], text: str, why: str) -> None:
    assert main(["complete", "-w", str(project), text]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"{why}\n")


def test_an_empty_workspace_is_said_to_be_empty(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "-w", str(workspace), "@file:a"]) == 1
    assert capsys.readouterr().err == "there are no files in this workspace\n"


def test_where_there_are_no_notes_it_says_so(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "-w", str(workspace), "@memory:"]) == 1
    assert capsys.readouterr().err == "no notes yet: promptuary remember TEXT writes one\n"
    main(["remember", "-w", str(workspace), "I like tabs."])
    capsys.readouterr()
    assert main(["complete", "-w", str(workspace), "@memory:zebra"]) == 1
    assert capsys.readouterr().err == "nothing matches @memory:zebra\n"


@pytest.mark.parametrize("most", ["-3", "0", "x", "1.5", "9" * 5_000, "\u0663"])
def test_the_number_of_offers_is_a_whole_number_from_one_on(
    project: Path, capsys: pytest.CaptureFixture[str], most: str
) -> None:
    assert main(["complete", "-w", str(project), "--limit", most, "@"]) == 2
    assert "is not a positive whole number" in capsys.readouterr().err


def test_no_more_than_asked_for_is_offered(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(rows(project, capsys, "@", "--limit", "3")) == 3


def test_flags_that_are_settings_count_here_too(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "table.parquet").write_text("x\n", encoding="utf-8")

    assert complete(project, capsys, "@file:table.parquet") == []
    main(["complete", "--json", "-w", str(project), "--allow-extension", ".parquet", "@file:table.parquet"])
    assert json.loads(capsys.readouterr().out)["items"][0]["insert"] == "@file:table.parquet"


def test_what_is_ignored_is_offered_when_asked_for(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["complete", "--json", "--ignored", "--workspace", str(project), "@file:dist/app"])
    items = json.loads(capsys.readouterr().out)["items"]

    assert "@file:dist/app.js" in [item["insert"] for item in items]
    assert not any(".git/" in item["insert"] for item in items)


def test_every_row_has_its_hint_however_many_there_are(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    project = files({f"notes/page_{number}.md": f"{number} words\n" * 3_000 for number in range(20)})

    rows = complete(project, capsys, "@file:page")

    assert len(rows) == 20
    assert all("3,000 lines" in row["hint"] and "tokens" in row["hint"] for row in rows)


def test_a_row_that_came_without_a_hint_can_ask_for_it(files: Files) -> None:
    project = files({"notes/page.md": "one\ntwo\n", "notes/.env": "KEY=1\n"})

    with blocking.Promptuary.open(project) as promptuary:
        (row,) = promptuary.complete("@file:page", timeout=10).items
        assert promptuary.hint(replace(row, hint="")) == row.hint == "8 B · 2 lines · 4 tokens"
        assert promptuary.hint(MenuItem("@diff", "@diff", "kind", "unstaged changes")) == "unstaged changes"
        assert promptuary.hint(replace(row, hint="", path="notes/.env")) == ""
        assert promptuary.hint(replace(row, hint="", path="../gone.md")) == ""


def test_a_single_question_finds_a_file_among_thousands(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    many = {f"src/{number // 100}/module_{number}.py": "" for number in range(6_000)}
    project = files({**many, "src/59/needle.py": ""})

    assert [item["label"] for item in complete(project, capsys, "@file:needle")] == ["src/59/needle.py"]


def test_a_menu_without_hints_reads_no_file(files: Files) -> None:
    project = files({"a.py": "x = 1\n", "b.py": "y = 2\n"})

    with blocking.Promptuary.open(project) as p:
        bare = p.complete("@file:", timeout=10, hints=False).items
        assert [item.hint for item in bare] == ["", ""]
        assert [item.hint for item in p.complete("@file:", timeout=10).items] == [p.hint(item) for item in bare]
