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


def test_a_word_is_wrong_usage(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "-w", str(workspace), "window"]) == 2
    assert "unrecognized arguments: window" in capsys.readouterr().err


def test_the_page_names_every_flag_of_a_setting() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(--[a-z-]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert dict(rows) == {name: flag for name, (flag, _) in SETTING_FLAGS.items()}
