"""``/model`` in a chat: from then on everything is counted for that model."""

from pathlib import Path

from promptuary.testing.chat_server import Says
from tests.interaction.chat.chats import Begin


def test_another_model_has_its_own_window_in_the_meter_the_limit_and_the_context(begin: Begin, project: Path) -> None:
    (project / "much.txt").write_text("some words to count\n" * 2_000)
    chat = begin(Says("Hello."), columns=140)
    chat.expect("of 128,000 tokens")
    chat.press("/model small\r")
    chat.expect("of 8,000 tokens")
    chat.press("/context tokens\r")
    chat.expect("window: 8,000 tokens")
    chat.press("See @much.txt ")
    chat.expect("of 8,000 tokens (50%)")  # shortened to what it may take
    chat.press("\r")
    chat.expect("% of 8,000;")
    chat.press("/model large\r")
    chat.expect("note: token counts for claude-sonnet-4-5 are approximate")
    chat.expect("of 200,000 tokens")
    chat.press("\x04")
    assert chat.ended() == 0


def test_how_tokens_are_counted_is_told_where_nobody_has_talked_yet(begin: Begin) -> None:
    note = "note: token counts for claude-sonnet-4-5 are approximate"
    large = ("--model", "large")
    chat = begin(Says("Hello."), arguments=large)
    chat.expect(note)
    chat.press("/model fake\r")
    chat.expect("fake answers from now on")
    chat.press("Hi\r")
    chat.expect("Hello.")
    chat.press("\x04")
    assert chat.ended() == 0

    again = begin(arguments=large)
    again.expect("❯ Hi")
    again.press("/thread other\r")
    again.expect("thread other begins")
    assert note not in again.everything
