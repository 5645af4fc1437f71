"""Which folders a client may use: its roots, as far as they are inside the folders that the person allows.

Pure except for resolving links in paths. Opens nothing.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_MAX_ROOTS: Final = 32
_MAX_URI: Final = 4_096


def root_path(uri: str) -> Path | None:
    """Return the folder of a root's URI; ``None`` if it is not a folder on this machine."""
    try:
        parts = urlsplit(uri[: _MAX_URI + 1])
        path = unquote(parts.path, errors="strict")
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or len(uri) > _MAX_URI or "\0" in path:
        return None
    return Path(path) if path.startswith("/") else None


def is_wide(folder: Path) -> bool:
    """Return whether a folder is or contains the person's home, and so everything that they have."""
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111  (no error for a user without a home)
    return Path(home).is_relative_to(folder)


def usable_folders(allowed: Sequence[Path], roots: Iterable[str] | None) -> tuple[list[Path], list[str]]:
    """Return the folders that are both allowed and named by the client, and the roots that match none.

    A root inside an allowed folder is used as it is; of a root around one, only the allowed part. Without ``roots``
    (a client that has none) every allowed folder is used. Links are resolved before anything is compared.
    """
    real = [_real(folder) for folder in allowed]
    if roots is None:
        return _distinct(real), []
    found: list[Path] = []
    refused: list[str] = []
    for number, uri in enumerate(roots):
        path = root_path(uri) if number < _MAX_ROOTS else None
        inside = [] if path is None else _within(_real(path), real)
        if inside:
            found += inside
        else:
            refused.append(uri)
    return _distinct(found), refused


def _within(root: Path, allowed: Sequence[Path]) -> list[Path]:
    if any(root.is_relative_to(folder) for folder in allowed):
        return [root] if root.is_dir() else []
    return [folder for folder in allowed if folder.is_relative_to(root)]


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _distinct(paths: Iterable[Path]) -> list[Path]:
    return list(dict.fromkeys(paths))
