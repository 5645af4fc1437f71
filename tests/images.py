"""Small images of every kind that models take, made without a library."""

import struct
import zlib
from typing import Final


def png(width: int, height: int) -> bytes:
    """Return a grey image, which every viewer shows."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = zlib.compress((b"\0" + b"\x80" * width) * height, 9)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    """Return the beginning of a photograph: a segment of a camera, a filler, and the size."""
    camera = b"\xff\xe1" + struct.pack(">H", 2 + 600) + b"\xff\xc0" * 300
    size = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8" + camera + b"\xff\xff" + size + b"\xff\xd9"


def gif(width: int, height: int) -> bytes:
    """Return the beginning of an animation."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\x00\x00;\x00\x00"


def _webp(kind: bytes, data: bytes) -> bytes:
    body = b"WEBP" + kind + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def webp(width: int, height: int) -> bytes:
    """Return the beginning of a WebP image with losses."""
    return _webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height))


def webp_lossless(width: int, height: int) -> bytes:
    """Return the beginning of a WebP image without losses."""
    return _webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14))


def webp_extended(width: int, height: int) -> bytes:
    """Return the beginning of a WebP image that has more than pixels."""
    return _webp(b"VP8X", b"\0\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"))


IMAGES: Final = {
    "a.png": (png, "image/png"),
    "a.jpg": (jpeg, "image/jpeg"),
    "a.JPEG": (jpeg, "image/jpeg"),
    "a.gif": (gif, "image/gif"),
    "a.webp": (webp, "image/webp"),
    "b.webp": (webp_lossless, "image/webp"),
    "c.webp": (webp_extended, "image/webp"),
}
"""A name for each kind, what makes it, and its type."""
