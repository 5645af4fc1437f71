"""The token that a client on this machine sends to a server of ours; created once, readable only by the person."""

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from promptuary.base import durable
from promptuary.base.errors import PromptuaryError
from promptuary.workspace.user_folders import make_folder, state_folder

_MAX_LENGTH: Final = 200
_MIN_LENGTH: Final = 20


def token_file(name: str) -> Path:
    """Return the file of the token called ``name``."""
    return state_folder() / "tokens" / name


def own_token(name: str) -> tuple[str, bool]:
    """Return the token called ``name``, creating it if there is none, and whether it is new.

    Raises ``PromptuaryError`` if others may read its file: somebody else may then know the token.
    """
    path = token_file(name)
    make_folder(path.parent)
    new = secrets.token_urlsafe(32)
    is_new = durable.create(path, f"{new}\n".encode())
    return (new, True) if is_new else (_read_token(path), False)


def stored_token(name: str) -> str | None:
    """Return the token called ``name``; ``None`` if there is none. Raises ``PromptuaryError`` as ``own_token`` does."""
    path = token_file(name)
    return _read_token(path) if os.path.lexists(path) else None


def store_token(name: str, token: str) -> bool:
    """Store a token that was created elsewhere, and return whether there was none called ``name``."""
    path = token_file(name)
    make_folder(path.parent)
    return durable.create(path, f"{token}\n".encode())


def _read_token(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123  (it is open already)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077 or found.st_uid != os.geteuid():
            raise PromptuaryError(f"others may read {path}; remove it, and a new token is created")
        text = file.read(_MAX_LENGTH + 1).decode("ascii", "replace").strip()
    if not _MIN_LENGTH <= len(text) <= _MAX_LENGTH or not text.isprintable() or " " in text:
        raise PromptuaryError(f"{path} does not contain a token; remove it, and a new one is created")
    return text
