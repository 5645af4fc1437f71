"""Long pastes: one character stands for each while a message is edited, and the whole text is sent. Pure.

The character is from a private use area, and the prompt shows a placeholder for it. So a paste is deleted as a whole,
and typed words that look like a placeholder are never mistaken for one. Somebody else may have written a pasted text:
nothing in it is ever taken for a reference.
"""

import re
from typing import Final

from msgspec import Struct

from promptuary.base.references import Span
from promptuary.base.text import counted

MOST_LINES: Final = 5
MOST_CHARACTERS: Final = 500
"""A paste that exceeds either limit is folded."""
_MOST_PASTES: Final = 4_000
_FIRST: Final = 0x10F000
_MARK: Final = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + _MOST_PASTES - 1)}]")
_PLACEHOLDER: Final = re.compile(r"\[Pasted text #\d{1,9}, [\d,]{1,15} lines?\]")


class ExpandedPaste(Struct, frozen=True):
    """A message as it is sent: ``pasted`` is where the pasted texts are in it.

    ``literal`` are words that look like a placeholder but are not: typed, or recalled from an earlier chat.
    """

    text: str
    pasted: tuple[Span, ...] = ()
    literal: tuple[str, ...] = ()


class Pastes:
    """The long texts that were pasted in a chat."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def folded(self, text: str) -> str:
        """Return what to insert for a pasted text: itself if it is short, else the character that stands for it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        short = _lines(text) <= MOST_LINES and len(text) <= MOST_CHARACTERS
        if (short and not _MARK.search(text)) or len(self._texts) == _MOST_PASTES:
            return _MARK.sub("\ufffd", text)
        mark = chr(_FIRST + len(self._texts))
        self._texts[mark] = text
        return mark

    def shown(self, text: str) -> str:
        """Return a message as it is shown to a person, with placeholders."""
        return _MARK.sub(lambda found: self.placeholder(found[0]), text)

    def placeholder(self, char: str) -> str:
        """Return what is shown for a character: itself, unless it stands for a pasted text."""
        whole = self._texts.get(char)
        if whole is None:
            return char
        lines = _lines(whole)
        return f"[Pasted text #{ord(char) - _FIRST + 1}, {counted(lines, 'line')}]"

    def unfolded(self, text: str) -> ExpandedPaste:
        """Return a message with the pasted texts in their places."""
        parts: list[str] = []
        spans: list[Span] = []
        length = position = 0
        for found in _MARK.finditer(text):
            whole = self._texts.get(found[0])
            if whole is None:
                continue
            before = text[position : found.start()]
            length += len(before)
            spans.append((length, length + len(whole)))
            length += len(whole)
            parts += [before, whole]
            position = found.end()
        literal = dict.fromkeys(found[0] for found in _PLACEHOLDER.finditer(text))
        return ExpandedPaste("".join([*parts, text[position:]]), tuple(spans), tuple(literal))


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))
