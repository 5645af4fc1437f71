"""Code in a text of Markdown as Telegram wants to be told of it: the text without the fences, and where code is. Pure.

Only code is marked. Telegram refuses a text whose other marks it cannot make sense of, and a model writes any.
"""

import re
from dataclasses import dataclass
from typing import Final

_FENCED: Final = re.compile(
    r"^(`{3,16}|~{3,16})[ \t]*([\w+#.-]*)[ \t]*\n(.*?)(?:\n\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_INLINE: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_MOST: Final = 100
"""Telegram takes so many marks in a message."""


@dataclass(frozen=True, slots=True)
class CodeEntity:
    """A part of a text that is code: where it is, in units of UTF-16, and in which language a block is."""

    offset: int
    length: int
    language: str | None = None


def with_code_marked(text: str) -> tuple[str, list[CodeEntity]]:
    """Return a text without the marks around code, and where that code is."""
    entities: list[CodeEntity] = []
    shown, end = "", 0
    for found in _FENCED.finditer(text):
        shown = _with_inline(shown, text[end : found.start()], entities)
        shown = _marked(shown, found[3], entities, found[2])
        end = found.end()
    shown = _with_inline(shown, text[end:], entities)
    if not shown.strip() or len(entities) > _MOST:
        return text, []
    return shown, entities


def _with_inline(shown: str, text: str, entities: list[CodeEntity]) -> str:
    end = 0
    for found in _INLINE.finditer(text):
        shown = _marked(shown + text[end : found.start()], found[1], entities, None)
        end = found.end()
    return shown + text[end:]


def _marked(shown: str, code: str, entities: list[CodeEntity], language: str | None) -> str:
    if code.strip():
        entities.append(CodeEntity(_units(shown), _units(code), language))
    return shown + code


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
