"""Conversion of text to columns of a database, and back.

Text that is valid Unicode is stored as text, so that a person can read the tables. SQLite stores any other text (a lone
surrogate) as a blob of its bytes; columns of PostgreSQL have one type, and no NUL, so there it is escaped. A text
always has the same one of these two forms, and a store sees the same values whatever the database is.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from promptuary.base.errors import PromptuaryError
from promptuary.base.values import Json

_ESCAPE: Final = "\x10"
"""The control character that announces an escaped one (data link escape)."""
_ESCAPED: Final = {"\0": _ESCAPE + "0", _ESCAPE: _ESCAPE + "1"}
_PLAIN: Final = {escaped: plain for plain, escaped in _ESCAPED.items()}
_NOT_PLAIN: Final = re.compile("[\0\x10\ud800-\udfff]")
_IS_ESCAPED: Final = re.compile(_ESCAPE + ".", re.DOTALL)
_MOVED: Final = 0xE000 - 0xD800
"""Surrogates are written as the private characters that follow them."""


class NotUnicode(bytes):
    """Text with lone surrogates, as it is stored in a column."""

    __slots__ = ()


def to_column(text: str) -> str | bytes:
    """Return ``text`` as it is stored in a column."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return NotUnicode(text.encode("utf-8", "surrogatepass"))
    return text


def escaped(column: str | bytes) -> str:
    """Return a text, or what ``to_column`` made of it, in characters that every database can store."""
    return _NOT_PLAIN.sub(_escaped, column if isinstance(column, str) else from_column(column))


def unescaped(text: str) -> str | bytes:
    """Undo ``escaped``, and return the text as ``to_column`` does."""
    return to_column(_IS_ESCAPED.sub(_unescaped, text)) if _ESCAPE in text else text


def _escaped(found: re.Match[str]) -> str:
    one = found[0]
    return _ESCAPED[one] if one in _ESCAPED else _ESCAPE + chr(ord(one) + _MOVED)


def _unescaped(found: re.Match[str]) -> str:
    one = found[0]
    return _PLAIN[one] if one in _PLAIN else chr(ord(one[1]) - _MOVED)


def from_column(value: Any) -> str:
    """Undo ``to_column``."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogatepass")
    if isinstance(value, str):
        return value
    raise ValueError("a text is not text")


def row_checksum(*values: object) -> int:
    """Return a checksum of ``values``, which are as stored in columns."""
    digest = hashlib.blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def history_checksum(standing: Iterable[tuple[int, int, int | None]]) -> int:
    """Return the checksum of a history: the number of each item, whether it is pinned, and its own checksum."""
    return row_checksum(*sorted(standing))


Value = TypeVar("Value", bound=Struct)


def to_text(value: Json) -> str:
    """Return ``value`` as JSON, with every character as it is: an escaped pair of surrogates would become one."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def to_body(value: Struct) -> str | bytes:
    """Return a value as JSON for a column; bytes if it has text that is not valid Unicode.

    Raises ``PromptuaryError`` for a value that could not be read again: not every caller has a type checker.
    """
    body: str | bytes
    try:
        body = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        body = NotUnicode(to_text(msgspec.to_builtins(value)).encode("utf-8", "surrogatepass"))
    try:
        from_body(body, type(value))
    except ValueError as error:
        raise PromptuaryError(f"{type(value).__name__} cannot be stored: {error}.") from error
    return body


def from_body(column: str | bytes, kind: type[Value]) -> Value:
    """Undo ``to_body``, or raise ``ValueError``."""
    if isinstance(column, bytes):
        return msgspec.convert(json.loads(column.decode("utf-8", "surrogatepass")), kind, strict=False)
    return msgspec.json.decode(column, type=kind, strict=False)
