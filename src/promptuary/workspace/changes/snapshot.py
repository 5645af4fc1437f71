"""The state of a workspace's files on disk at one moment; two of these are compared to find what changed.

No file is opened: a snapshot has the names that may be read and their ``stat``. What is behind a linked folder is not
examined, whatever git's index names there. A folder that cannot be read is distinguished from an empty one, because its
files are not deleted. Comparing snapshots is left to the caller.
"""

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from stat import S_ISDIR, S_ISREG

from msgspec import Struct

from promptuary.base.errors import SourceError, shortage
from promptuary.base.files import Stamp
from promptuary.workspace.changes.current_files import IGNORE_FILES, CurrentFiles, folders_above, list_all, list_at
from promptuary.workspace.changes.listed_names import ListedNames, load_listed_names, store_listed_names
from promptuary.workspace.changes.readable_names import ReadableNames
from promptuary.workspace.disk.folders import Folders
from promptuary.workspace.disk.root import display_path, normalise
from promptuary.workspace.git.locate import locate
from promptuary.workspace.workspace import Workspace


class Snapshot(Struct, frozen=True):
    """The files that may be read, with their stamps.

    ``unreadable`` counts folders and files that could not be examined; ``files`` may lack some then. If the workspace
    itself cannot be read, ``alive`` is false, ``reason`` says why, and ``files`` is empty. ``large`` are files whose
    names are allowed but which are too large to be read, and ``misnamed`` those that no reference can name: with a line
    break, or not UTF-8. ``cut_rules`` are ignore files that have more rules than are applied. ``listed`` is what git
    listed, if it was asked.
    """

    files: Mapping[str, Stamp]
    unreadable: int = 0
    alive: bool = True
    reason: str = ""
    large: Sequence[str] = ()
    misnamed: Sequence[str] = ()
    cut_rules: Sequence[str] = ()
    listed: ListedNames | None = None


def snapshot(workspace: Workspace, last: Snapshot | None = None) -> Snapshot:
    """Return the state of the files of ``workspace`` now, ignore rules and ``Access`` applied.

    ``last`` is an earlier snapshot of the same workspace: the names in it are not checked again. Git is asked only if
    something has changed since then that decides what it lists, or since the last snapshot of another process.
    """
    root, listed = workspace.root.path, None
    before = last.listed if last else load_listed_names(root)
    reason = _problem(workspace)
    with Folders(workspace.root.path) as folders:
        stamps = _Stamps(workspace, folders, last=last.files if last else {})
        if not reason:
            current = list_all(workspace, before)
            stamps.add(current)
            listed = current.listed if current.listed is not None and current.listed.is_settled() else None
            # Checked again: if the folder went away meanwhile, its files must not look deleted.
            reason = _problem(workspace)
    if reason:
        return Snapshot({}, alive=False, reason=reason)
    if listed is not None and listed is not before:
        store_listed_names(root, listed)
    return Snapshot(
        stamps.files,
        stamps.unreadable,
        large=stamps.large,
        misnamed=stamps.misnamed,
        cut_rules=stamps.cut_rules,
        listed=listed,
    )


def snapshot_of(
    workspace: Workspace, paths: Iterable[str], *, known: Container[str] = ()
) -> Mapping[str, Stamp | None]:
    """Return the stamps of ``paths``, and of the files below those that are folders, as ``snapshot`` would.

    Every path is a key of the result, with ``None`` if it is not a file that may be read; so a file that was known at
    or below a path and is not in the result was deleted. The result is empty if the workspace, or any of these paths,
    cannot be examined.

    The cost does not depend on the size of the workspace, except for one call of git for all paths, which finds out
    whether it lists those that exist and are not ``known``. ``known`` are the files of the last snapshot, which are
    assumed to be still listed: after a change of an ignore file (``is_ignore_file``) use ``snapshot``.
    """
    asked = list(dict.fromkeys(paths))
    if _problem(workspace):
        return {}
    with Folders(workspace.root.path) as folders:
        stamps = _Stamps(workspace, folders, frozenset(asked))
        pending = stamps.existing(path for path in asked if _is_normal(path))
        if pending and _in_git(workspace):
            pending = [path for path in pending if path not in known or not stamps.add_known(path)]
        if pending:
            stamps.add(list_all(workspace) if "" in pending else list_at(workspace, pending))
    return {} if stamps.unreadable or _problem(workspace) else dict.fromkeys(asked) | stamps.files


