"""Texts stored once for each owner, by their content: the blocks of a prompt recur turn after turn.

A text is stored as its bytes, compressed if that is shorter, under the SHA-256 of the bytes; reading verifies it, since
SQLite itself does not notice when a byte on the disk has changed. A redacted text keeps the old hash as its name, so
storing the old text again yields the redacted one. Does not know what the texts are for, but records which of them name
notes, so that these can be found.
"""

import hashlib
import re
import zlib
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from promptuary.database.port import Connection
from promptuary.database.queries import queries

_QUERIES: Final = queries(__package__, "contents.sql")

_SCHEMES: Final = ("memory:", "experience:")
"""The prefixes of addresses that can be forgotten: of a note, of an experience."""

_ID: Final = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{2,62}[A-Za-z0-9])"
_ADDRESS: Final = re.compile(rf"(?:memory|experience):({_ID})(?![A-Za-z0-9_-])")
MARK: Final = re.compile(
    rf"\[forgotten: ((?:memory|experience):{_ID}|(?:file|index|url):[^\n]{{1,4096}}?(?=\](?:[\s\"]|$)))\]"
)

_WORTH_PACKING: Final = 512
_LEVEL: Final = 1
"""The fastest level: higher ones take several times as long for a tenth less."""

_COMPRESSED: Final = 1
REDACTED: Final = 2
"""In ``packed`` of a redacted text: the hash of the redacted text precedes it."""
PART: Final = 4
"""In ``packed`` of what is not a text, but a part of a list of messages."""
_HASH: Final = 32
_AT_ONCE: Final = 16
"""How many texts are looked up at once: the slots of ``stored_contents``."""


class Packed(Struct, frozen=True):
    """A text as it is stored."""

    sha256: bytes
    packed: int
    body: bytes


