"""Conversion of text to columns of SQLite, and back.

Text that is valid Unicode is stored as text, so that a person can read the tables; any other text (a lone surrogate) as
a blob of its bytes. A text always has the same one of these two forms.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from promptuary.base.errors import PromptuaryError
from promptuary.base.values import Json


def to_column(text: str) -> str | bytes:
    """Return ``text`` as it is stored in a column."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


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
        body = to_text(msgspec.to_builtins(value)).encode("utf-8", "surrogatepass")
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
