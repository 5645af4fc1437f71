"""Finds the chunks of code that define what a query names, so that a definition comes before its callers. Pure.

Knows the words with which languages begin a definition, and the heading of a chunk, which is the name of what is
defined there. It parses nothing: the chunker did that when the file was indexed.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from promptuary.search.index.port import IndexedChunk
from promptuary.search.query import is_name

KEYWORDS: Final = (
    *("class", "def", "enum", "fn", "func", "function", "interface", "struct", "trait", "type"),
    *("const", "let", "var", "val", "fun", "module", "namespace", "object", "record", "protocol", "union"),
)
"""Keywords before the name in a definition, the most common ones first."""
PHRASES: Final = KEYWORDS[:10]
"""The keywords with which the index is searched."""
MOST_NAMES: Final = 2
"""How many names of a query are looked up."""
_LONGEST: Final = 100
_QUERY: Final = 400
"""How many characters of a query are examined: a pasted page is not a search for a name."""
_NAME: Final = re.compile(r"(?<![\w$.])[^\W\d][\w$]*(?:(?:\.|::|#)[^\W\d][\w$]*)*(?![\w$])")
_PARTS: Final = re.compile(r"\.|::|#")


class NameInCode(NamedTuple):
    """A name in a query, and what it belongs to, if the query says so."""

    name: str
    owner: str = ""


def names_in(query: str) -> list[NameInCode]:
    """Return the names of code in a query: what looks like one, or the only word that there is."""
    found = [one[0] for one in _NAME.finditer(query[:_QUERY]) if len(one[0]) <= _LONGEST]
    alone = is_alone(query)
    parts = [_PARTS.split(one) for one in dict.fromkeys(found) if alone or is_name(one)]
    return [NameInCode(one[-1], one[-2] if len(one) > 1 else "") for one in parts][:MOST_NAMES]


def is_alone(query: str) -> bool:
    """Return whether a query is one word."""
    return len(query[:_QUERY].split()) == 1


def defining(chunks: Mapping[int, IndexedChunk], named: NameInCode) -> list[int]:
    """Return the numbers of the chunks of code that define ``named``, the first line of each definition.

    If no line has a keyword for it, it is the first chunk under a heading with that name: a function in C, a method in
    Java.
    """
    own = {number: one for number, one in chunks.items() if one.kind == "code" and _belongs(one, named)}
    found = [number for number, one in own.items() if _line(named.name).search(one.chunk.text)]
    if found:
        return found
    first: dict[tuple[str, str], int] = {}
    for number, one in sorted(own.items(), key=lambda each: each[1].chunk.start_line):
        if named.name in _heading(one)[-1:]:
            first.setdefault((one.folder, one.path), number)
    return list(first.values())


def _heading(chunk: IndexedChunk) -> list[str]:
    return [part for one in chunk.chunk.heading for part in _PARTS.split(one)]


def _belongs(chunk: IndexedChunk, named: NameInCode) -> bool:
    """Return whether a chunk is a part of what the name belongs to, or has its definition."""
    owner = named.owner
    return not owner or owner in _heading(chunk) or _line(owner).search(chunk.chunk.text) is not None


@lru_cache(maxsize=64)
def _line(name: str) -> re.Pattern[str]:
    """Return the pattern of a line that defines ``name``: after a keyword, or as a constant that is set there."""
    exact, before = re.escape(name), r"^[ \t]*(?:[a-z(){}]{1,20}[ \t]+){0,4}"
    keyword = rf"{before}(?:{'|'.join(KEYWORDS)})!?[ \t]+(?:\([^)\n]{{0,80}}\)[ \t]*)?{exact}(?![\w$])"
    constant = rf"^(?:(?:export|static|final|public|private)[ \t]+){{0,3}}{exact}[ \t]*(?::[^=\n]{{1,80}})?=(?!=)"
    return re.compile(rf"{keyword}|{constant}|^#define[ \t]+{exact}\b", re.MULTILINE)


def phrases_for(named: NameInCode) -> Iterator[str]:
    """Yield the phrases that a definition of ``named`` may have."""
    return (f"{keyword} {named.name}" for keyword in PHRASES)
