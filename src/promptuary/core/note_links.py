"""Links between notes: what others call a note is a name of it. Pure.

``[the runbook](ops/deploy.md)`` and ``[[deploy|the runbook]]`` say that ``deploy.md`` is the runbook, which may stand
nowhere in that file. A link without words of its own (``[[deploy]]``) says nothing that the path does not say. Takes
time proportional to the text.
"""

import re
from collections.abc import Iterable, Iterator
from posixpath import dirname, join, normpath
from typing import Final
from unicodedata import normalize

from promptuary.core.search import NoteLink

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
_NOTE_ENDINGS: Final = (".md", ".markdown", ".mdx")
_ESCAPES: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_MARKS: Final = re.compile(r"[*_`]+")


def links_in(text: str) -> tuple[NoteLink, ...]:
    """Return the links to other files in a text of Markdown, each once, that have words of their own."""
    if "](" not in text and "[[" not in text:
        return ()
    found: dict[NoteLink, None] = {}
    for link in _links(text):
        if link.text and note_name(link.text) != note_name(link.target):
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


def note_name(path: str) -> str:
    """Return the name by which links find a file: without folders, and without the ending of a note."""
    return _key(path).rpartition("/")[2]


def pointed_at(target: str, source: str, paths: Iterable[str]) -> str | None:
    """Return which of ``paths`` a link in the file ``source`` points at; all of them have the name of its target.

    The path from that file is meant, else the path from the top, else a file whose path ends so: people leave out
    folders. Of several the shortest path is taken, of equally long ones the first.
    """
    written = _key(target)
    beside, top = normpath(join(dirname(_key(source)), written)), normpath(written).lstrip("/")

    def distance(path: str) -> int:
        key = _key(path)
        return 0 if key == beside else 1 if key == top else 2 if f"/{key}".endswith(f"/{top}") else 3

    ranked = sorted((distance(path), len(path), path) for path in paths)
    return ranked[0][2] if ranked and ranked[0][0] < 3 else None


def _key(path: str) -> str:
    """Return a path in one spelling, without the ending of a note."""
    plain = normalize("NFC", path).casefold()
    ending = next((one for one in _NOTE_ENDINGS if plain.endswith(one)), "")
    return plain.removesuffix(ending)
