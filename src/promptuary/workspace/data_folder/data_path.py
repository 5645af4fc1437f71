"""Where Promptuary stores its files for a workspace: in its folder ``.promptuary``, else in the person's state folder.

A workspace that cannot be written, or that belongs to somebody else, gets a folder below the person's own state folder,
named after its path. One that has threads already, and can no longer be written, keeps its place: a second one would
begin its threads anew. Decides by inspecting the disk, and creates nothing. Nothing in a workspace can choose the
place: it depends on who owns the folders and on what this person has used before.
"""

import os
import stat
from pathlib import Path
from typing import Final

from msgspec import Struct

from promptuary.workspace.disk.ownership import is_own
from promptuary.workspace.disk.protected_folders import FOLDER
from promptuary.workspace.user_folders import state_folder, workspace_file

STATE: Final = "state.db"
"""The database of a workspace, with its threads."""


class DataPath(Struct, frozen=True):
    """The folder for one workspace; ``inside`` says whether it is in the workspace."""

    folder: Path
    inside: bool

    def has(self, inner: str) -> bool:
        """Return whether ``inner`` is in the folder; any link counts, wherever it leads."""
        return os.path.lexists(self.folder / inner)

    @property
    def is_sealed(self) -> bool:
        """Whether it has threads of this person and cannot be written."""
        return self.inside and self.has(STATE) and _is_own_folder(self.folder) and not _is_writable(self.folder)


def data_path(root: Path, *, disposable: bool = False) -> DataPath:
    """Return where the files for the workspace at ``root`` are, or will be. ``disposable`` ones can be made again."""
    inside, outside = DataPath(root / FOLDER, inside=True), DataPath(person_place(root), inside=False)
    if _is_usable(inside.folder) or not root.is_dir():
        return inside  # using a workspace that is gone raises the error of the system
    if inside.is_sealed and not disposable:
        return inside
    return inside if _is_usable(root.resolve()) and not outside.folder.is_dir() else outside


def person_place(root: Path) -> Path:
    """Return the folder for the workspace at ``root`` among the person's own folders; it need not exist."""
    return workspace_file(state_folder() / "workspaces", root).with_suffix("")


def _is_usable(folder: Path) -> bool:
    return _is_own_folder(folder) and _is_writable(folder)


def _is_own_folder(folder: Path) -> bool:
    """Return whether a folder is the person's own, and not a link."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and is_own(found)


def _is_writable(folder: Path) -> bool:
    # A file system that is mounted for reading only refuses root too, whatever the modes say.
    return os.access(folder, os.W_OK | os.X_OK, effective_ids=True)
