"""Typeahead: reads what a person typed while no prompt was open, as the text that an editor would have made of it.

``text_of`` is pure.
"""

import os
import re
import select
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prompt_toolkit.input import Input

_MOST: Final = 1 << 20
"""The most bytes that are read; the terminal's buffer is smaller."""
_PASTED: Final = re.compile(r"\x1b\[200~(.*?)(?:\x1b\[201~|\Z)", re.DOTALL)
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x07\x0b-\x14\x16-\x1f\x80-\x9f]")


def take_typed_ahead(keyboard: "Input", folded: Callable[[str], str]) -> str:
    """Return what was typed and not yet read by a prompt, and remove it from the keyboard.

    ``folded`` returns what stands for a pasted text.
    """
    from prompt_toolkit.input.typeahead import get_typeahead  # noqa: PLC0415  (an extra)

    read_too_early = "".join(press.data for press in get_typeahead(keyboard))
    return text_of(read_too_early + _waiting(keyboard.fileno()), folded)


def text_of(keys: str, folded: Callable[[str], str]) -> str:
    """Return the text that ``keys`` produce: without trailing line breaks, and without keys that only move."""
    parts, position = [], 0
    for found in _PASTED.finditer(keys):
        parts += [_edited(keys[position : found.start()]), folded(found[1])]
        position = found.end()
    return "".join([*parts, _edited(keys[position:])]).rstrip("\n")


def _edited(keys: str) -> str:
    """Return the text of keys: Backspace removes a character, Ctrl-U a line."""
    plain = _CONTROL.sub("", _SEQUENCE.sub("", keys).replace("\r", "\n").replace("\t", " "))
    if not re.search("[\x08\x15\x7f]", plain):
        return plain
    text: list[str] = []
    for key in plain:
        if key in "\x08\x7f":
            del text[-1:]
        elif key == "\x15":
            while text and text[-1] != "\n":
                text.pop()
        else:
            text.append(key)
    return "".join(text)


def _waiting(keyboard: int) -> str:
    """Return the unread input of the keyboard."""
    data = b""
    while len(data) < _MOST and select.select([keyboard], [], [], 0)[0]:
        try:
            more = os.read(keyboard, 4_096)
        except OSError:  # the terminal is gone
            break
        if not more:
            break
        data += more
    return data.decode("utf-8", "replace")
