"""The parts of source code: its definitions, each with the comments right above it.

``outline`` finds the definitions. Code that does not parse in time, or is in a language without a grammar, is one part.
"""

import re
from collections.abc import Callable
from typing import Final

from promptuary.base.languages import language_of
from promptuary.search.chunks.lines import Lines, Part
from promptuary.search.outline import definitions, has_grammar

_DEEPEST: Final = 8
"""Definitions nested deeper than this are not separate parts."""

_TITLE = 120
_LONE_RETURN = re.compile(r"\r(?!\n)")


def code_parts(lines: Lines, path: str, on_slow: Callable[[], None]) -> Part:
    """Return the parts of the source code of the file ``path``; call ``on_slow`` if it takes too long to parse."""
    whole = Part(0, len(lines))
    language = language_of(path)
    if not has_grammar(language):
        return whole
    open_parts = [(whole, "")]
    for found in definitions(_as_parsed(lines.text), language, on_slow):
        first, end = found.first - 1, min(found.last, len(lines))
        while len(open_parts) > 1 and (first >= open_parts[-1][0].end or len(open_parts) > found.depth + 1):
            open_parts.pop()
        around, prefix = open_parts[-1]
        # A definition on the first line of the enclosing one is not a separate part.
        free = around.parts[-1].end if around.parts else around.first + (around is not whole)
        if found.depth >= _DEEPEST or first < free or end > around.end or first >= end:
            continue
        part = Part(max(found.above - 1, free), end)
        part.title = " ".join(found.name.removeprefix(prefix).split())[:_TITLE]
        around.parts.append(part)
        open_parts.append((part, f"{found.name}."))
    return whole


def _as_parsed(text: str) -> str:
    """Return ``text`` with the same number of lines for the parser as here, and without a byte order mark."""
    text = f" {text[1:]}" if text.startswith("\ufeff ") else text.removeprefix("\ufeff")
    return _LONE_RETURN.sub(" ", text) if "\r" in text else text
