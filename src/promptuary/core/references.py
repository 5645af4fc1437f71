"""What a reference in a message is, and how one is written.

A reference is ``@kind:value``, a bare keyword (``@diff``), a bare ``@path`` or a tracked ``#path``.
This module holds the value and its spelling; ``references.scan`` finds them in a text.
"""

from dataclasses import dataclass
from typing import Literal

Sigil = Literal["@", "#"]
"""``@`` brings a snapshot in now; ``#`` keeps the file in view."""

KEYWORDS = frozenset({"diff", "staged", "status"})
"""Kinds that stand alone: they take no value."""

KINDS = frozenset({"file", "folder", "glob", "git", "commit", "url", "symbol"})
"""Kinds that need a value after the colon."""

PATH_KINDS = frozenset({"file", "folder"})
"""Kinds whose value is a path in the workspace."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference, exactly where it stands in the text.

    ``raw`` is the text from ``start`` to ``end``. ``value`` is unquoted; ``suffix`` is what followed
    the closing quote (``:10-50``), empty for an unquoted value, whose suffix only the resolver can
    tell from the path itself. ``bare`` marks ``@path`` and ``#path``: they count only if the path exists.
    """

    raw: str
    sigil: Sigil
    kind: str
    value: str
    start: int
    end: int
    suffix: str = ""
    quoted: bool = False
    bare: bool = False


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines ``first`` to ``last``, counted from one, both included; ``None`` is an open end."""

    first: int | None
    last: int | None

    def __str__(self) -> str:
        if self.first is not None and self.first == self.last:
            return str(self.first)
        return f"{self.first or ''}-{self.last or ''}"


_NEEDS_QUOTES = frozenset(" \t()[]{}<>\"'`,;!?*|\\“”‘’（），。；：！？、【】「」『』《》〈〉…")
_TRAILING = ".:,;!?*_~"


def quote(value: str) -> str:
    """Return ``value`` as it must be written after the colon of a reference."""
    plain = value and not value.endswith(tuple(_TRAILING)) and not any(c in _NEEDS_QUOTES for c in value)
    if plain and value.isprintable():
        return value
    for mark in '"`':
        if mark not in value and not (mark == '"' and "\\" in value):
            return f"{mark}{value}{mark}"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def format_reference(kind: str, value: str = "", suffix: str = "") -> str:
    """Return the canonical spelling of an ``@`` reference."""
    if kind in KEYWORDS:
        return f"@{kind}"
    return f"@{kind}:{quote(value)}{suffix}"
