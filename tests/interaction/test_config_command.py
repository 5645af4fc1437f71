"""``promptuary config``: what holds, where it comes from, and what was left out."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from promptuary.cli.flags import SETTING_FLAGS
from promptuary.cli.main import main
from promptuary.config.settings import SETTINGS
from tests.conftest import Files

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def config(project: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[dict[str, Any], str]:
    assert main(["config", "--json", "-w", str(project), *arguments]) == 0
    out, err = capsys.readouterr()
    return json.loads(out), err


def test_every_setting_is_shown_with_its_value_and_origin(
    files: Files, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path.home() / ".config" / "promptuary" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("follow_symlinks = true", encoding="utf-8")
    monkeypatch.setenv("PROMPTUARY_TIMEOUT", "3")
    project = files({"promptuary.toml": "limit_share = 0.2"})
    answered, _ = config(project, capsys, "--model", "gpt-4", "--allow-host", "a", "--allow-host", "b")

    assert answered["workspace"] == str(project)
    assert answered["settings"].keys() == set(SETTINGS)
    assert (
        answered["settings"]
        | {
            "model": {"value": "gpt-4", "origin": "flag"},
            "window": {"value": 8192, "origin": "model"},
            "vocabulary": {"value": "cl100k_base", "origin": "model"},
            "warn_share": {"value": 0.25, "origin": "default"},
            "limit_share": {"value": 0.2, "origin": "promptuary.toml"},
            "timeout": {"value": 3.0, "origin": "environment"},
            "follow_symlinks": {"value": True, "origin": "your configuration"},
            "allow_hosts": {"value": ["a", "b"], "origin": "flag"},
        }
        == answered["settings"]
    )
    assert answered["notes"] == []


def test_a_flag_can_take_back_what_the_configuration_allows(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTUARY_FOLLOW_SYMLINKS", "true")

    answered, _ = config(workspace, capsys, "--no-follow-symlinks")
    assert answered["settings"]["follow_symlinks"] == {"value": False, "origin": "flag"}


def test_what_was_left_out_is_noted(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    project = files({"promptuary.toml": "max_file_size = 9\nwindw = 3"})
    answered, err = config(project, capsys)

    assert [f"note: {note}" for note in answered["notes"]] == err.splitlines()
    assert answered["notes"] == [
        "max_file_size in promptuary.toml is ignored: a workspace cannot set it; use a flag or your own configuration",
        "windw in promptuary.toml is not a setting; did you mean window? (ignored)",
    ]


def test_people_get_a_table(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "-w", str(workspace), "--window", "200k"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert lines[:2] == [f"workspace: {workspace}", ""]
    assert lines[2].split() == ["setting", "value", "from"]
    assert ["window", "200000", "flag"] in [line.split() for line in lines]


def test_the_page_names_every_flag_of_a_setting() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(--[a-z-]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert dict(rows) == {name: flag for name, (flag, _) in SETTING_FLAGS.items()}


def own_file() -> Path:
    return Path.home() / ".config" / "promptuary" / "config.toml"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_setting_is_printed_with_what_it_means(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "get", "window", "-w", str(workspace)]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("128000\n", "window: the model's context window (default: 128000); from default\n")
    assert main(["config", "get", "window", "-q", "-w", str(workspace), "--window", "8k", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) | {"help": ""} == {
        "name": "window",
        "value": 8000,
        "origin": "flag",
        "help": "",
    }


def test_a_setting_is_set_in_the_persons_own_file(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["-w", str(workspace)]
    assert main(["config", "set", "window", "64k", *place]) == 0
    assert capsys.readouterr() == (f"window = 64000 in {own_file()}\n", "")
    assert own_file().stat().st_mode & 0o777 == 0o600
    own_file().write_text(f"# Mine.\n{own_file().read_text()}[recall]\nmode = 'legacy_blocking' # slow\n")
    for words in (["allow_hosts", "a", "b"], ["recall_mode", "hybrid_async"], ["follow_symlinks", "yes"]):
        assert main(["config", "set", *words, *place]) == 0
    capsys.readouterr()

    assert own_file().read_text() == (
        '# Mine.\nwindow = 64000\nallow_hosts = ["a", "b"]\nfollow_symlinks = true\n'
        '[recall]\nmode = "hybrid_async" # slow\n'
    )
    assert main(["config", "set", "budget", "2k", "--json", *place]) == 0
    assert json.loads(capsys.readouterr().out) == {"name": "budget", "value": 2000, "file": str(own_file())}
    settings = config(workspace, capsys)[0]["settings"]
    assert settings["allow_hosts"] == {"value": ["a", "b"], "origin": "your configuration"}
    assert list(workspace.glob("*.toml")) == []


@pytest.mark.parametrize(
    ("there", "file", "after"),
    [
        ({}, "promptuary.toml", "window = 8000\n"),
        ({"promptuary.toml": "# Ours.\nmax_file_size = 3\n"}, "promptuary.toml", None),
        ({"promptuary.toml": "", ".promptuary/config.toml": ""}, ".promptuary/config.toml", "window = 8000\n"),
        ({"pyproject.toml": "[project]\n"}, "promptuary.toml", "window = 8000\n"),
        (
            {"pyproject.toml": "[tool.promptuary]\nbudget = 3\n"},
            "pyproject.toml",
            "[tool.promptuary]\nbudget = 3\nwindow = 8000\n",
        ),
    ],
)
def test_with_here_the_file_that_wins_in_the_workspace_is_changed(
    files: Files, capsys: pytest.CaptureFixture[str], there: dict[str, str], file: str, after: str | None
) -> None:
    project = files({"a.txt": "", **there})
    assert main(["config", "path", "--here", "-q", "-w", str(project)]) == 0
    assert capsys.readouterr().out == f"{project / file}\n"
    assert main(["config", "set", "--here", "window", "8k", "-w", str(project)]) == 0
    assert capsys.readouterr() == (f"window = 8000 in {project / file}\n", "")

    assert (project / file).read_text() == (after or there[file] + "window = 8000\n")
    assert not own_file().exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("set", "window", "lots"), "window must be a whole number"),
        (("set", "windw", "8k"), "windw is not a setting; did you mean window?"),
        (("set", "models", "x"), "models is not a setting"),
        (("set", "model", "nobody-knows-it"), "nobody-knows-it"),
        (("set", "window"), "usage: promptuary config set NAME VALUE"),
        (("set", "window", "8", "k"), "window has one value"),
        (("set", "--here", "max_file_size", "9MB"), "a workspace cannot set max_file_size"),
        (("set", "--here", "instructions_folder", "/etc"), "leaves the workspace"),
        (("get",), "usage: promptuary config get NAME"),
        (("get", "windw"), "did you mean window?"),
        (("path", "x"), "usage: promptuary config path"),
        (("edit",), "config edit needs a terminal"),
        (("window",), "invalid choice: 'window'"),
    ],
)
def test_nothing_wrong_is_written(
    workspace: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    assert main(["config", *words, "-w", str(workspace)]) == 2
    out, err = capsys.readouterr()
    assert (out, told in err) == ("", True), err
    assert not own_file().exists()
    assert list(workspace.glob("*.toml")) == []


def test_what_wins_over_a_setting_is_told(
    files: Files, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = files({"promptuary.toml": "recall_tokens = 5"})
    assert main(["config", "set", "recall_tokens", "7", "-w", str(project)]) == 0
    assert capsys.readouterr().err == "note: promptuary.toml sets recall_tokens, too, and wins here\n"
    monkeypatch.setenv("PROMPTUARY_BUDGET", "3")
    assert main(["config", "set", "--here", "budget", "7", "-w", str(project)]) == 0
    assert "environment sets budget, too" in capsys.readouterr().err


def test_a_broken_file_is_named_and_a_wrong_value_can_be_mended(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = written(own_file(), "window = [")
    assert main(["config", "set", "budget", "7", "-w", str(workspace)]) == 2
    assert "is not valid TOML" in capsys.readouterr().err
    assert own.read_text() == "window = ["
    own.write_text('window = "lots"\n')
    assert main(["config", "-w", str(workspace)]) == 2
    assert main(["config", "set", "window", "8k", "-w", str(workspace)]) == 0
    assert own.read_text() == "window = 8000\n"


def test_a_file_that_is_linked_to_stays_a_link_and_one_of_a_workspace_is_refused(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    project, dotfiles = files({"a.txt": ""}), written(Path.home() / "dotfiles" / "config.toml", "# Kept in git.\n")
    own_file().parent.mkdir(parents=True)
    own_file().symlink_to(dotfiles)
    assert main(["config", "set", "window", "8k", "-w", str(project)]) == 0
    assert own_file().is_symlink()
    assert dotfiles.read_text() == "# Kept in git.\nwindow = 8000\n"
    (project / "promptuary.toml").symlink_to(dotfiles)
    assert main(["config", "set", "--here", "budget", "8k", "-w", str(project)]) == 2
    assert dotfiles.read_text() == "# Kept in git.\nwindow = 8000\n"


@pytest.mark.parametrize(
    ("typed", "told"),
    [("window = 8000", "wrote"), ("window = 'lots'", "must be a whole number"), ("", "nothing has changed")],
)
def test_an_editor_gets_a_copy_and_only_what_is_right_is_written(
    workspace: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    told: str,
) -> None:
    monkeypatch.setenv("EDITOR", f'sh -c \'printf "%s\\n" "$0" | grep . >> "$1"; true\' "{typed}"')
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr("promptuary.cli.config.is_terminal", lambda _: True)
    own = written(own_file(), "# Mine.\n")

    code = main(["config", "edit", "-w", str(workspace)])
    out, err = capsys.readouterr()
    assert told in out + err
    assert own.read_text() == ("# Mine.\nwindow = 8000\n" if told == "wrote" else "# Mine.\n")
    assert (code, "what you wrote is kept in" in err) == ((2, True) if "must" in told else (0, False))
