"""Conversion of text to columns of SQLite, and back.

Text that is valid Unicode is stored as text, so that a person can read the tables; any other text (a lone surrogate) as
a blob of its bytes. A text always has the same one of these two forms.
"""

import hashlib
from collections.abc import Iterable
from typing import Any


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
