"""IndexedFolders to folders as the settings open them: of the workspace, and of the folders that are indexed for it.

A folder may vanish and come back while the program runs: then its door is opened anew. What may be read is decided by
each door's own policy; what is indexed is not known here.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from promptuary.core.errors import ConfigError
from promptuary.core.search import Folder, Stamp
from promptuary.workspace.changes.snapshot import Snapshot, snapshot, snapshot_of
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.workspace import Workspace


class IndexedFolders:
    """The folders that ``remembered`` names; ``opener`` opens the door of one."""

    def __init__(self, remembered: IndexedFoldersFile, opener: Callable[[Path], Workspace]) -> None:
        self._remembered = remembered
        self._opener = opener
        self._open: dict[str, Workspace] = {}
        self._last: dict[str, Snapshot] = {}

    def folders(self) -> Sequence[Folder]:
        """Return every folder that is to be indexed."""
        return self._remembered.all()

    def add(self, path: Path, label: str) -> tuple[Folder, Sequence[Folder]]:
        """Have the folder ``path`` indexed; return the folder that holds it, and those that it takes the place of.

        A folder inside one that is indexed already needs no place of its own; one around others takes theirs.
        """
        try:
            real = path.resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            raise ConfigError(f"{path} is not there; name a folder.") from None
        if not real.is_dir():
            raise ConfigError(f"{path} is a file; name the folder that it is in.")
        known = self.folders()
        around = [one for one in known if real.is_relative_to(one.path) and real != Path(one.path)]
        if around:
            return around[0], []
        inside = [one for one in known if Path(one.path).is_relative_to(real) and real != Path(one.path)]
        for one in inside:
            self.remove(one.path)
        folder = Folder(str(real), label)
        self._remembered.add(folder)
        return folder, inside

    def remove(self, path: str) -> bool:
        """Have a folder indexed no more, by any name that leads to it; tell whether it was."""
        known = {one.path for one in self.folders()}
        place = path if path in known else os.path.realpath(path)
        self._shut(place)
        return self._remembered.remove(place)

    def missing(self) -> frozenset[str]:
        """Return the paths of the folders that are not there."""
        # As pathlib asks it, a folder above that may not be looked into is an error.
        return frozenset(one.path for one in self.folders() if not os.path.isdir(one.path))  # noqa: PTH112

    def look(self, folder: Folder) -> tuple[Workspace | None, Snapshot]:
        """Return the door of a folder and how its files look now; no door if the folder is not there."""
        door, seen = self._looked(folder)
        if door is None and folder.path in self._open:
            # Perhaps another folder has its name now.
            self._shut(folder.path)
            door, seen = self._looked(folder)
        return door, seen

    def look_at(self, folder: Folder, paths: Iterable[str]) -> tuple[Workspace | None, Mapping[str, Stamp | None]]:
        """Return the door of a folder and how these paths look now; nothing if that cannot be told."""
        try:
            door = self._door(folder)
        except ConfigError:
            return None, {}
        last = self._last.get(folder.path)
        return door, snapshot_of(door, paths, known=last.files if last else ())

    def close(self) -> None:
        """Let go of the folders."""
        for path in list(self._open):
            self._shut(path)

    def _looked(self, folder: Folder) -> tuple[Workspace | None, Snapshot]:
        try:
            door = self._door(folder)
        except ConfigError:
            return None, Snapshot({}, alive=False, reason="it is not there, or may not be opened")
        seen = snapshot(door, self._last.get(folder.path))
        if not seen.alive:
            return None, seen
        self._last[folder.path] = seen
        return door, seen

    def _door(self, folder: Folder) -> Workspace:
        found = self._open.get(folder.path)
        if found is None:
            found = self._open[folder.path] = self._opener(Path(folder.path))
        return found

    def _shut(self, path: str) -> None:
        self._last.pop(path, None)
        door = self._open.pop(path, None)
        if door is not None:
            door.close()
