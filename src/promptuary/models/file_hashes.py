"""The SHA-256 of large files of the person, cached so that the program need not compute it at every start.

A hash is cached with the file's size, times and inode number. After any change it is computed again; so it is if the
cache cannot be read or written.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from promptuary.base import durable
from promptuary.base.errors import ConfigError

_MEMORY: Final = "hashes.json"
_MOST: Final = 1000
_BLOCK: Final = 1024 * 1024


def sha256_of(path: Path, cache: Path | None) -> str:
    """Return the hash of a file. ``cache`` is a private folder of the person; without one, nothing is cached."""
    path = path.absolute()
    try:
        found = path.stat()
        stamp = [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
        known = _remembered(cache)
        entry = known.get(str(path))
        if isinstance(entry, list) and entry[:-1] == stamp:
            return str(entry[-1])
        digest = _computed(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    if cache is not None:
        newest = {**dict(list(known.items())[-_MOST:]), str(path): [*stamp, digest]}
        with suppress(OSError):
            cache.mkdir(parents=True, exist_ok=True, mode=0o700)
            durable.replace(cache / _MEMORY, json.dumps(newest).encode(), sync=False)
    return digest


def _computed(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _remembered(cache: Path | None) -> dict[str, Any]:
    if cache is None:
        return {}
    try:
        found = json.loads((cache / _MEMORY).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
