"""Which version of the converter reads pages and documents. Separate, since a search needs to know no more of it."""

import zlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_VERSION: Final = 1
"""The version of our own part of the converter. It increases whenever the same document would be read differently."""


@cache
def converter_version() -> str:
    """Return what identifies the converter of documents: what failed with another one may succeed with this."""
    found = find_spec("pypdfium2_raw")
    try:
        built = Path(found.origin).with_name("version.json").read_bytes() if found and found.origin else b""
    except OSError:
        built = b""
    return f"{_VERSION} {zlib.crc32(built):08x}"
