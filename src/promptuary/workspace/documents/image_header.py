"""The type and size of an image, from the first bytes of its file: PNG, JPEG, GIF and WebP. Pure.

Nothing is decoded: an image that is damaged further on is sent anyway, and the provider reports it.
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

_MAX_SEGMENTS: Final = 200
"""The most segments of a JPEG before its size: cameras write a handful."""
_SIZES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""The segments of a JPEG that contain its size."""


class ImageHeader(NamedTuple):
    """The type and size of an image."""

    media_type: str
    width: int
    height: int


def image_header(data: bytes) -> ImageHeader | None:
    """Return the type and size of an image; ``None`` for another type, or if its beginning is damaged."""
    for media_type, begins, size in _FORMATS:
        if begins(data):
            try:
                width, height = size(data)
            except (struct.error, ValueError):
                return None
            return ImageHeader(media_type, width, height) if width > 0 and height > 0 else None
    return None


def _png(data: bytes) -> tuple[int, int]:
    kind, width, height = struct.unpack_from(">4sII", data, 12)
    if kind != b"IHDR":
        raise ValueError("no header")
    return width, height


def _gif(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _jpeg(data: bytes) -> tuple[int, int]:
    position = 2
    for _ in range(_MAX_SEGMENTS):
        while data[position : position + 1] == b"\xff" and data[position + 1 : position + 2] == b"\xff":
            position += 1  # padding before a segment
        mark, kind, length = struct.unpack_from(">BBH", data, position)
        if mark != 0xFF:
            break
        if kind in _SIZES:
            height, width = struct.unpack_from(">HH", data, position + 5)
            return width, height
        position += 2 + max(length, 2)
    raise ValueError("no size")


def _webp(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        mark, bits = struct.unpack_from("<BI", data, 20)
        if mark != 0x2F:
            raise ValueError("no size")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    raise ValueError("no size")


_FORMATS: Final[tuple[tuple[str, Callable[[bytes], bool], Callable[[bytes], tuple[int, int]]], ...]] = (
    ("image/png", lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"), _png),
    ("image/jpeg", lambda data: data.startswith(b"\xff\xd8\xff"), _jpeg),
    ("image/gif", lambda data: data.startswith((b"GIF87a", b"GIF89a")), _gif),
    ("image/webp", lambda data: data.startswith(b"RIFF") and data[8:12] == b"WEBP", _webp),
)
