"""Colour: on a terminal, unless somebody says otherwise; and how wide a terminal is."""

import io
import os
import pty
import termios
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from promptuary.cli.terminal import WITHOUT_TERMINAL, columns, in_style
from tests.conftest import Files


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "coloured"),
    [
        (Screen(), {"TERM": "xterm"}, True),
        (Screen(), {"TERM": "dumb"}, False),
        (Screen(), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (io.StringIO(), {"TERM": "xterm"}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (Screen(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_is_shown_where_it_is_wanted(
    stream: io.StringIO, environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert in_style("bad", "red", stream) == ("\x1b[31mbad\x1b[0m" if coloured else "bad")


@pytest.mark.parametrize(("given", "width"), [(57, 57), (200, 200), (5, 20), (0, WITHOUT_TERMINAL)])
def test_the_width_is_that_of_the_terminal_within_reason(given: int, width: int) -> None:
    main_end, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, given))
    with open(terminal, "w", encoding="utf-8") as stream:  # noqa: PTH123
        assert columns(stream) == width
    os.close(main_end)


def test_what_is_no_terminal_has_a_width_as_well(tmp_path: Path) -> None:
    assert columns(io.StringIO()) == WITHOUT_TERMINAL
    with (tmp_path / "out").open("w") as file:
        assert columns(file) == WITHOUT_TERMINAL


@pytest.mark.parametrize(("forced", "start"), [("1", "\x1b[1msetting"), ("", "setting")])
def test_the_head_of_a_table_is_bold_where_there_is_colour(
    forced: str, start: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", forced)
    assert main(["config"]) == 0

    assert f"\n{start} " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "head"),
    [
        (["complete", "@file:a"], "insert"),
        (["index", "--list"], "folder"),
        (["thread", "list"], "thread"),
        (["thread", "limits"], "thread"),
        (["thread", "audit", "a.py"], "thread"),
        (["thread", "audit", "--turn", "1"], "source"),
        (["thread", "replay", "1", "-t", "main", "--window", "3k"], "layer"),
        (["context", "list"], "in view"),
        (["memory", "list"], "id"),
        (["model", "list"], "model"),
        (["purge", "--dry-run"], "what"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_every_table_has_its_head_in_bold_where_there_is_colour(
    arguments: list[str],
    head: str,
    files: Files,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    monkeypatch.chdir(files({"a.py": "x = 1\n", "b.md": "word " * 4_000}))
    with Promptuary.open(exact=True) as promptuary:
        promptuary.search.index(["."])
        promptuary.memory.write("Tea, not coffee.")
        promptuary.sessions.create("review")
        promptuary.threads.attach("a.py")
        promptuary.threads.finish(promptuary.threads.prepare("See @file:a.py and @file:b.md"), "Fine.")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(arguments) == 0

    assert f"\x1b[1m{head} " in capsys.readouterr().out
