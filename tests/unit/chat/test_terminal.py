"""What is written to the terminal."""

import io

import pytest

from promptuary.chat.answer import spelled
from promptuary.chat.terminal import Terminal
from promptuary.core.messages import ToolCall


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
    assert spelled(ToolCall("1", "read", arguments)) == said
