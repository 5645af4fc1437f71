"""The links of a note to other files: the text of a link is a name of its target. Pure.

``[the runbook](ops/deploy.md)`` and ``[[deploy|the runbook]]`` say that ``deploy.md`` is the runbook, a word that may
not occur in that file. A link without its own text (``[[deploy]]``) adds nothing to the path. Takes time proportional
to the text.
"""

import re
from collections.abc import Iterator
from typing import Final

from promptuary.search.values import NoteLink, note_name

MOST_LINKS: Final = 200
"""The most links of one text that count: a text with more is a list of files."""

# Bounded, so that endless brackets take no longer than other text. The first excludes images and embedded files.
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
    """Return the links to other files in a Markdown text that have their own text, each once."""
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
        # Characters that cannot be in a path come only from escapes.
        if target and not _ADDRESS.match(target) and "\0" not in target and "\n" not in target:
            yield NoteLink(target, " ".join(_MARKS.sub("", called or inline).split()))


def _unescaped(path: str) -> str:
    """Return a path whose percent escapes are decoded."""
    return _ESCAPES.sub(lambda match: bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace"), path)
