"""The files that pages use, each under a name with the hash of its content: a browser keeps it for ever."""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct

_TYPES: Final = {".css": b"text/css; charset=utf-8", ".js": b"text/javascript; charset=utf-8", ".svg": b"image/svg+xml"}
_NAMES: Final = ("page.css", "page.js", "memory.js", "thread.js", "htmx.min.js", "icon.svg")


class StaticFile(Struct, frozen=True):
    """A file as it is sent, plain and compressed."""

    name: str
    content_type: bytes
    body: bytes
    packed: bytes
    etag: bytes


@cache
def static_files() -> Mapping[str, StaticFile]:
    """Return every file by the name under which it is served."""
    return {file.name: file for file in map(_read, _NAMES)}


@cache
def static_name(name: str) -> str:
    """Return the name with the hash under which a file is served."""
    return _read(name).name


@cache
def _read(name: str) -> StaticFile:
    body = files(__package__).joinpath("static", name).read_bytes()
    path, digest = PurePosixPath(name), hashlib.sha256(body).hexdigest()[:16]
    packed = gzip.compress(body, 9, mtime=0)
    return StaticFile(f"{path.stem}-{digest}{path.suffix}", _TYPES[path.suffix], body, packed, f'"{digest}"'.encode())
