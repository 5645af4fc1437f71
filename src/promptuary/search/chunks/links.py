"""The links of a note to other files: what others call a note is a name of it. Pure.

``[the runbook](ops/deploy.md)`` and ``[[deploy|the runbook]]`` say that ``deploy.md`` is the runbook, which may stand
nowhere in that file. A link without words of its own (``[[deploy]]``) says nothing that the path does not say. Takes
time proportional to the text.
"""

import re
from collections.abc import Iterator
from typing import Final

from promptuary.core.search import NoteLink, note_name

MOST_LINKS: Final = 200
"""Links of one text that count: one with more is a list of files."""

# Bounded, so that brackets without end take no longer than other text. The first is no image and no embedded file.
_WIKI: Final = r"(?<!!)\[\[([^\[\]|\n\\]{1,300})\\?\|([^\[\]\n]{1,200})\]\]"
_INLINE: Final = (
    r"(?<![!\[])\[([^\[\]\n]{1,200})\]\([ \t]{0,4}(?:<([^<>\n]{1,300})>|([^()<>\s]{1,300}))"
    r"(?:[ \t]{1,4}[\"'][^()\n]{0,200})?\)"
)
_LINK: Final = re.compile(f"{_WIKI}|{_INLINE}")
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:|//")
_ESCAPES: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_MARKS: Final = re.compile(r"[*_`]+")


def links_in(text: str) -> tuple[NoteLink, ...]:
    """Return the links to other files in a text of Markdown, each once, that have words of their own."""
    if "](" not in text and "[[" not in text:
        return ()
    found: dict[NoteLink, None] = {}
    for link in _links(text):
        if link.text and note_name(link.text) != link.name:
            found[link] = None
        if len(found) >= MOST_LINKS:
            break
    return tuple(found)


def _links(text: str) -> Iterator[NoteLink]:
    for match in _LINK.finditer(text):
        wiki, called, inline, bracketed, plain = match.groups()
        target = (wiki or _unescaped(bracketed or plain)).partition("#")[0].strip()
        # Characters that no path has come from escapes alone.
        if target and not _ADDRESS.match(target) and "\0" not in target and "\n" not in target:
            yield NoteLink(target, " ".join(_MARKS.sub("", called or inline).split()))


def _unescaped(path: str) -> str:
    """Return a path of which spaces and other characters are written as in an address."""
    return _ESCAPES.sub(lambda match: bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace"), path)