def is_ignore_file(path: str) -> bool:
    """Return whether ``path`` is an ignore file: after it changes, only a full ``snapshot`` is correct."""
    return path.rpartition("/")[2] in IGNORE_FILES


class _Stamps:
    """Collects stamps; with ``only``, those of files at and below these paths."""

    def __init__(
        self,
        workspace: Workspace,
        folders: Folders,
        only: frozenset[str] | None = None,
        last: Mapping[str, Stamp] | None = None,
    ) -> None:
        self.files: dict[str, Stamp] = {}
        self.large: list[str] = []
        self.misnamed: list[str] = []
        self.cut_rules: list[str] = []
        self.unreadable = 0
        self._folders = folders
        self._max_bytes = workspace.access.max_bytes
        self._readable = ReadableNames(workspace.access)
        self._only = only
        self._above = {folder for path in only or () for folder in folders_above(path)}
        self._last = last or {}

    def add(self, current: CurrentFiles) -> None:
        """Add the stamps of the listed files."""
        folders = [*current.folders, *self._add_all(current.names)]
        for folder in folders:
            self._add_all(current.below(folder))
        self.unreadable += current.unreadable
        self.cut_rules += current.cut_rules

    def existing(self, paths: Iterable[str]) -> list[str]:
        """Return those of ``paths`` that are folders, or files that may be read if they are listed."""
        found = []
        for path in paths:
            status = self._status(path)
            if status is not None and (S_ISDIR(status.st_mode) or self._is_wanted(path, status)):
                found.append(path)
        return found

    def add_known(self, path: str) -> bool:
        """Add the stamp of a file without calling git; return False if git is needed after all."""
        status = self._status(path)
        if status is None or not self._is_wanted(path, status):
            return False
        self.files[path] = _stamp(status)
        return True

    def _add_all(self, paths: Iterable[str]) -> list[str]:
        """Add the stamps of the files among ``paths``; return the folders among them."""
        status_of, files, only = self._folders.status, self.files, self._only
        allows, max_bytes, last = self._readable.allows, self._max_bytes, self._last
        folders = []
        for path in paths:
            wanted = only is None or _is_below(path, only)
            # A name above a wanted path can be a nested repository that contains it.
            if not wanted and path not in self._above:
                continue
            try:
                status = status_of(path)
            except (OSError, ValueError):
                self.unreadable += 1
                continue
            if status is None:
                continue
            if S_ISREG(status.st_mode):
                if not wanted or not (path in last or allows(path)):
                    if wanted and not path.isprintable() and not _is_normal(path):
                        self.misnamed.append(path)
                    continue
                if status.st_size <= max_bytes:
                    files[path] = _stamp(status)
                else:
                    self.large.append(path)
            elif S_ISDIR(status.st_mode):
                folders.append(path)
        return folders

    def _status(self, path: str) -> os.stat_result | None:
        try:
            return self._folders.status(path)
        except (OSError, ValueError):
            self.unreadable += 1
            return None

    def _is_wanted(self, path: str, status: os.stat_result) -> bool:
        return S_ISREG(status.st_mode) and status.st_size <= self._max_bytes and self._readable.allows(path)


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _is_below(path: str, folders: frozenset[str]) -> bool:
    """Return whether ``path`` is one of ``folders`` or is below one."""
    while path not in folders:
        if not path:
            return False
        path = path.rpartition("/")[0]
    return True


def _is_normal(path: str) -> bool:
    try:
        return not path or normalise(path) == path
    except SourceError:
        return False


def _in_git(workspace: Workspace) -> bool:
    try:
        return bool(locate(workspace.root.path))
    except SourceError:
        return False


def _problem(workspace: Workspace) -> str:
    """Return why the folder of ``workspace`` cannot be read, as a sentence; empty if it can."""
    path = workspace.root.path
    name = display_path(str(path))
    try:
        with os.scandir(path) as entries:
            next(entries, None)
        there = path.stat()
        descriptor = workspace.root.open_folder("")
    except FileNotFoundError:
        return f"{name} is not there; if it is on another disk or machine, connect it again."
    except NotADirectoryError:
        return f"{name} is not a folder any more; rename or remove the file in its place."
    except OSError as error:
        return f"{name}: {shortage(error.errno) or f'it cannot be listed ({error.strerror}); check its permissions.'}"
    except SourceError as error:
        return f"{name} cannot be opened any more: {error.reason}"
    try:
        opened = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if (there.st_dev, there.st_ino) != (opened.st_dev, opened.st_ino):
        return f"{name} was replaced by another folder; open the workspace again, or restore the first folder."
    return ""