def hash_of(text: str) -> bytes:
    """Return the name of ``text``."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def pack(text: str, *, at_least: int = _WORTH_PACKING) -> Packed:
    """Return ``text`` as it is stored, with lone surrogates. One of less than ``at_least`` bytes is not compressed."""
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).digest()
    body = zlib.compress(data, _LEVEL) if len(data) >= at_least else data
    return Packed(digest, _COMPRESSED, body) if len(body) < len(data) else Packed(digest, 0, data)


def pack_redacted(text: str, name: bytes) -> Packed:
    """Return a redacted text as it is stored, under its old hash, or any other name."""
    left = pack(text)
    return Packed(name, left.packed | REDACTED, left.sha256 + left.body)


def unpack(sha256: bytes, packed: int, body: bytes) -> str:
    """Return the text, or raise ``ValueError`` if it differs from what was written."""
    return unpack_bytes(sha256, packed, body).decode("utf-8", "surrogatepass")


def unpack_bytes(sha256: bytes, packed: int, body: bytes) -> bytes:
    """Return the bytes, or raise ``ValueError`` if they differ from what was written."""
    if packed & REDACTED:
        sha256, body = body[:_HASH], body[_HASH:]
    try:
        data = zlib.decompress(body) if packed & _COMPRESSED else body
    except zlib.error as error:
        raise ValueError("a text cannot be unpacked") from error
    if hashlib.sha256(data).digest() != sha256:
        raise ValueError("a text is not what was written")
    return data


class Contents:
    """The texts of an owner, within one transaction; a text is named by its hash."""

    __slots__ = ("_connection", "_known", "_missing", "_owner", "_seen", "redacted")

    def __init__(self, connection: Connection, owner: int) -> None:
        self.redacted: set[bytes] = set()
        """Those that were read and are redacted."""
        self._connection = connection
        self._owner = {"tenant": connection.tenant, "owner": owner}
        self._known: set[bytes] = set()
        self._missing: set[bytes] = set()
        self._seen: dict[bytes, str] = {}

    def look_up(self, digests: Iterable[bytes]) -> None:
        """Find out which of these are stored, many at a time, before ``has`` and ``put`` ask for each."""
        asked = [digest for digest in dict.fromkeys(digests) if digest not in self._known]
        for start in range(0, len(asked), _AT_ONCE):
            some = asked[start : start + _AT_ONCE]
            slots = {f"text{slot}": some[min(slot, len(some) - 1)] for slot in range(_AT_ONCE)}
            found = {row[0] for row in self._connection.execute(_QUERIES["stored_contents"], self._owner | slots)}
            self._known |= found
            self._missing |= set(some) - found

    def has(self, digest: bytes) -> bool:
        """Return whether something is stored under a hash."""
        if digest not in self._known and digest not in self._missing:
            self.look_up([digest])
        return digest in self._known

    def put(self, text: str, digest: bytes = b"", *, is_receipt: bool = False) -> bytes:
        """Store ``text`` and return its hash, which may be given if it is known."""
        # Not compressed before it is known to be new: nearly everything in a prompt was there a turn ago.
        digest = digest or hash_of(text)
        if not self.has(digest):
            self._add(pack(text))
            self.mention(digest, mentioned(text), is_receipt=is_receipt)
        return digest

    def put_part(self, data: bytes) -> bytes:
        """Store a part of a list of messages, and return its hash."""
        digest = hashlib.sha256(data).digest()
        if not self.has(digest):
            self._add(Packed(digest, PART, data))
        return digest

    def put_redacted(self, text: str, name: bytes, *, is_receipt: bool = False) -> bytes:
        """Store a redacted text under a name of its own, and return that."""
        self._add(pack_redacted(text, name))
        self.mention(name, mentioned(text), is_receipt=is_receipt)
        return name

    def redact(self, digest: bytes, left: str) -> None:
        """Replace a text by its redacted form, under the same name."""
        packed = pack_redacted(left, digest)
        values = {"packed": packed.packed, "body": packed.body}
        self._connection.execute(_QUERIES["change_content"], self._of(digest) | values)

    def mention(self, digest: bytes, notes: Iterable[str], *, is_receipt: bool = False) -> None:
        """Record which notes a text names, so that they can be forgotten."""
        row = self._of(digest) | {"receipt": is_receipt}
        self._connection.executemany(_QUERIES["add_mention"], [row | {"note": note} for note in sorted(notes)])

    def get(self, digest: bytes) -> str:
        """Return the text with that hash; each is read once."""
        if digest not in self._seen:
            row = self._row(digest)
            self._seen[digest] = unpack(*row)
            if row[1] & REDACTED:
                self.redacted.add(digest)
        return self._seen[digest]

    def beginning(self, digest: bytes, most: int) -> str:
        """Return the first characters of a text, without reading the rest; so damage in it is not noticed."""
        _, packed, body = self._row(digest)
        body = body[_HASH:] if packed & REDACTED else body
        # No character has more bytes.
        data = zlib.decompressobj().decompress(body, 4 * most) if packed & _COMPRESSED else body[: 4 * most]
        return data.decode("utf-8", "ignore")[:most]

    def get_part(self, digest: bytes) -> bytes:
        """Return the part of a list of messages with that hash."""
        return unpack_bytes(*self._row(digest))

    def remove(self, digests: Iterable[bytes]) -> None:
        """Remove texts that nothing refers to."""
        keys = [self._of(digest) for digest in digests]
        for query in ("drop_mentions", "drop_mention_items", "drop_content"):
            self._connection.executemany(_QUERIES[query], keys)
        self._known.clear()
        self._missing.clear()

    def _add(self, packed: Packed) -> None:
        values = {"packed": packed.packed, "body": packed.body}
        self._connection.execute(_QUERIES["add_content"], self._of(packed.sha256) | values)
        self._known.add(packed.sha256)

    def _row(self, digest: bytes) -> tuple[bytes, int, bytes]:
        row: tuple[bytes, int, bytes] | None = self._connection.execute(
            _QUERIES["get_content"], self._of(digest)
        ).fetchone()
        if row is None:
            raise ValueError("a text is missing")
        return row

    def _of(self, digest: bytes) -> dict[str, Any]:
        return self._owner | {"sha256": digest}


def mark(address: str) -> str:
    """Return the mark that replaces a forgotten note."""
    return f"[forgotten: {address}]"


def marked(text: str) -> list[str]:
    """Return the addresses of the notes that marks in ``text`` replace."""
    return list(dict.fromkeys(MARK.findall(text)))


def mentioned(text: str) -> set[str]:
    """Return the ids of all notes and experiences whose address is in ``text``."""
    return set(_ADDRESS.findall(text)) if any(one in text for one in _SCHEMES) else set()
