"""References in messages: their parts, their spelling, the menu that completes them, and pasted text without any.

A reference is ``@kind:value``, a bare keyword (``@diff``), a bare ``@path`` or a tracked ``#path``.
``references.scan`` finds references in a text; ``references.completion`` fills the menu.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, Literal

from msgspec import Struct

from promptuary.base.errors import ConfigError

Sigil = Literal["@", "#"]
"""``@`` attaches a snapshot to this message; ``#`` tracks a file for the thread."""

KEYWORDS = frozenset({"clipboard", "diff", "staged", "status"})
"""Kinds that need no value."""

KINDS = frozenset(
    {"diff", "staged", "file", "folder", "glob", "git", "commit", "url", "symbol", "search", "memory", "remember"}
)
"""Kinds that take a value after a colon."""

WRITING_KINDS = frozenset({"remember"})
"""Kinds that write something and attach nothing."""

NOT_MEASURED = frozenset({"url", "clipboard", *WRITING_KINDS})
"""Kinds that reach out of the workspace or write: they are not resolved while a message is still being typed."""

PATH_KINDS = frozenset({"file", "folder"})
"""Kinds whose value is a path in the workspace."""


class Reference(Struct, frozen=True):
    """One reference and its place in the text.

    ``raw`` is the text from ``start`` to ``end``. ``value`` is without quotes; ``suffix`` is what follows the closing
    quote (``:10-50``). It is empty for an unquoted value: only the resolver can tell a suffix from a path there.
    ``bare`` marks ``@path`` and ``#path``, which count only if the path exists. ``rooted``: its path counts from the
    workspace, wherever the person is. ``remark`` says which of two files is meant.
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
    rooted: bool = False
    remark: str = ""


class LineRange(Struct, frozen=True):
    """Lines ``first`` to ``last``, from 1 on, both included. ``None`` means an open end."""

    first: int | None
    last: int | None

    def __str__(self) -> str:
        if self.first is not None and self.first == self.last:
            return str(self.first)
        first, last = ("" if line is None else line for line in (self.first, self.last))
        return f"{first}-{last}"


ENDS_VALUE = (
    # White space, control characters, and the marks that surround names in JSON, tables and HTML.
    r"\s\x00-\x1f\x7f-\x9f\"`<>|"
    # Typographic quotes, dashes and dots; direction marks and other invisible separators (joiners count as letters).
    r"«»\u2014\u2015\u2018-\u201f\u2026\u2039\u203a\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    # Punctuation of other scripts: Armenian, Arabic, Indic, Burmese, Ethiopic, Khmer.
    r"\u0589\u060c\u061b\u061f\u06d4\u0964\u0965\u104a\u104b\u1361-\u1368\u17d4-\u17d6"
    # Chinese and Japanese punctuation, which no space follows, and full-width forms.
    r"\u3000-\u3003\u3008-\u3011\u3014-\u301f\u30fb"
    r"\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\uff3b\uff3d\uff5b\uff5d\uff5f-\uff65"
)
"""The characters that end an unquoted value, as the inside of a character class."""

PUNCTUATION = r",;!?*'()\[\]{}"
"""Characters that an unquoted value may contain, but not before a sigil, nor unbalanced at its end."""

_GLUED = (
    r"\.[A-Za-z][A-Za-z0-9]{0,9}(?:[:#][0-9LC:,\-]{1,99})?"
    r"(?=[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3041-\u312f\u3131-\u318f\u3400-\u9fff\uac00-\ud7af])"
)


@cache
def glued() -> re.Pattern[str]:
    """Return a file extension, perhaps with lines, directly before a script without spaces: the value ends there."""
    return re.compile(_GLUED)


@cache
def _plain() -> re.Pattern[str]:
    return re.compile(rf"(?![:~]+[@#])[^{ENDS_VALUE}{PUNCTUATION}\\]+(?<![.:~_])")


def quote(value: str) -> str:
    """Return ``value`` as it is written after the colon of a reference, in quotes if it needs any."""
    plain = _plain().fullmatch(value) and value.isprintable() and not glued().search(value)
    return value if plain else _quoted(value)


def _quoted(value: str) -> str:
    """Return ``value`` in quotes; never in backticks, which would pair with others in the text."""
    if '"' not in value and "\\" not in value:
        return f'"{value}"'
    if "'" not in value:
        return f"'{value}'"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def format_reference(kind: str, value: str = "", suffix: str = "") -> str:
    """Return the canonical spelling of an ``@`` reference."""
    if kind in KEYWORDS and not value:
        return f"@{kind}"
    # If the path has a colon, only quotes show where the suffix begins.
    written = _quoted(value) if suffix and ":" in value else quote(value)
    return f"@{kind}:{written}{suffix}"


class MenuItem(Struct, frozen=True):
    """One line of a menu. ``insert`` replaces what is being typed; ``matches`` are offsets in ``label``.

    ``path`` is the file that the line offers, if any. Its ``hint`` may be empty because measuring would have delayed
    the menu.
    """

    insert: str
    label: str
    kind: str
    hint: str = ""
    matches: tuple[int, ...] = ()
    path: str = ""


class Completion(Struct, frozen=True):
    """The menu at the end of a text. An item's ``insert`` replaces ``prefix``, the text from ``start`` on.

    ``scanning`` means that the workspace is still being listed, so that a later answer may have more items.
    """

    start: int
    prefix: str
    items: tuple[MenuItem, ...] = ()
    scanning: bool = False


Span = tuple[int, int]
"""The first position of a part of a text, and the one after its last."""

MAX_PASTED: Final = 1_000

Pasted = Sequence[Span | str]
"""Parts of a message that were pasted: nothing in them is a reference.

They are spans, or texts, each of which is meant wherever it occurs.
"""


def pasted_spans(text: str, pasted: Pasted) -> tuple[Span, ...]:
    """Return where ``pasted`` occurs in ``text``, in order. Raises ``ConfigError`` if it does not occur there."""
    if isinstance(pasted, str):
        raise ConfigError("pasted is a list of texts or of spans; write [text] for a single one")
    if len(pasted) > MAX_PASTED:
        raise ConfigError(f"a message has at most {MAX_PASTED:,} pasted parts, not {len(pasted):,}")
    return tuple(sorted({span for one in dict.fromkeys(pasted) for span in _spans(text, one)}))


def carried_spans(spans: Sequence[Span], before: str, after: str) -> tuple[Span, ...]:
    """Return where the text of ``spans`` is after a rewrite: wherever the same words occur."""
    if before == after:
        return tuple(spans)
    texts = {before[start:end] for start, end in spans}
    return tuple(sorted({span for text in texts for span in _found(after, text)}))


def _spans(text: str, one: object) -> Iterator[Span]:
    match one:
        case str() if one and one in text:
            yield from _found(text, one)
        case str():
            raise ConfigError(f"pasted text that is not in the message: {one[:60]!r}")
        case (int(start), int(end)) if 0 <= start <= end <= len(text):
            yield start, end
        case _:
            raise ConfigError(
                f"pasted is made of texts of the message and of spans (start, end) in its {len(text):,} characters, "
                f"not of {one!r:.60}"
            )


def _found(text: str, part: str) -> Iterator[Span]:
    position = text.find(part) if part else -1
    while position >= 0:
        yield position, position + len(part)
        position = text.find(part, position + len(part))
