"""Texts stored once each, by their content: the blocks of a prompt recur turn after turn.

A text is stored as its bytes, packed if that is shorter, under the SHA-256 of the bytes; reading compares, since SQLite
itself does not notice when a byte on the disk has changed. Knows nothing of what the texts are for.
"""

import hashlib
import sqlite3
import zlib
from dataclasses import dataclass
from typing import Final

from promptuary.storage.sqlite.queries import queries
from promptuary.storage.sqlite.sql import SQL

_QUERIES = queries(SQL, "thread_queries.sql")

_WORTH_PACKING: Final = 512
_LEVEL: Final = 1
"""The fastest: higher levels take several times as long for a tenth less."""


_KNOWN_NUMBERS: Final = 50_000


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
    """Return the text, or raise ``ValueError`` if it differs from what was written."""
    try:
        data = zlib.decompress(body) if packed else body
    except zlib.error as error:
        raise ValueError("a text cannot be unpacked") from error
    if hashlib.sha256(data).digest() != sha256:
        raise ValueError("a text is not what was written")
    return data.decode("utf-8", "surrogatepass")


class Numbers:
    """A cache: the row numbers of texts by their hashes. The number of a text never changes.

    Any thread may ask or tell.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}

    def of(self, digest: bytes) -> int | None:
        """Return the number of a text, if it is known."""
        return self._known.get(digest)

    def learn(self, contents: "Contents") -> None:
        """Add what a committed transaction looked up or added."""
        if len(self._known) > _KNOWN_NUMBERS:
            self._known = {}
        self._known.update(contents.numbers)


class Contents:
    """The texts of a database, within one transaction; ``numbers`` are those that it had to look up or add."""

    __slots__ = ("_connection", "_known", "_seen", "digests", "numbers")

    def __init__(self, connection: sqlite3.Connection, known: Numbers | None = None) -> None:
        self.numbers: dict[bytes, int] = {}
        self.digests: dict[int, bytes] = {}
        """The hashes of the texts that were stored or read."""
        self._connection = connection
        self._known = known or Numbers()
        self._seen: dict[int, str] = {}

    def put(self, text: str) -> int:
        """Store ``text`` and return its number."""
        # Not packed before it is known to be new: nearly everything in a prompt was there a turn ago.
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        known = self._known.of(digest)
        if known is not None:
            self.digests[known] = digest
            return known
        found = self._connection.execute(_QUERIES["find_content"], {"sha256": digest}).fetchone()
        number = self.numbers[digest] = self._add(text) if found is None else int(found[0])
        self.digests[number] = digest
        return number

    def _add(self, text: str) -> int:
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
            self.digests[number] = row[0]
        return self._seen[number]
