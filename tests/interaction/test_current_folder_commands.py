"""Paths on the command line: from the folder that the person is in, then from the workspace."""

import json
from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from tests.conftest import Files
from tests.interaction.answers import Answer, Run


@pytest.fixture
def project(files: Files, repository: Path) -> Path:
    return files(
        {
            "app.py": "top = 1\n",
            "README.md": "# Read me\n",
            "src/app.py": "inner = 1\n\n\ndef run() -> None:\n    pass\n",
            "src/sub/deep.py": "deep = 1\n",
            "docs/src/only.md": "zebra\n",
        }
    )


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in the folder ``src`` of the workspace."""
    monkeypatch.chdir(project / "src")
    monkeypatch.delenv("PWD", raising=False)

    def start(command: str, *arguments: str) -> Answer:
        code = main([command, *arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(code, out, err)

    return start


def outcome(run: Run, reference: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = json.loads(run("expand", "--json", reference).out)["references"]
    return found[0]


@pytest.mark.parametrize(
    ("typed", "target"),
    [
        ("@file:app.py", "src/app.py"),
        ("@file:app.py:1", "src/app.py"),
        ("@file:app.py#run", "src/app.py"),
        ("@file:./app.py", "src/app.py"),
        ("@file:../app.py", "app.py"),
        ("@file:../src/../README.md", "README.md"),
        ("@file:README.md", "README.md"),
        ("@file:src/app.py", "src/app.py"),
        ("@file:'app.py':1", "src/app.py"),
        ("@folder:sub", "src/sub"),
        ("@folder:sub:contents", "src/sub"),
        ("@folder:docs", "docs"),
        ("@folder:..", "."),
        ("@symbol:app.py#run", "src/app.py"),
        ("@sub/deep.py", "src/sub/deep.py"),
        ("@docs/src/only.md", "docs/src/only.md"),
        ("#app.py", "src/app.py"),
        ("#../README.md", "README.md"),
    ],
)
def test_a_path_counts_from_the_current_folder_then_from_the_workspace(run: Run, typed: str, target: str) -> None:
    found = outcome(run, typed)

    assert (found["target"], found["code"]) == (target, None)


def test_the_outcome_says_which_of_two_files_is_meant(run: Run) -> None:
    assert outcome(run, "@file:app.py")["reason"] == (
        "read as src/app.py, from the current folder; the workspace has app.py, too"
    )
    assert outcome(run, "@sub/deep.py")["reason"] == "read as src/sub/deep.py, from the current folder"
    assert outcome(run, "@file:src/app.py")["reason"] is None


def test_an_absolute_path_in_the_workspace_is_accepted_after_an_at_sign_alone(run: Run, project: Path) -> None:
    inside, outside = project / "README.md", project.parent / "other.md"
    outside.write_text("SECRET")

    assert outcome(run, f"@file:{inside}")["target"] == "README.md"
    assert outcome(run, f"@file:{inside}:1")["lines"] == [1, 1]
    assert outcome(run, f"@folder:{project}/docs")["target"] == "docs"
    assert outcome(run, f"@file:{outside}")["code"] == "ABSOLUTE_PATH"
    assert outcome(run, f'#"{inside}"')["code"] == "ABSOLUTE_PATH"
    assert outcome(run, "@file:../../other.md")["code"] == "PATH_TRAVERSAL"


def test_a_path_through_the_link_by_which_somebody_came_is_one_of_the_workspace(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = project.parent / "shortcut"
    link.symlink_to(project)
    monkeypatch.setenv("PWD", str(link / "src"))

    assert outcome(run, f"@file:{link}/README.md")["target"] == "README.md"
    assert outcome(run, "@file:../README.md")["target"] == "README.md"


def test_a_pattern_counts_from_the_current_folder_if_anything_matches_there(run: Run) -> None:
    here = run("expand", "@glob:*.py")
    there = run("expand", "@glob:*.md")
    above = run("expand", "@glob:../*.py")

    assert "inner = 1" in here.out
    assert "top = 1" not in here.out
    assert "read as src/*.py, from the current folder; 1 file of the workspace would match, too" in here.err
    assert "# Read me" in there.out
    assert "top = 1" in above.out
    assert "inner" not in above.out


def test_what_is_attached_is_known_by_its_path_in_the_workspace(run: Run, project: Path) -> None:
    assert "src/app.py" in run("context", "add", "app.py").out
    assert "README.md" in run("context", "add", str(project / "README.md")).out
    assert "@glob:" in run("context", "add", "@glob:sub/*.py").out
    assert "inner = 1" in run("expand", "--thread", "main", "look").out

    assert run("context", "drop", "app.py").code == 0
    assert run("context", "pin", "../README.md").code == 0
    assert "src/app.py" not in run("context", "list").out


def test_a_queued_reference_means_the_same_wherever_the_message_is_sent(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("context", "add", "@folder:sub", "--thread", "t")
    run("context", "add", "@glob:*.py", "--thread", "t")
    monkeypatch.chdir(project / "docs")

    sent = run("expand", "--thread", "t", "look").out
    assert "src/sub/" in sent
    assert "inner = 1" in sent
    assert "top = 1" not in sent


def test_a_menu_takes_and_writes_paths_from_the_current_folder(run: Run) -> None:
    above = json.loads(run("complete", "--json", "@file:../READ").out)["items"]
    both = json.loads(run("complete", "--json", "@file:app.py").out)["items"]

    assert [one["insert"] for one in above] == ["@file:README.md"]
    assert {one["insert"]: outcome(run, one["insert"])["target"] for one in both} == {
        one["insert"]: one["label"] for one in both
    }
    assert {one["label"] for one in both} == {"app.py", "src/app.py"}


def test_folders_to_index_and_paths_to_search_count_from_the_current_folder(run: Run, files: Files) -> None:
    files({"src/sub/a.md": "zebra here\n"})
    assert run("index", "--no-embed", "sub").code == 0
    assert run("index", "--no-embed", "docs").code == 0, "from the workspace"

    here = run("search", "--lexical", "--path", "*/*.md", "zebra")
    there = run("search", "--lexical", "--path", "docs/**", "zebra")
    assert "src/sub/a.md" in here.out
    assert "only.md" not in here.out
    assert "docs/src/only.md" in there.out
    assert "sub/a.md" not in there.out


def test_a_session_and_what_is_asked_of_it_count_from_the_current_folder(run: Run, project: Path) -> None:
    run("expand", "--thread", "t", "look at @file:app.py")
    run("expand", "--thread", "t", "look at @file:../app.py")

    assert json.loads(run("thread", "audit", "--json", "app.py").out)["sources"] == ["file:src/app.py"]
    assert json.loads(run("thread", "audit", "--json", "../app.py").out)["sources"] == ["file:app.py"]
    assert "src/sub" in run("thread", "create", "s", "--root", "sub").out + run("thread", "limits", "s").out


def test_a_note_is_named_by_its_file_as_a_shell_completes_it(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", "--shared", "We deploy on Fridays.")
    (note,) = (project / ".promptuary").rglob("shared/*/*.md")

    assert "Fridays" in run("memory", "show", f"../{note.relative_to(project)}").out
    monkeypatch.chdir(note.parent)
    assert "Fridays" in run("memory", "show", note.name).out


def test_the_library_counts_from_the_workspace_wherever_the_process_is(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "src")
    with Promptuary.open(project) as library, Promptuary.open(project, current_folder=project / "src") as person:
        assert library.expand("@file:app.py").outcomes[0].target == "app.py"
        assert library.expand("@file:../README.md").outcomes[0].code == "PATH_TRAVERSAL"
        assert library.expand(f"@file:{project}/README.md").outcomes[0].target == "README.md"
        assert person.expand("@file:app.py").outcomes[0].target == "src/app.py"


def test_a_current_folder_outside_the_workspace_counts_too(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.parent)
    (project.parent / "app.py").write_text("SECRET")
    assert main(["expand", "-w", project.name, f"@file:{project.name}/README.md @file:app.py"]) == 0
    assert "SECRET" not in (out := capsys.readouterr().out)
    assert "# Read me" in out
    assert "top = 1" in out


def test_a_current_folder_that_is_gone_is_as_none(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = project / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["expand", "-w", str(project), "@file:app.py"]) == 0
    assert "top = 1" in capsys.readouterr().out
    monkeypatch.chdir(project)


def test_git_is_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.md").write_text("plain\n")
    (tmp_path / "promptuary.toml").write_text("")
    monkeypatch.chdir(tmp_path / "sub")

    assert main(["expand", "@file:a.md"]) == 0
    assert "plain" in capsys.readouterr().out
