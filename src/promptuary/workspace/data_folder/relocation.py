"""Recognises a workspace that the person moved, so that what is stored under its old path is found again.

Outside the workspace, data is stored by its path. So ``.promptuary`` holds a small file with that path and a proof: a
code made from the path with a key of this person on this machine. Nobody else can make one, and a stolen one, perhaps
from an archive of the workspace, only names a workspace that is still where it was.
"""

import hashlib
import hmac
import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from promptuary.base import durable
from promptuary.base.errors import ConfigError
from promptuary.workspace.data_folder.data_path import data_path
from promptuary.workspace.data_folder.private_folder import put
from promptuary.workspace.disk.ownership import is_own
from promptuary.workspace.disk.protected_folders import FOLDER
from promptuary.workspace.user_folders import state_folder

_NAME: Final = "place.json"
_KEY_BYTES: Final = 32
_MAX_KEY: Final = 1024
_MAX_FILE: Final = 1 << 14


class FormerPlace(Struct, frozen=True):
    """Where a workspace was; ``gone``: it is no longer there, so it was moved and not copied."""

    path: Path
    gone: bool


def proof(root: Path, purpose: str = "") -> str:
    """Return the code for the workspace at ``root`` that only this person on this machine can make."""
    said = os.fsencode(os.path.realpath(root)) + (f"\0{purpose}".encode() if purpose else b"")
    return hmac.new(_key(), said, hashlib.sha256).hexdigest()


def sign(root: Path) -> None:
    """Record in the workspace at ``root`` where it is, unless it has no files of Promptuary."""
    place = data_path(root)
    if not place.inside or not place.folder.is_dir():
        return
    content = json.dumps({"workspace": str(root), "proof": proof(root, _NAME)})
    with suppress(ConfigError):  # otherwise a move is just not recognised
        put(root, _NAME, content.encode("utf-8", "surrogateescape"))


def is_signed(root: Path) -> bool:
    """Return whether the record in the workspace at ``root`` names that path."""
    signed = _read_signature(root)
    return signed is not None and signed[0] == str(root)


def former_place(root: Path) -> FormerPlace | None:
    """Return where the workspace at ``root`` was before this person moved or copied it; ``None`` if it was not."""
    signed = _read_signature(root)
    if signed is None or signed[0] == str(root) or not signed[0].startswith("/"):
        return None
    former = Path(signed[0])
    if not hmac.compare_digest(signed[1].encode(), proof(former, _NAME).encode()):
        return None
    return FormerPlace(former, gone=not os.path.lexists(former / FOLDER))


def _read_signature(root: Path) -> tuple[str, str] | None:
    """Return the path and the proof that are recorded in the workspace at ``root``."""
    place = data_path(root)
    if not place.inside:
        return None
    try:
        descriptor = os.open(place.folder / _NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123  (it is open already)
            found = json.loads(file.read(_MAX_FILE)) if is_own(os.fstat(descriptor)) else None
    except (OSError, ValueError, RecursionError):
        return None
    match found:
        case {"workspace": str(path), "proof": str(code)}:
            return path, code
        case _:
            return None


def _key() -> bytes:
    """Return the key of this person on this machine, created on first use."""
    file = state_folder() / "key"
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    durable.create(file, secrets.token_hex(_KEY_BYTES).encode())
    with file.open("rb") as opened:
        return opened.read(_MAX_KEY)
