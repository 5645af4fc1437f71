"""The front matter of a note: its fields, and the names of the note.

Reads as much of YAML and TOML as notes use: a key with a value, or with a list. Nothing is evaluated, and only the
beginning of a file is read.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

START: Final = 8_192
"""The most characters of front matter."""

_MARKS: Final = ("---", "+++")
# In YAML an indented line belongs to another key, in TOML it does not.
_LINES: Final = {
    "---": r"([A-Za-z_-]{1,20})[ \t]*:(?:[ \t]+|\Z)(.*)",
    "+++": r"[ \t]*[\"']?([A-Za-z_-]{1,20})[\"']?[ \t]*=[ \t]*([^#]*)",
}
_ITEM = r"[ \t]*-[ \t]+(.*)"
_TITLES: Final = ("title",)
_LISTS: Final = ("aliases", "alias", "tags", "tag", "keywords")
_QUOTED_OR_NOT = r"\"([^\"]*)\"|'([^']*)'|([^\s,\"'\[\]][^,\]]*)"
_MOST_NAMES: Final = 32
_LONGEST_NAME: Final = 200


def fields(text: str) -> Mapping[str, Sequence[str]]:
    """Return the values of each key in the front matter of ``text`` as they are written, by the key in lower case."""
    start = text[:START].removeprefix("\ufeff")
    if not start.startswith(_MARKS):
        return {}
    mark, *lines = start.split("\n")
    mark = mark.rstrip()
    ends = (number for number, line in enumerate(lines) if line.rstrip() in {mark, "..."})
    if mark not in _MARKS or (end := next(ends, None)) is None:
        return {}
    found: dict[str, list[str]] = {}
    for key, value in _entries(lines[:end], mark):
        found.setdefault(key, []).append(value)
    return found


def _entries(lines: Sequence[str], mark: str) -> Iterator[tuple[str, str]]:
    """Yield each key with its value; a list gives one pair for each item, or for each line of it."""
    key, is_open = "", False
    for line in lines:
        # Keys after the name of a table belong to that table and not to the file.
        if mark == "+++" and not is_open and line.lstrip().startswith("["):
            return
        if is_open:
            value = line.strip()
        elif match := re.match(_LINES[mark], line):
            key, value = match[1].lower(), match[2].strip()
        elif (item := re.match(_ITEM, line)) and key and mark == "---":
            value = item[1].strip()
        else:
            continue
        yield key, value
        is_open = (is_open or value.startswith("[")) and "]" not in value


def names(text: str) -> tuple[str, ...]:
    """Return the title, the aliases and the tags that the front matter of ``text`` names, each once."""
    found: dict[str, None] = {}
    values = fields(text)
    for key in (*_TITLES, *_LISTS):
        for value in values.get(key, ()):
            for name in [value.strip("\"'")] if key in _TITLES else _listed(value):
                plain = " ".join(name.split()).lstrip("#")[:_LONGEST_NAME]
                if plain:
                    found[plain] = None
    return tuple(found)[:_MOST_NAMES]


def listed(text: str, keys: Sequence[str]) -> list[str]:
    """Return what the front matter of ``text`` lists under these keys, in their order."""
    values = fields(text)
    return [one for key in keys for value in values.get(key, ()) for one in _listed(value) if one]


def speakers(text: str) -> frozenset[str]:
    """Return the speakers that the front matter of ``text`` lists, in lower case."""
    return frozenset(name.lower() for name in listed(text, ("speakers",)))


def _listed(value: str) -> Iterator[str]:
    for match in re.finditer(_QUOTED_OR_NOT, value):
        yield match[1] or match[2] or (match[3] or "").strip()
