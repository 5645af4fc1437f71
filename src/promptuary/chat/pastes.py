"""Long pastes: shown as a placeholder while a message is edited, and sent whole. Pure.

What is pasted is the words of somebody else: nothing in it is ever taken for a reference.
"""

import re
from dataclasses import dataclass
from typing import Final

from promptuary.core.references import Span

MOST_LINES: Final = 5
MOST_CHARACTERS: Final = 500
"""What is longer than either is folded."""

_PLACEHOLDER: Final = re.compile(r"\[Pasted text #\d{1,9}, [\d,]{1,15} lines?\]")


@dataclass(frozen=True, slots=True)
class Unfolded:
    """A message as it is sent: ``pasted`` is where the pasted texts stand in it.

    ``unknown`` are placeholders whose text nobody has: they were recalled from an earlier chat.
    """

    text: str
    pasted: tuple[Span, ...] = ()
    unknown: tuple[str, ...] = ()


class Pastes:
    """The long texts that were pasted in a chat."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def folded(self, text: str) -> str:
        """Return what to show for a pasted text: itself if it is short, else a placeholder."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= MOST_LINES and len(text) <= MOST_CHARACTERS:
            return text
        name = f"[Pasted text #{len(self._texts) + 1}, {lines:,} line{'s' * (lines != 1)}]"
        self._texts[name] = text
        return name

    def unfolded(self, text: str) -> Unfolded:
        """Return a message with the pasted texts in the places of their placeholders."""
        parts: list[str] = []
        spans: list[Span] = []
        unknown: list[str] = []
        length = position = 0
        for found in _PLACEHOLDER.finditer(text):
            whole = self._texts.get(found[0])
            if whole is None:
                unknown.append(found[0])
                continue
            before = text[position : found.start()]
            length += len(before)
            spans.append((length, length + len(whole)))
            length += len(whole)
            parts += [before, whole]
            position = found.end()
        return Unfolded("".join([*parts, text[position:]]), tuple(spans), tuple(dict.fromkeys(unknown)))
