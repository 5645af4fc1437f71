"""The folders that are indexed for a workspace: adds and removes them, opens them, and takes their snapshots.

A folder may vanish and come back while the program runs: then it is reopened. The read policy of each opened folder
decides what may be read; this module does not know the index.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from promptuary.base.errors import ConfigError, SourceError
from promptuary.base.files import Folder, Stamp
from promptuary.base.text import count_masked
from promptuary.search.chunks.generated import is_left_out_by_name
from promptuary.search.values import Chunk, HeldReason, Hit
from promptuary.workspace.changes.snapshot import Snapshot, snapshot, snapshot_of
from promptuary.workspace.disk.protected_folders import ProtectedFolders
from promptuary.workspace.disk.secret_values import mask_secrets
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.workspace import Workspace


class FolderScan(NamedTuple):
    """How a folder looks now. If it is unavailable, ``workspace`` is ``None`` and ``unavailable`` says why.

    ``left_out`` is how many files are not in the snapshot because tools hide or write them.
    """

    snapshot: Snapshot
    workspace: Workspace | None = None
    unavailable: HeldReason | None = None
    left_out: int = 0

    @property
    def has_others(self) -> bool:
        """Whether the folder has, or may have, files that are not in the snapshot."""
        return self.left_out > 0 or self.snapshot.unreadable > 0


class IndexedFolders:
    """The folders listed in ``file``; ``opener`` opens one. ``hidden``: also files that tools hide or write."""

    def __init__(self, file: IndexedFoldersFile, opener: Callable[[Path], Workspace], *, hidden: bool = False) -> None:
        self.hidden = hidden
        self._file = file
        self._opener = opener
        self._open: dict[str, Workspace] = {}
        self._last: dict[str, Snapshot] = {}

    def all(self) -> Sequence[Folder]:
        """Return every folder to index, without listed folders that are closed now."""
        return [one for one in self._file.all() if not ProtectedFolders.of(Path(one.path)).everything]

    def add(self, path: Path, label: str) -> tuple[Folder, Sequence[Folder]]:
        """Add the folder ``path``; return the listed folder that contains it, and the folders that it replaces.

        A folder inside a listed one is not listed itself; one around others replaces them. Raises ``ConfigError`` if
        ``path`` is not a folder, or a closed one.
        """
        try:
            real = path.resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            raise ConfigError(f"{path} does not exist; name a folder by its whole path.") from None
        if not real.is_dir():
            raise ConfigError(f"{path} is a file; name the folder that contains it.")
        if ProtectedFolders.of(real).everything:
            raise ConfigError(
                f"{path} is a folder of Promptuary's own and is not indexed; `promptuary memory search` finds notes."
            )
        known = self.all()
        around = [one for one in known if real.is_relative_to(one.path) and real != Path(one.path)]
        if around:
            return around[0], []
        inside = [one for one in known if Path(one.path).is_relative_to(real) and real != Path(one.path)]
        for one in inside:
            self.remove(one.path)
        folder = Folder(str(real), label)
        self._file.add(folder)
        return folder, inside

    def remove(self, path: str) -> bool:
        """Remove a folder by any path that leads to it; return whether it was listed."""
        known = {one.path for one in self.all()}
        listed = path if path in known else os.path.realpath(path)
        self._shut(listed)
        return self._file.remove(listed)

    def missing(self) -> frozenset[str]:
        """Return the paths of the folders that do not exist at the moment."""
        return frozenset(one.path for one in self.all() if _is_missing(one.path))

    def scan(self, folder: Folder) -> FolderScan:
        """Return how the files of a folder look now."""
        found = self._scanned(folder)
        if found.unavailable and folder.path in self._open:
            # Another folder may have its name now.
            self._shut(folder.path)
            found = self._scanned(folder)
        return found

    def scan_paths(self, folder: Folder, paths: Iterable[str]) -> tuple[Workspace | None, Mapping[str, Stamp | None]]:
        """Return the opened folder and how these paths look now; nothing if the folder is unavailable."""
        try:
            opened = self._opened(folder)
        except ConfigError:
            return None, {}
        last = self._last.get(folder.path)
        looked = snapshot_of(opened, paths, known=last.files if last else ())
        if self.hidden:
            return opened, looked
        return opened, {path: None if is_left_out_by_name(path) else stamp for path, stamp in looked.items()}

    @staticmethod
    def protected(folder: str) -> ProtectedFolders:
        """Return what is closed in an indexed folder now; looked up once for all hits of a search."""
        return ProtectedFolders.of(Path(folder))

    def as_allowed(self, hit: Hit, protected: ProtectedFolders) -> Hit | None:
        """Return ``hit`` with its secrets masked or shown by the current read policy, not that of when it was indexed.

        Return ``None`` for a hit in a closed folder, one of ``protected``. A secret can be shown only while its file
        is unchanged: the index stores only the mask.
        """
        if protected.holds(hit.path):
            return None
        try:
            opened = self._opened(Folder(hit.folder, ""))
        except ConfigError:
            return hit
        if not opened.access.allows_secrets(hit.path):
            heading = tuple(map(mask_secrets, hit.heading))
            return _with_text(replace(hit, heading=heading), mask_secrets(hit.text))
        if not count_masked(hit.text):
            return hit
        try:
            text = opened.read(hit.path).text
        except SourceError:
            return hit
        shown, masked = (
            "\n".join(one.split("\n")[hit.start_line - 1 : hit.end_line]) for one in (text, mask_secrets(text))
        )
        return _with_text(hit, shown) if masked == hit.text else hit

    def close(self) -> None:
        for path in list(self._open):
            self._shut(path)

    def _scanned(self, folder: Folder) -> FolderScan:
        try:
            opened = self._opened(folder)
        except ConfigError as error:
            return _unavailable(folder, Snapshot({}, alive=False, reason=str(error)))
        found = snapshot(opened, self._last.get(folder.path))
        if not found.alive:
            return _unavailable(folder, found)
        # The whole folder: the names in it need not be checked again.
        self._last[folder.path] = found
        if self.hidden:
            return FolderScan(found, opened)
        files = {path: stamp for path, stamp in found.files.items() if not is_left_out_by_name(path)}
        large = [path for path in found.large if not is_left_out_by_name(path)]
        left_out = len(found.files) + len(found.large) - len(files) - len(large)
        return FolderScan(replace(found, files=files, large=large), opened, left_out=left_out)

    def _opened(self, folder: Folder) -> Workspace:
        found = self._open.get(folder.path)
        if found is None:
            found = self._open[folder.path] = self._opener(Path(folder.path))
        return found

    def _shut(self, path: str) -> None:
        self._last.pop(path, None)
        opened = self._open.pop(path, None)
        if opened is not None:
            opened.close()


def _with_text(hit: Hit, text: str) -> Hit:
    if text == hit.text:
        return hit
    return replace(hit, text=text, sha256=Chunk(hit.start_line, hit.end_line, text, hit.heading).sha256)


def _unavailable(folder: Folder, found: Snapshot) -> FolderScan:
    return FolderScan(found, unavailable="missing" if _is_missing(folder.path) else "unreadable")


def _is_missing(path: str) -> bool:
    # pathlib would raise an error for a folder above that may not be searched.
    return not os.path.isdir(path)  # noqa: PTH112
