"""A vocabulary as a table of bytes, with fast access to the few tokens that a short text can contain.

Loading a whole vocabulary costs more than everything else that a short message needs. But merging pairs of bytes only
ever looks up substrings of the text: a vocabulary of just those gives the same tokens. ``tokens_in`` finds them.

The table is one sequence of bytes, so that it can be a memory-mapped file: a head, the start of every bucket, the
entries. ``scripts/pack_tokens.py`` writes the one in the package. Pure: this module opens no file.
"""

import re
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final
from zlib import crc32

if TYPE_CHECKING:
    from mmap import mmap

_HEAD: Final = struct.Struct("<8sI")
_MAGIC: Final = b"tokens1\n"
_BUCKETS: Final = 1 << 17
_RANK_BYTES: Final = 3
_LONGEST_TOKEN: Final = 255

MOST_LOOKUPS: Final = 60_000
"""With more substrings than this, loading the whole vocabulary is faster."""

# Text that a tokenizer does not split is within one of these, whatever the characters beyond ASCII are: letters,
# digits, marks or signs. The patterns overlap on purpose.
_PIECES: Final = (
    r"\s+",  # white space
    r"[\s\S]?[A-Za-z'\x80-\U0010ffff]+",  # a word, with the character before it, and with an ending such as 's
    r" ?[^\sA-Za-z0-9]+[\r\n/]*",  # signs, with a space before them and line ends after them
    r"[0-9\x80-\U0010ffff]+",  # numbers
)
_UNSURE: Final = re.compile("[\x1c-\x1f]")
"""White space for Python, but not for every tokenizer."""


def pack(tokens: Mapping[bytes, int]) -> bytes:
    """Return the table of ``tokens``, each with its rank."""
    fitting = {token: rank for token, rank in tokens.items() if len(token) <= _LONGEST_TOKEN}
    buckets: list[list[bytes]] = [[] for _ in range(_BUCKETS)]
    for token, rank in fitting.items():
        buckets[crc32(token) % _BUCKETS].append(bytes([len(token)]) + token + rank.to_bytes(_RANK_BYTES, "little"))
    entries = [b"".join(bucket) for bucket in buckets]
    starts = struct.pack(f"<{_BUCKETS + 1}I", 0, *accumulate(map(len, entries)))
    body = starts + b"".join(entries)
    return _HEAD.pack(_MAGIC, len(body)) + body


class TokenTable:
    """The tokens that were packed. Raises ``ValueError`` for anything but the output of ``pack``."""

    def __init__(self, data: "bytes | mmap") -> None:
        view = memoryview(data)
        if len(view) < _HEAD.size:
            raise ValueError("this is not a table of tokens")
        body = view[_HEAD.size :]
        if _HEAD.unpack_from(view) != (_MAGIC, len(body)):
            raise ValueError("this is not a table of tokens")
        starts = 4 * (_BUCKETS + 1)
        self._starts: Sequence[int] = body[:starts].cast("I")
        self._entries = body[starts:]

    def rank(self, token: bytes) -> int | None:
        """Return the rank of a token; ``None`` if there is no such token."""
        bucket = crc32(token) % _BUCKETS
        position, end = self._starts[bucket], self._starts[bucket + 1]
        if position == end:
            return None
        entries = bytes(self._entries[position:end])
        wanted, position, end = bytes([len(token)]) + token, 0, end - position
        while position < end:
            after = position + 1 + entries[position]
            if entries[position:after] == wanted:
                return int.from_bytes(entries[after : after + _RANK_BYTES], "little")
            position = after + _RANK_BYTES
        return None

    def tokens_in(self, pieces: Collection[bytes], known: Mapping[bytes, int | None]) -> dict[bytes, int | None] | None:
        """Return the rank of every part of ``pieces`` that a tokenizer may look up and that is not ``known``.

        The rank is ``None`` if it is not a token. Returns ``None`` if there are too many parts.
        """
        if sum(len(piece) * (len(piece) + 1) // 2 for piece in pieces) > MOST_LOOKUPS:
            return None
        rank = self.rank
        return {part: rank(part) for part in set(_parts(pieces)) if part not in known}


def pieces_of(text: str) -> set[bytes] | None:
    """Return parts of ``text`` such that a tokenizer never merges across them; ``None`` if that is not certain."""
    if _UNSURE.search(text):
        return None
    return {one.encode() for pattern in _PIECES for one in re.findall(pattern, text)}


def _parts(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for one in pieces:
        for start in range(len(one)):
            for end in range(start + 1, min(len(one), start + _LONGEST_TOKEN) + 1):
                yield one[start:end]
