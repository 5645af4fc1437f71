"""The workspaces that have files of Promptuary: one small record each, in the person's own state folder.

Backup and removal use this list. No file in a workspace can add an entry.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from promptuary.base import durable
from promptuary.workspace.data_folder.data_path import data_path, person_place
from promptuary.workspace.user_folders import state_folder

_SUFFIX: Final = ".path"
_MAX_LENGTH: Final = 4096


def add(root: Path) -> None:
    """Record the workspace at ``root``. If that fails, it is only missing from the list."""
    with suppress(OSError):
        file = _file(root)
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            durable.create(file, os.fsencode(root))


def remove(root: Path) -> None:
    """Forget the workspace at ``root``."""
    with suppress(OSError):
        _file(root).unlink(missing_ok=True)


def list_known() -> Sequence[Path]:
    """Return the workspaces that still have files of Promptuary, by path."""
    found = []
    for file in (state_folder() / "workspaces").glob(f"*{_SUFFIX}"):
        with suppress(OSError):
            with file.open("rb") as opened:
                root = Path(os.fsdecode(opened.read(_MAX_LENGTH)))
            # A file whose name does not match its content was not made by this program.
            if root.is_absolute() and _file(root) == file and data_path(root).folder.is_dir():
                found.append(root)
    return sorted(found)


def _file(root: Path) -> Path:
    return person_place(root).with_suffix(_SUFFIX)
