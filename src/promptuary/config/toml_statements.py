"""Finds the positions of the statements of a TOML file: headings, and keys with their values. Pure.

``tomllib`` has already parsed the text, so this does not look for mistakes; it only finds positions, also those of the
members of inline tables. The values are left to ``tomllib``.
"""

import re
import tomllib
from typing import Final

from msgspec import Struct

from promptuary.base.errors import PromptuaryError

MAX_DEPTH: Final = 50
_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_NAME: Final = r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'"""
_KEY: Final = re.compile(rf"(?:{_NAME})(?:[ \t]*\.[ \t]*(?:{_NAME}))*")
_ONE_NAME: Final = re.compile(_NAME)
_HEADING: Final = re.compile(rf"\[(\[?)[ \t]*({_KEY.pattern})[ \t]*\]\]?")
_STRING: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_PLAIN: Final = re.compile(r"[^,\[\]{}#\r\n\"']+")


class TomlPair(Struct, frozen=True):
    """A key and its value: where the key begins, where the value begins and ends.

    ``members`` are those of an inline table, ``None`` for any other value.
    """

    path: tuple[str, ...]
    start: int
    value: int
    end: int
    members: "tuple[TomlPair, ...] | None"


class TomlTable(Struct, frozen=True):
    """A heading with the pairs below it; the first table of a file has no heading, so its ``end`` is ``start``."""

    path: tuple[str, ...]
    start: int
    end: int
    is_item: bool
    pairs: tuple[TomlPair, ...]

    @property
    def stop(self) -> int:
        """The end of the last pair, or of the heading."""
        return self.pairs[-1].end if self.pairs else self.end


def tables(text: str) -> list[TomlTable]:
    """Return the tables of a file, in order. Raises ``PromptuaryError`` if one cannot be found in the text."""
    place = _blank(text, 1 if text.startswith("\ufeff") else 0)
    found: list[TomlTable] = []
    heading: tuple[tuple[str, ...], int, int, bool] = ((), place, place, False)
    pairs: list[TomlPair] = []
    while place < len(text):
        match = _HEADING.match(text, place)
        if match is None:
            pairs.append(_pair(text, place, 0))
            place = _blank(text, pairs[-1].end)
            continue
        found.append(TomlTable(*heading, tuple(pairs)))
        heading, pairs = (_names(match[2]), place, match.end(), bool(match[1])), []
        place = _blank(text, match.end())
    return [*found, TomlTable(*heading, tuple(pairs))]


def _pair(text: str, place: int, depth: int) -> TomlPair:
    key = _KEY.match(text, place)
    equals = _blank(text, key.end()) if key else place
    if key is None or text[equals : equals + 1] != "=":
        raise _unclear(text, place)
    start = _blank(text, equals + 1)
    end, members = _value(text, start, depth)
    return TomlPair(_names(key[0]), place, start, end, members)


def _value(text: str, place: int, depth: int) -> tuple[int, tuple[TomlPair, ...] | None]:
    if depth > MAX_DEPTH:
        raise PromptuaryError("the file is nested too deeply")
    first = text[place : place + 1]
    if first in {"{", "["}:
        return _collection(text, place, depth + 1)
    found = (_STRING if first in {'"', "'"} else _PLAIN).match(text, place)
    if found is None:
        raise _unclear(text, place)
    return place + len(found[0].rstrip()), None


def _collection(text: str, place: int, depth: int) -> tuple[int, tuple[TomlPair, ...] | None]:
    """Return where an inline table or an array ends, and the members of a table."""
    is_table = text[place] == "{"
    members: list[TomlPair] = []
    at = _blank(text, place + 1)
    while text[at : at + 1] != ("}" if is_table else "]"):
        if is_table:
            members.append(_pair(text, at, depth))
        end = members[-1].end if is_table else _value(text, at, depth)[0]
        at = _blank(text, end)
        at = _blank(text, at + 1) if text[at : at + 1] == "," else at
    return at + 1, tuple(members) if is_table else None


def _names(key: str) -> tuple[str, ...]:
    return tuple(
        str(tomllib.loads(f"x = {one[0]}")["x"]) if one[0][0] in "\"'" else one[0] for one in _ONE_NAME.finditer(key)
    )


def _blank(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return found.end() if found else place


def _unclear(text: str, place: int) -> PromptuaryError:
    return PromptuaryError(f"line {text.count(chr(10), 0, place) + 1} is not understood")
