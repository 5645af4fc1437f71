"""Texts kept once, by what they are: the blocks of a prompt recur turn after turn.

A text is stored as its bytes, packed if that is shorter, under the SHA-256 of the bytes; reading compares, since SQLite
itself does not notice when a byte on the disk has changed. Knows nothing of what the texts are for.
"""

import hashlib
import sqlite3
import zlib
from dataclasses import dataclass
from typing import Final

from promptuary.storage.sql import queries

_QUERIES = queries(__package__, "queries.sql")

_WORTH_PACKING: Final = 512
_LEVEL: Final = 1
"""The fastest: higher levels take several times as long for a tenth less."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A text as it is stored."""

    sha256: bytes
    packed: int
    body: bytes


def pack(text: str) -> Packed:
    """Return ``text`` as it is stored; lone surrogates are kept."""
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).digest()
    body = zlib.compress(data, _LEVEL) if len(data) >= _WORTH_PACKING else data
    return Packed(digest, 1, body) if len(body) < len(data) else Packed(digest, 0, data)


def unpack(sha256: bytes, packed: int, body: bytes) -> str:
    """Return the text, or raise ``ValueError`` if it is no longer what it was."""
    try:
        data = zlib.decompress(body) if packed else body
    except zlib.error as error:
        raise ValueError("a text cannot be unpacked") from error
    if hashlib.sha256(data).digest() != sha256:
        raise ValueError("a text is not what was written")
    return data.decode("utf-8", "surrogatepass")


class Contents:
    """The texts of a database, within one transaction."""

    __slots__ = ("_connection", "_seen")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._seen: dict[int, str] = {}

    def put(self, text: str) -> int:
        """Keep ``text`` and return its number."""
        # Not packed before it is known to be new: nearly everything in a prompt was there a turn ago.
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        found = self._connection.execute(_QUERIES["find_content"], {"sha256": digest}).fetchone()
        if found is not None:
            return int(found[0])
        kept = pack(text)
        values = {"sha256": kept.sha256, "packed": kept.packed, "body": kept.body}
        return int(self._connection.execute(_QUERIES["add_content"], values).lastrowid or 0)

    def get(self, number: int) -> str:
        """Return the text of that number; each is read once."""
        if number not in self._seen:
            row = self._connection.execute(_QUERIES["get_content"], {"id": number}).fetchone()
            if row is None:
                raise ValueError("a text is missing")
            self._seen[number] = unpack(*row)
        return self._seen[number]
