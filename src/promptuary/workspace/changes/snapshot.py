"""How the files of a workspace look on disk at one moment: what is compared to find what changed.

No file is opened: a name that may be read, and what the file system says about it. A folder that cannot be seen at all
is told apart from an empty one, because what is merely out of sight is not deleted. What changed since, and what is
done about it, is decided elsewhere.
"""

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from stat import S_ISDIR, S_ISREG

from promptuary.core.errors import SourceError
from promptuary.core.search import Stamp
from promptuary.workspace.changes.current_files import IGNORE_FILES, CurrentFiles, folders_above, list_all, list_at
from promptuary.workspace.changes.readable_names import ReadableNames
from promptuary.workspace.disk.root import display_path, normalise
from promptuary.workspace.git.locate import locate
from promptuary.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files that may be read, with their stamps.

    ``unreadable`` counts folders and files that could not be looked at, so that ``files`` may lack some. If the folder
    itself cannot be seen, ``alive`` is false, ``reason`` tells a person why, and ``files`` says nothing. ``large`` are
    files that may be read by their names, but not by their sizes.
    """

    files: Mapping[str, Stamp]
    unreadable: int = 0
    alive: bool = True
    reason: str = ""
    large: Sequence[str] = ()


def snapshot(workspace: Workspace, last: Snapshot | None = None) -> Snapshot:
    """Return how the files of ``workspace`` look now, ignore rules and read policy applied.

    ``last`` is an earlier one of the same workspace: the names in it need not be judged again.
    """
    taken = _Stamps(workspace, last=last.files if last else {})
    reason = _trouble(workspace)
    if not reason:
        taken.add(list_all(workspace))
        # Once more: what went away meanwhile must not look deleted.
        reason = _trouble(workspace)
    if reason:
        return Snapshot({}, alive=False, reason=reason)
    return Snapshot(taken.files, taken.unreadable, large=taken.large)


def snapshot_of(
    workspace: Workspace, paths: Iterable[str], *, known: Container[str] = ()
) -> Mapping[str, Stamp | None]:
    """Return the stamps of ``paths``, and of the files below those that are folders, as ``snapshot`` would.

    Every path is in the answer, with ``None`` if it is no file that may be read; so whatever was known at or below it
    and is not in the answer is gone. If the workspace cannot be seen the answer is empty: nothing can be said.

    The cost does not depend on the size of the workspace, except for what git is asked, once for all paths: whether it
    lists those that exist and are not ``known``, the files of the last snapshot. These are taken to be listed still:
    after a change of a file that ``is_ignore_file``, only ``snapshot`` is true.
    """
    asked = list(dict.fromkeys(paths))
    if _trouble(workspace):
        return {}
    taken = _Stamps(workspace, frozenset(asked))
    waiting = taken.existing(path for path in asked if _is_normal(path))
    if waiting and _in_git(workspace):
        waiting = [path for path in waiting if path not in known or not taken.add_known(path)]
    if waiting:
        taken.add(list_all(workspace) if "" in waiting else list_at(workspace, waiting))
    return {} if _trouble(workspace) else dict.fromkeys(asked) | taken.files


def is_ignore_file(path: str) -> bool:
    """Return whether ``path`` is a file that hides others or shows them, so that only a whole snapshot is true."""
    return path.rpartition("/")[2] in IGNORE_FILES


class _Stamps:
    """Collects stamps; with ``only``, those of files at and below these paths."""

    def __init__(
        self, workspace: Workspace, only: frozenset[str] | None = None, last: Mapping[str, Stamp] | None = None
    ) -> None:
        self.files: dict[str, Stamp] = {}
        self.large: list[str] = []
        self.unreadable = 0
        self._root = workspace.root.path
        self._most = workspace.policy.max_bytes
        self._readable = ReadableNames(workspace.policy)
        self._only = only
        self._above = {folder for path in only or () for folder in folders_above(path)}
        self._last = last or {}

    def add(self, present: CurrentFiles) -> None:
        """Take the stamps of what is listed."""
        folders = [*present.folders, *self._add_all(present.names)]
        for folder in folders:
            self._add_all(present.below(folder))
        self.unreadable += present.unreadable

    def existing(self, paths: Iterable[str]) -> list[str]:
        """Return those of ``paths`` that are folders, or files that may be read if they are listed."""
        found = []
        for path in paths:
            status = _status(f"{self._root}/{path}")
            if status is not None and (S_ISDIR(status.st_mode) or self._is_wanted(path, status)):
                found.append(path)
        return found

    def add_known(self, path: str) -> bool:
        """Take the stamp of a file without asking whether it is listed; false if that must be asked after all."""
        above = (_status(f"{self._root}/{folder}") for folder in folders_above(path))
        if any(status is None or not S_ISDIR(status.st_mode) for status in above):
            return False
        status = _status(f"{self._root}/{path}")
        if status is None or not self._is_wanted(path, status):
            return False
        self.files[path] = _stamp(status)
        return True

    def _add_all(self, paths: Iterable[str]) -> list[str]:
        """Take the stamps of the files among ``paths``; return the folders among them."""
        prefix, lstat, files, only = f"{self._root}/", os.lstat, self.files, self._only
        allows, most, last = self._readable.allows, self._most, self._last
        folders = []
        for path in paths:
            wanted = only is None or _is_below(path, only)
            # A name above what is wanted can be a nested repository that holds it.
            if not wanted and path not in self._above:
                continue
            try:
                status = lstat(prefix + path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except (OSError, ValueError):
                self.unreadable += 1
                continue
            if S_ISREG(status.st_mode):
                if not wanted or not (path in last or allows(path)):
                    continue
                if status.st_size <= most:
                    files[path] = _stamp(status)
                else:
                    self.large.append(path)
            elif S_ISDIR(status.st_mode):
                folders.append(path)
        return folders

    def _is_wanted(self, path: str, status: os.stat_result) -> bool:
        return S_ISREG(status.st_mode) and status.st_size <= self._most and self._readable.allows(path)


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def _is_below(path: str, folders: frozenset[str]) -> bool:
    """Return whether ``path`` is one of ``folders`` or lies below one."""
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


def _trouble(workspace: Workspace) -> str:
    """Say why the folder of ``workspace`` cannot be seen; empty if it can."""
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
        return f"{name} is not a folder any more; move what has its name out of the way."
    except OSError as error:
        return f"{name} cannot be listed ({error.strerror}); make sure that you may read it."
    except SourceError as error:
        return f"{name} cannot be opened any more: {error.reason}"
    try:
        opened = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if (there.st_dev, there.st_ino) != (opened.st_dev, opened.st_ino):
        return f"{name} is another folder than the one that was opened; open it again, or put the first one back."
    return ""
