"""What a reference in a message is, how one is written, and the menu that completes one.

A reference is ``@kind:value``, a bare keyword (``@diff``), a bare ``@path`` or a tracked ``#path``.
``references.scan`` finds references in a text; ``references.completion`` fills the menu.
"""

import re
from dataclasses import dataclass
from typing import Literal

Sigil = Literal["@", "#"]
"""``@`` brings a snapshot in now; ``#`` keeps the file in view."""

KEYWORDS = frozenset({"diff", "staged", "status"})
"""Kinds that stand alone: they take no value."""

KINDS = frozenset({"file", "folder", "glob", "git", "commit", "url", "symbol", "search", "memory"})
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
        first, last = ("" if line is None else line for line in (self.first, self.last))
        return f"{first}-{last}"


ENDS_VALUE = (
    # White space, control characters, and what no one puts into a name but everyone around one: JSON, tables, HTML.
    r"\s\x00-\x1f\x7f-\x9f\"`<>|"
    # Typographic quotes, dashes and dots; marks of direction and other invisible separators (joiners are letters).
    r"«»\u2014\u2015\u2018-\u201f\u2026\u2039\u203a\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    # The stops of other scripts: Armenian, Arabic, Indic, Burmese, Ethiopic, Khmer.
    r"\u0589\u060c\u061b\u061f\u06d4\u0964\u0965\u104a\u104b\u1361-\u1368\u17d4-\u17d6"
    # Chinese and Japanese punctuation, which is followed by no space, in its own and its full-width form.
    r"\u3000-\u3003\u3008-\u3011\u3014-\u301f\u30fb"
    r"\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\uff3b\uff3d\uff5b\uff5d\uff5f-\uff65"
)
"""What an unquoted value ends at, as the inside of a character class."""

PUNCTUATION = r",;!?*'()\[\]{}"
"""What may stand inside an unquoted value but not before a sigil, nor (unbalanced) at its end; likewise."""

GLUED = re.compile(
    r"\.[A-Za-z][A-Za-z0-9]{0,9}(?:[:#][0-9LC:,\-]{1,99})?"
    r"(?=[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3041-\u312f\u3131-\u318f\u3400-\u9fff\uac00-\ud7af])"
)
"""An extension, perhaps with lines, that a script without spaces follows at once: there the value ends."""

_PLAIN = re.compile(rf"(?![:~]+[@#])[^{ENDS_VALUE}{PUNCTUATION}\\]+(?<![.:~_])")


def quote(value: str) -> str:
    """Return ``value`` as it must be written after the colon of a reference."""
    plain = _PLAIN.fullmatch(value) and value.isprintable() and not GLUED.search(value)
    return value if plain else _quoted(value)


def _quoted(value: str) -> str:
    """Return ``value`` in quotes; never backticks, which would pair with those of the text around."""
    if '"' not in value and "\\" not in value:
        return f'"{value}"'
    if "'" not in value:
        return f"'{value}'"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def format_reference(kind: str, value: str = "", suffix: str = "") -> str:
    """Return the canonical spelling of an ``@`` reference."""
    if kind in KEYWORDS:
        return f"@{kind}"
    # With a colon in the path, only quotes tell where the suffix begins.
    written = _quoted(value) if suffix and ":" in value else quote(value)
    return f"@{kind}:{written}{suffix}"


@dataclass(frozen=True, slots=True)
class MenuItem:
    """One line of a menu. ``insert`` replaces what is being typed; ``matches`` are offsets in ``label``."""

    insert: str
    label: str
    kind: str
    hint: str = ""
    matches: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """The menu at the end of a text. An item's ``insert`` replaces ``prefix``, the text from ``start`` on.

    ``scanning`` means that the workspace is still being listed, so that a later answer may have more items.
    """

    start: int
    prefix: str
    items: tuple[MenuItem, ...] = ()
    scanning: bool = False
