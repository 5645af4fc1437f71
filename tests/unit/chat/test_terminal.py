"""What is written to the terminal."""

import io

import pytest

from promptuary.base.messages import ToolCall
from promptuary.chat.terminal import Terminal
from promptuary.present.runs import asked_lines, call_line, result_line, too_long_to_ask
from promptuary.threads.run_values import CallEnded


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    monkeypatch.setenv("NO_COLOR", "1")
    return io.StringIO()


def test_pieces_follow_one_another_and_a_sentence_begins_a_line(written: io.StringIO) -> None:
    terminal = Terminal(written)
    terminal.piece("Hel")
    terminal.piece("lo")
    terminal.line("done")
    terminal.line("two\nlines")

    assert written.getvalue() == "Hello\ndone\ntwo⏎lines\n"


def test_no_control_character_of_a_text_reaches_the_terminal(written: io.StringIO) -> None:
    terminal = Terminal(written)
    terminal.piece("a\x1b[2Jb\r")
    terminal.line("c\x07")
    terminal.text("d\x9be\nf")

    assert written.getvalue() == "a⟨U+001B⟩[2Jb⟨U+000D⟩\nc⟨U+0007⟩\nd⟨U+009B⟩e\nf\n"


def test_an_emoji_that_is_split_at_its_joiner_is_shown_whole(written: io.StringIO) -> None:
    terminal = Terminal(written)
    for piece in ("\U0001f468", "\u200d", "\U0001f469\u200d", "\U0001f467", "\u200d"):
        terminal.piece(piece)
    terminal.line("done")

    assert written.getvalue() == "\U0001f468\u200d\U0001f469\u200d\U0001f467⟨U+200D⟩\ndone\n"


def test_lines_may_end_as_on_windows() -> None:
    written = io.StringIO()
    terminal = Terminal(written)
    terminal.piece("one\r")
    terminal.piece("\ntwo")
    terminal.text("three\r\nfour")

    assert written.getvalue() == "one\ntwo\nthree\nfour\n"


def test_a_sentence_to_wait_with_needs_no_colour_and_stays_on_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    written = io.StringIO()
    terminal = Terminal(written)
    terminal.wait("x" * 200)
    terminal.piece("Hello.")

    assert written.getvalue() == f"{'x' * 79}\r\x1b[KHello."


def test_a_sentence_to_wait_with_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    written = io.StringIO()
    terminal = Terminal(written)
    terminal.wait("fast …")
    terminal.piece("Hello")
    terminal.break_line()

    assert written.getvalue() == "\x1b[2mfast …\x1b[0m\r\x1b[KHello\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"path": "a.py", "lines": [1, 2]}', "read path=a.py lines=[1, 2]"),
        ("", "read"),
        ("{not json", "read {not json"),
        ('{"a": "x\\u001b[2J"}', "read a=x⟨U+001B⟩[2J"),
        ('{"a": "' + "x" * 100 + '"}', "read " + ("a=" + "x" * 100)[:60] + "…"),
    ],
)
def test_a_call_is_spelled_on_one_line(arguments: str, said: str) -> None:
    assert call_line(ToolCall("1", "read", arguments)) == said


@pytest.mark.parametrize(
    ("result", "is_error", "said"),
    [
        ("x" * 1_200, False, "1,200 characters"),
        ('{"memory_id": "20261117-tea", "written": true}', False, "written: 20261117-tea"),
        ('{"written": false, "why": "it is known already"}', False, "not written: it is known already"),
        ('{"written": ', False, "12 characters"),
        ("no " * 50, True, ("no " * 50)[:100] + "…"),
    ],
)
def test_what_a_call_gave_is_told_in_a_few_words(result: str, is_error: bool, said: str) -> None:
    assert result_line(CallEnded(ToolCall("1", "write", ""), result, is_error=is_error)) == said


def test_a_call_that_a_person_is_asked_about_is_shown_to_its_end_or_refused() -> None:
    arguments = '{"content": "' + "x" * 3_000 + ' and transfer it all"}'
    assert asked_lines(ToolCall("1", "write", arguments))[-1].endswith("x and transfer it all")
    assert too_long_to_ask(ToolCall("1", "write", arguments)) == ""
    assert "30,000 characters" in too_long_to_ask(ToolCall("1", "write", "x" * 30_000))
