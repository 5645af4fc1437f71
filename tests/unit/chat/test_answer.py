"""What a chat shows of what goes along with a message, and of what a turn was made of."""

import io
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptuary.blocking import Promptuary
from promptuary.chat.answer import ContextLines
from promptuary.chat.terminal import Terminal
from promptuary.layers.layer import Failure
from promptuary.present.why import show_why
from promptuary.testing.scripted import ScriptedModel
from tests.conftest import Files


@pytest.fixture
def project(files: Files, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NO_COLOR", "1")
    return files({"a.py": "".join(f"value_{number} = {number}\n" for number in range(900))})


def shown(promptuary: Promptuary, lines: ContextLines, written: io.StringIO, text: str) -> list[str]:
    """Return what is shown above the answer of the next turn about the file."""
    start = len(written.getvalue())
    turn = promptuary.threads.prepare(text)
    lines.show(turn.expansion, turn.receipt)
    promptuary.threads.finish(turn, "ok")
    return [line for line in written.getvalue()[start:].splitlines() if "#a.py" in line]


def test_a_file_in_view_that_changes_or_goes_is_shown_once_as_it_is_now(project: Path) -> None:
    written = io.StringIO()
    lines = ContextLines(Terminal(written))
    with Promptuary.open(project, exact=True, embedder="none") as promptuary:
        (first,) = shown(promptuary, lines, written, "Look at #a.py")
        assert first.startswith("+ #a.py ")
        assert shown(promptuary, lines, written, "And?") == []

        (project / "a.py").write_text((project / "a.py").read_text().replace("value_7 = 7\n", "value_7 = 8\n"))
        (changed,) = shown(promptuary, lines, written, "Now?")
        assert "of them the earlier version (the current version" in changed
        assert shown(promptuary, lines, written, "And?") == []

        (project / "a.py").unlink()
        (gone,) = shown(promptuary, lines, written, "Gone?")
        assert "deleted" in gone
        assert not gone.startswith("+")


def test_a_layer_that_failed_is_named_above_the_answer(project: Path) -> None:
    written = io.StringIO()
    with Promptuary.open(project, exact=True, embedder="none") as promptuary:
        turn = promptuary.threads.prepare("What is new?")
        failure = Failure("calendar", "recall", "ERROR", "RuntimeError: no answer")
        ContextLines(Terminal(written)).show(turn.expansion, replace(turn.receipt, failures=[failure]))

    assert "warning: calendar failed: RuntimeError: no answer" in written.getvalue().splitlines()


def test_why_has_a_mark_for_each_layer_where_there_are_no_colours(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Promptuary.open(project, exact=True, embedder="none") as promptuary:
        promptuary.threads.prepare("Look at @a.py")
        show_why(promptuary.threads.replay())

    printed = capsys.readouterr().out
    assert "█ references" in printed
    assert "▓ message" in printed


def test_why_keeps_the_names_of_tools_whole_in_a_terminal_of_80_columns(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with Promptuary.open(project, exact=True, embedder="none") as promptuary:
        promptuary.threads.run("Look", ScriptedModel(["Yes."]), promptuary.threads.tools())
        show_why(promptuary.threads.replay())

    assert "search_recall_memories," in capsys.readouterr().out


def test_why_keeps_words_and_numbers_whole_in_a_narrow_terminal(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    (project / "a_module_with_quite_a_long_name.py").write_text((project / "a.py").read_text())
    with Promptuary.open(project, exact=True, embedder="none", window=8_000) as promptuary:
        turn = promptuary.threads.prepare("Look at @a_module_with_quite_a_long_name.py and @a.py")
        show_why(promptuary.threads.replay())

    printed = capsys.readouterr().out
    assert ["layer", "what", "status", "tokens"] in [line.split() for line in printed.splitlines()]
    assert "degraded" in printed
    assert all(f"{entry.tokens:,}" in printed for entry in turn.receipt.rows)
    assert max(map(len, printed.splitlines())) <= 40
