"""Decides whether the ``state.db`` of a workspace is this person's: one from a clone or somebody else is not used.

A database holds conversations, and its content reaches the model as the person's own words. A repository could ship
one. So a database carries a binding, made from a key in the person's own state folder and the path of the workspace:
nobody else can make it, and it is worthless elsewhere. A database that git tracks may be changed by a pull, binding or
not, so it is never used before the person adopts it. Does not know the content of the database.
"""

import os
import stat
from pathlib import Path
from typing import Final

from msgspec import Struct

from promptuary.base import durable
from promptuary.base.errors import Code, ForeignStateError, SourceError
from promptuary.database.binding import BoundDatabase
from promptuary.workspace.data_folder.data_path import STATE, data_path
from promptuary.workspace.data_folder.notes_folders import notes_below
from promptuary.workspace.data_folder.private_folder import private_folder
from promptuary.workspace.data_folder.relocation import is_signed, proof
from promptuary.workspace.disk.ownership import is_own
from promptuary.workspace.disk.protected_folders import FOLDER
from promptuary.workspace.user_folders import notes_folder, state_folder, workspace_file
from promptuary.workspace.workspace import Workspace

_OTHER_STATE: Final = (
    "with another XDG_STATE_HOME than this program has now: start it with the same one (an agent passes it on to its "
    "server after `promptuary install`)."
)
_ADOPT: Final = "promptuary doctor --adopt"
_PLACE: Final = f"{FOLDER}/{STATE}"
_FILES: Final = frozenset({FOLDER, *(f"{_PLACE}{suffix}" for suffix in ("", "-wal", "-shm", "-journal"))})
"""Files that SQLite reads together with a database: a forged journal would be written back into it."""


class StateFile(Struct, frozen=True):
    """Where the database is, whether it exists, and the binding that it must carry."""

    path: Path
    exists: bool
    binding: str


def has_state(workspace: Workspace) -> bool:
    """Return whether a database exists for ``workspace``."""
    return data_path(workspace.root.path).has(STATE)


def state_file(workspace: Workspace) -> StateFile:
    """Return the database of ``workspace``, creating its folder if it is missing.

    Raises ``ForeignStateError`` if git tracks the database or another user owns it, unless the person has adopted it.
    The caller must compare the binding.
    """
    found = _find(workspace)
    if not _adopt(workspace).exists() and _is_tracked(workspace):
        raise ForeignStateError(
            f"{_PLACE} is not used: git tracks it, so it may hold somebody else's words. If it is yours, run "
            f"`promptuary doctor --adopt`; otherwise remove it: git rm -f '{_PLACE}*'."
        )
    return found


def adopt(workspace: Workspace) -> StateFile:
    """Record that the person adopted the database of ``workspace``, and return it."""
    found = _find(workspace)
    if _is_tracked(workspace):
        marker = _adopt(workspace)
        marker.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        durable.create(marker, os.fsencode(workspace.root.path))
    return found


def _find(workspace: Workspace) -> StateFile:
    path = private_folder(workspace.root.path) / STATE
    try:
        found = path.lstat()
    except FileNotFoundError:
        return StateFile(path, exists=False, binding=proof(workspace.root.path))
    if not is_own(found):
        raise ForeignStateError(
            f"{_PLACE} is not used: it belongs to another user, or others may write it. Remove it, or make it yours "
            "alone (chown, chmod 600)."
        )
    return StateFile(path, exists=stat.S_ISREG(found.st_mode), binding=proof(workspace.root.path))


def _is_tracked(workspace: Workspace) -> bool:
    """Return whether git tracks the database or a file that SQLite would read with it, such as a journal."""
    if not data_path(workspace.root.path).inside:
        return False
    try:
        # The folder itself is an entry if it is a submodule.
        return any(name in _FILES for name in workspace.tracked_names(FOLDER))
    except SourceError as error:
        if error.code is Code.NOT_A_REPOSITORY:
            return False
        raise ForeignStateError(
            f"{_PLACE} is not used: git could not tell whether it tracks it ({error.reason})"
        ) from error


def _adopt(workspace: Workspace) -> Path:
    return workspace_file(state_folder() / "adopted", workspace.root.path)


def check_binding(database: BoundDatabase, file: StateFile) -> None:
    """Bind ``database``, which was opened from ``file``, to this person if it is new.

    The files of notes that are there before it may have come with the folder, so they wait for the person. Closes it
    and raises ``ForeignStateError`` if it belongs to somebody else.
    """
    bound = database.binding
    if bound is None and database.is_unused:
        database.bind(file.binding, notes_below(file.path.parent / notes_folder().name))
        return
    if bound != file.binding:  # another process may have bound it just now
        bound = database.binding
    if bound == file.binding:
        return
    database.close()
    if is_signed(file.path.parent.parent):  # so the folder was not moved
        raise ForeignStateError(
            f"{database.name} is not used: it was made by somebody else, or {_OTHER_STATE} If your home is new, run "
            f"`{_ADOPT}`."
        )
    raise ForeignStateError(
        f"{database.name} is not used: it was made by somebody else, in another folder, or {_OTHER_STATE} If it is "
        f"yours (the folder was moved, or your home is new), run `{_ADOPT}`; otherwise remove it."
    )
