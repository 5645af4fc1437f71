"""Keys that nobody read, as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.input import create_pipe_input

from promptuary.chat.prompt.typed_ahead import take_typed_ahead, text_of


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("And then?\r", "And then?"),
        ("one\rtwo\r", "one\ntwo"),
        ("abd\x7fc", "abc"),
        ("wrong\x15right", "right"),
        ("line\rwrong\x15right", "line\nright"),
        ("a\x1b[Db\x1bOAc\x04\x1b", "abc"),
        ("\x7f\x7fa", "a"),
        ("see \x1b[200~x\r\ny\x1b[201~ now", "see <x\r\ny> now"),
        ("\x1b[200~half", "<half>"),
    ],
)
def test_keys_become_the_text_that_an_editor_makes_of_them(keys: str, text: str) -> None:
    assert text_of(keys, lambda pasted: f"<{pasted}>") == text


@given(st.text())
def test_no_key_leaves_a_control_character(keys: str) -> None:
    assert all(char.isprintable() or char == "\n" or ord(char) > 0x9F for char in text_of(keys, lambda _: ""))


def test_what_waits_at_the_keyboard_is_taken_from_it() -> None:
    with create_pipe_input() as keyboard:
        keyboard.send_text("y\r")
        assert take_typed_ahead(keyboard, str) == "y"
        assert take_typed_ahead(keyboard, str) == ""
