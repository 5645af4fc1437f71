"""Markdown as Telegram's entities: a text without markup, and the position of each style in it. Pure.

Telegram refuses a text with markup that it cannot parse, and a model writes any; entities cannot be misread. It finds
user names in a text by itself, and notifies these people; inside code it finds none, so a name is marked as code.
"""

import re
from functools import lru_cache
from typing import Final, Literal, assert_never

from msgspec import Struct

from promptuary.gateways.texts.markdown import (
    RECENT,
    CodeBlock,
    InlineCode,
    Link,
    QuoteMark,
    Style,
    Styled,
    Text,
    pieces,
)

EntityKind = Literal["bold", "italic", "strikethrough", "code", "pre", "text_link"]

_KINDS: Final[dict[Style, EntityKind]] = {"bold": "bold", "italic": "italic", "strike": "strikethrough"}
_NAME: Final = re.compile(r"@[A-Za-z0-9_]{3,}")
_MAX_ENTITIES: Final = 100
"""Telegram accepts this many entities in a message."""


class Entity(Struct, frozen=True):
    """A styled part of a text, with its position in UTF-16 units."""

    kind: EntityKind
    offset: int
    length: int
    language: str = ""
    url: str = ""


def units(text: str) -> int:
    """Return the length of a text as Telegram counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


@lru_cache(RECENT)
def with_entities(markdown: str) -> tuple[str, tuple[Entity, ...]]:
    """Return the plain text of Markdown, and its entities."""
    drawing = _Drawing()
    for piece in pieces(markdown):
        match piece:
            case Text(text):
                drawing.words(text)
            case InlineCode(text):
                drawing.apart(text, "code")
            case CodeBlock(text, language):
                drawing.apart(text, "pre", language=language)
            case Link(text, url):
                drawing.apart(text, "text_link", url=url)
            case Styled(style, on):
                drawing.styled(_KINDS[style], on=on)
            case QuoteMark():
                drawing.words("> ")
            case _:
                assert_never(piece)
    text, found = drawing.text, tuple(drawing.entities)
    if len(found) > _MAX_ENTITIES:
        found = tuple(one for one in found if one.kind in {"code", "pre"})
    if not text.strip() or len(found) > _MAX_ENTITIES:
        return (text if text.strip() else markdown).replace("@", "@\u200b"), ()
    return text, found


class _Drawing:
    """A text that grows, and its entities."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.entities: list[Entity] = []
        self._units = 0
        self._since: dict[EntityKind, int] = {}

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def words(self, text: str) -> None:
        """Add plain text; a name in it notifies nobody."""
        end = 0
        for found in _NAME.finditer(text):
            self._add(text[end : found.start()])
            self.apart(found[0], "code")
            end = found.end()
        self._add(text[end:])

    def styled(self, kind: EntityKind, *, on: bool) -> None:
        """Begin or end a style."""
        if on:
            self._since[kind] = self._units
        else:
            self._mark(kind, self._since.pop(kind, self._units))

    def apart(self, text: str, kind: EntityKind, *, language: str = "", url: str = "") -> None:
        """Add a text that cannot have styles; the open styles are interrupted."""
        for style, since in self._since.items():
            self._mark(style, since)
        begin = self._units
        self._add(text)
        if text.strip():
            self._mark(kind, begin, language, url)
        self._since = dict.fromkeys(self._since, self._units)

    def _mark(self, kind: EntityKind, since: int, language: str = "", url: str = "") -> None:
        if self._units > since:
            self.entities.append(Entity(kind, since, self._units - since, language, url))

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._units += units(text)
