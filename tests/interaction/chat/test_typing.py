"""What a person types in ``promptuary chat``: ahead of time, pasted, and in a terminal that can only print."""

from pathlib import Path

from promptuary.base.messages import ToolCall
from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import Refuses, Says
from tests.interaction.chat.chats import Begin, said

WRITE = ToolCall("2", "write_memory", '{"content": "We deploy on Mondays.", "title": "Deploys", "type": "project"}')
LONG = "\n".join(f"line {number}" for number in range(120))


def notes(project: Path) -> list[str]:
    with Promptuary.open(project, exact=True) as promptuary:
        return [note.title for note in promptuary.memory.list().headers]


def test_a_terminal_that_can_only_print_is_talked_to_line_by_line(begin: Begin, project: Path) -> None:
    chat = begin(
        Says("One."),
        Says("word " * 8, calls=[WRITE], pause=0.05),
        Says("Not noted."),
        environment={"TERM": "dumb"},
        ready="\n>",
    )
    chat.press("first\\\rsecond\r")
    chat.expect("One.")
    chat.press("Note it\r")
    chat.expect("word word")
    chat.press("y\r")  # which is no answer to what is asked later
    chat.expect("Let it? [y/N]")
    chat.press("\r")
    chat.expect("Not noted.")
    chat.press("dropped\x03")
    chat.expect("ends the chat")
    chat.press("/help\r")
    chat.expect("continues in the next")
    chat.press("\x04")

    assert chat.ended() == 0
    assert said(project)[:2] == ["first\nsecond", "One."]
    assert "dropped" not in said(project)
    assert notes(project) == []
    assert "\x1b" not in "".join(chat.bytes)


def test_what_was_typed_before_a_question_is_no_answer_to_it(begin: Begin, project: Path) -> None:
    chat = begin(Says("word " * 8, calls=[WRITE], pause=0.05), Says("Not noted."))
    chat.press("Note it\ry\r")  # both at once: the prompt reads the second line too early
    chat.expect("word word")
    chat.press("y\r")
    chat.expect("Let it? [y/N]")
    chat.press("\r")
    chat.expect("Not noted.")
    chat.expect("❯ y")  # what was typed waits in the prompt
    chat.press("\x03\x04")

    assert chat.ended() == 0
    assert notes(project) == []


def test_what_is_typed_while_an_answer_comes_waits_in_the_prompt_if_that_breaks_off(
    begin: Begin, project: Path
) -> None:
    chat = begin(Says("word " * 400, pause=0.05), Refuses(401, "wrong key"), Says("Fine."))
    chat.press("Tell me all\r")
    chat.expect("word word word")
    chat.press("And then?\r")
    chat.interrupt()
    chat.expect("❯ And then?")  # it is neither lost nor sent
    chat.press("!\rAnything else?\r")
    chat.expect("· Anything else?")  # below the message that was refused
    assert "401" in chat.everything
    chat.press("\r")
    chat.expect("Fine.")
    chat.press("\x04")

    assert chat.ended() == 0
    assert said(project)[2:] == ["And then?!\nAnything else?", "Fine."]


def test_a_folded_paste_is_deleted_as_a_whole_and_only_a_paste_is_one(begin: Begin, project: Path) -> None:
    chat = begin(Says("First."), Says("Second."))
    chat.press("Explain ")
    chat.paste(LONG)
    chat.expect("❯ Explain [Pasted text #1, 120 lines]")
    chat.press("\x7f")
    chat.expect_gone("[Pasted")
    chat.press("this\r")
    chat.expect("First.")
    chat.press("See [Pasted text #1, 120 lines]\r")  # words, that look like the paste which was deleted
    chat.expect("is not a pasted text, only these words")
    chat.press("\r")
    chat.expect("Second.")
    chat.press("/memory write ")
    chat.paste(LONG)
    chat.expect("[Pasted text #2, 120 lines]")
    chat.press("\r")
    chat.expect("written: ")
    chat.press("\x04")

    assert chat.ended() == 0
    assert said(project)[::2] == ["Explain this", "See [Pasted text #1, 120 lines]"]
    with Promptuary.open(project, exact=True) as promptuary:
        (header,) = promptuary.memory.list().headers
        note = promptuary.memory.get(header.id)
    assert note is not None
    assert note.body.strip() == LONG  # a command gets the whole text
