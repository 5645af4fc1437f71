"""The files of a session in a few bytes each: sorted paths, compressed, then hashes, sizes and times.

Hashes cannot be compressed, and take most of the room: 50,000 files take about 2.5 MB. The bytes begin with a checksum
of the others, since SQLite itself does not notice when a byte on the disk has changed.
"""

import hashlib
import struct
import zlib
from collections.abc import Mapping
from typing import Final

from promptuary.workspace.access import FilePin

_CHECKSUM: Final = 16
_HEAD: Final = struct.Struct(">II")
_STAMP: Final = struct.Struct(">qq")
_HASH: Final = 32


def pack_files(files: Mapping[str, FilePin]) -> bytes:
    """Return files as bytes. The order of ``files`` does not matter."""
    ordered = sorted(files.items())
    names = zlib.compress("\0".join(path for path, _ in ordered).encode("utf-8", "surrogateescape"))
    stamps = zlib.compress(b"".join(_STAMP.pack(pin.size, pin.modified) for _, pin in ordered))
    hashes = b"".join(bytes.fromhex(pin.sha256) for _, pin in ordered)
    body = _HEAD.pack(len(ordered), len(names)) + names + hashes + stamps
    return hashlib.sha256(body).digest()[:_CHECKSUM] + body


def unpack_files(data: bytes) -> dict[str, FilePin]:
    """Return the files, or raise ``ValueError`` if the checksum does not match."""
    body = data[_CHECKSUM:]
    if hashlib.sha256(body).digest()[:_CHECKSUM] != data[:_CHECKSUM]:
        raise ValueError("the files of a session are not what was written")
    count, length = _HEAD.unpack_from(body)
    if not count:
        return {}
    at = _HEAD.size + length
    names = zlib.decompress(body[_HEAD.size : at]).decode("utf-8", "surrogateescape").split("\0")
    hashes = body[at : at + _HASH * count].hex()
    stamps = _STAMP.iter_unpack(zlib.decompress(body[at + _HASH * count :]))
    width = 2 * _HASH
    return {
        name: FilePin(hashes[width * place : width * (place + 1)], size, modified)
        for place, (name, (size, modified)) in enumerate(zip(names, stamps, strict=True))
    }
