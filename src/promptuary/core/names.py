"""Names that are several words in one, as in code: ``camelCase``, ``HTTPServer``. Which words they are.

Every text that is indexed is looked through for them.
"""

import re
from functools import lru_cache
from typing import Final

LONGEST_NAME: Final = 72
"""Characters of a name that is taken apart; what is longer is data rather than a name."""

# What each byte is: a small letter or digit, a capital, or nothing of a name. Looking for bytes in a row is far faster
# than any regular expression.
_SHAPE = b" " * 48 + b"a" * 10 + b" " * 7 + b"A" * 26 + b" " * 6 + b"a" * 26 + b" " * 133
_TURNS = (b"aA", b"AAa")
_TURN = re.compile("[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")
_PART = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def name_parts(text: str) -> list[str]:
    """Return the words of each name in ``text`` that is several in one, with spaces between them; each name once."""
    if text.islower():  # as paths mostly are
        return []
    return list(filter(None, map(_parts_of, _turning(text))))


def taken_apart(text: str) -> str:
    """Return the words of all names in ``text``, and nothing of what stands between them."""
    return " ".join(_PART.findall(text))


def _turning(text: str) -> dict[str, None]:
    """Return the names in ``text`` within which a new word may begin by its capital, unless they are too long."""
    shape = text.encode("latin-1", "replace").translate(_SHAPE) + b" "
    found: dict[str, None] = {}
    for turn in _TURNS:
        at = shape.find(turn)
        while at >= 0:
            start, end = shape.rfind(b" ", 0, at) + 1, shape.find(b" ", at)
            if end - start <= LONGEST_NAME:
                found[text[start:end]] = None
            at = shape.find(turn, end)
    return found


@lru_cache(maxsize=65_536)
def _parts_of(name: str) -> str:
    """Return the words that a name is made of; none if it is one word. The same names come again and again."""
    return taken_apart(name) if _TURN.search(name) else ""
