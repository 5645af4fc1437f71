"""Texts stored once each, by their content: the blocks of a prompt recur turn after turn.

A text is stored as its bytes, compressed if that is shorter, under the SHA-256 of the bytes; reading verifies it, since
SQLite itself does not notice when a byte on the disk has changed. A redacted text keeps the old hash as its name, so
storing the old text again yields the redacted one. Does not know what the texts are for, but records which of them name
notes, so that these can be found.
"""

import hashlib
import zlib
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.storage.redaction import mentioned

_QUERIES = queries("promptuary.storage.threads", "threads.sql")

_WORTH_PACKING: Final = 512
_LEVEL: Final = 1
"""The fastest level: higher ones take several times as long for a tenth less."""


_KNOWN_NUMBERS: Final = 50_000

REDACTED: Final = 2
"""Added to ``packed`` of a redacted text: the hash of the redacted text precedes it."""
_HASH: Final = 32


class Packed(Struct, frozen=True):
    """A text as it is stored."""

    sha256: bytes
    packed: int
    body: bytes


def pack(text: str, *, at_least: int = _WORTH_PACKING) -> Packed:
    """Return ``text`` as it is stored, with lone surrogates. One of less than ``at_least`` bytes is not compressed."""
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).digest()
    body = zlib.compress(data, _LEVEL) if len(data) >= at_least else data
    return Packed(digest, 1, body) if len(body) < len(data) else Packed(digest, 0, data)


def pack_redacted(text: str, name: bytes) -> Packed:
    """Return a redacted text as it is stored, under its old hash, or any other name."""
    left = pack(text)
    return Packed(name, left.packed | REDACTED, left.sha256 + left.body)


def unpack(sha256: bytes, packed: int, body: bytes) -> str:
    """Return the text, or raise ``ValueError`` if it differs from what was written."""
    if packed & REDACTED:
        sha256, body = body[:_HASH], body[_HASH:]
    try:
        data = zlib.decompress(body) if packed & ~REDACTED else body
    except zlib.error as error:
        raise ValueError("a text cannot be unpacked") from error
    if hashlib.sha256(data).digest() != sha256:
        raise ValueError("a text is not what was written")
    return data.decode("utf-8", "surrogatepass")


class Numbers:
    """A cache: the row numbers of texts by their hashes. The number of a text never changes while it is there.

    Thread-safe.
    """

    __slots__ = ("_known", "_removals")

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}
        self._removals = 0

    def check(self, connection: Connection) -> int:
        """Clear the cache if any process removed a text since; return how often that happened."""
        (removals,) = connection.execute(_QUERIES["removals"]).fetchone()
        if removals != self._removals:
            self._known, self._removals = {}, removals
        return self._removals

    def of(self, digest: bytes) -> int | None:
        """Return the number of a text, if it is known."""
        return self._known.get(digest)

    def learn(self, contents: "Contents") -> None:
        """Add the numbers that a committed transaction looked up or added, unless a text was removed meanwhile."""
        if contents.removals != self._removals:
            return
        if len(self._known) > _KNOWN_NUMBERS:
            self._known = {}
        self._known.update(contents.numbers)


class Contents:
    """The texts of a database, within one transaction; ``numbers`` are those that it had to look up or add."""

    __slots__ = ("_connection", "_known", "_seen", "digests", "numbers", "redacted", "removals")

    def __init__(self, connection: Connection, known: Numbers | None = None) -> None:
        self.numbers: dict[bytes, int] = {}
        self.digests: dict[int, bytes] = {}
        """The hashes of the texts that were stored or read."""
        self.redacted: set[int] = set()
        """Those that were read and are redacted."""
        self._connection = connection
        self._known = known or Numbers()
        self.removals = 0 if known is None else known.check(connection)
        self._seen: dict[int, str] = {}

    def put(self, text: str, *, is_receipt: bool = False) -> int:
        """Store ``text`` and return its number."""
        # Not compressed before it is known to be new: nearly everything in a prompt was there a turn ago.
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        known = self._known.of(digest)
        if known is not None:
            self.digests[known] = digest
            return known
        found = self._connection.execute(_QUERIES["find_content"], {"sha256": digest}).fetchone()
        number = self.numbers[digest] = self._add(text, is_receipt=is_receipt) if found is None else int(found[0])
        self.digests[number] = digest
        return number

    def put_redacted(self, text: str, name: bytes, *, is_receipt: bool = False) -> int:
        """Store a redacted text under a separate name, and return its number."""
        number = self._insert(pack_redacted(text, name))
        self.digests[number] = name
        self._mention_all(number, text, is_receipt=is_receipt)
        return number

    def digest(self, number: int) -> bytes:
        """Return the hash under which the text with that number is stored."""
        if number not in self.digests:
            self.get(number)
        return self.digests[number]

    def mention(self, number: int, notes: Iterable[str]) -> None:
        """Record that the text with that number names notes."""
        self._connection.executemany(_QUERIES["add_mention"], [(note, number) for note in sorted(notes)])

    def _add(self, text: str, *, is_receipt: bool) -> int:
        number = self._insert(pack(text))
        self._mention_all(number, text, is_receipt=is_receipt)
        return number

    def _mention_all(self, number: int, text: str, *, is_receipt: bool) -> None:
        """Record which notes a text names, so that they can be forgotten."""
        if notes := mentioned(text):
            self.mention(number, notes)
            if is_receipt:
                self._connection.execute(_QUERIES["add_mention_receipt"], {"content": number})

    def _insert(self, kept: Packed) -> int:
        values = {"sha256": kept.sha256, "packed": kept.packed, "body": kept.body}
        return int(self._connection.execute(_QUERIES["add_content"], values).fetchone()[0])

    def get(self, number: int) -> str:
        """Return the text with that number; each is read once."""
        if number not in self._seen:
            row = self._connection.execute(_QUERIES["get_content"], {"id": number}).fetchone()
            if row is None:
                raise ValueError("a text is missing")
            self._seen[number] = unpack(*row)
            self.digests[number] = row[0]
            if row[1] & REDACTED:
                self.redacted.add(number)
        return self._seen[number]
