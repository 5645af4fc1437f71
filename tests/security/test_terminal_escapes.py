"""What a command is given, or finds on the disk, never reaches a terminal as an escape sequence."""

import argparse
import io
from contextlib import suppress
from pathlib import Path

import pytest

from promptuary.cli.command_table import make_parser
from promptuary.cli.main import main
from tests.conftest import Figure

HOSTILE = "\x1b]0;owned\x07\x1b[2J"
_WAIT_OR_SERVE = {"chat", "mcp", "watch", "gateway", "hook"}
_FLAGS = ("--model", "--tag", "--kind", "--root", "--limit", "--format", "--label", "--since", "--id", "--title")


def _spoken() -> list[list[str]]:
    """Return every action of every command with hostile words in each place."""
    every = next(one for one in make_parser()._actions if isinstance(one, argparse._SubParsersAction))
    found = [[HOSTILE], [f"--{HOSTILE}"]]
    for command, parser in every.choices.items():
        if command in _WAIT_OR_SERVE:
            continue
        choices = [str(word) for one in parser._actions if not one.option_strings for word in one.choices or ()]
        for action in [[command, word] for word in choices] or [[command]]:
            found += [[*action, HOSTILE], [*action, HOSTILE, HOSTILE], [*action, "a", "--thread", HOSTILE]]
            found += [[*action, f"--{HOSTILE}"], [*action, "a", "--workspace", HOSTILE]]
            found += [[*action, "a", flag, HOSTILE] for flag in _FLAGS]
    return found


@pytest.mark.torture
def test_no_command_repeats_an_escape_sequence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], figure: Figure
) -> None:
    workspace = tmp_path / "workspace"
    for folder in (workspace / ".git", workspace / f"folder{HOSTILE}"):
        folder.mkdir(parents=True)
    (workspace / f"folder{HOSTILE}" / f"name{HOSTILE}.md").write_text("We deploy on Fridays.\n")
    monkeypatch.chdir(workspace)
    tried = _spoken()[:: figure(30, 1)]
    tried += [["index", "--no-embed"], ["search", "deploy"], ["complete", "@file:name"], ["expand", "@folder:."]]
    tried += [["expand", "@glob:**/*.md"], ["context", "find", "name"], ["memory", "import", f"folder{HOSTILE}"]]
    tried += [["memory", "list"], ["doctor"], ["backup", f"{HOSTILE}.zip"], ["restore", f"{HOSTILE}.zip"]]
    for words in tried:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
        with suppress(SystemExit):
            main(words)
        out, err = capsys.readouterr()
        assert not {"\x1b", "\x07"} & {*out, *err}, (words, out, err)
    print(f"{len(tried)} commands")
