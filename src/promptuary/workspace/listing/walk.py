"""Walk folders without git, applying the ignore files in them.

Used outside repositories, inside nested ones, and to show ignored files too. Links to folders are never followed. This
module yields names only; to open one, use ``Root``.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Literal

from promptuary.workspace.listing.ignore import VERSION_CONTROL, IgnoreRules, folder_rules

SkipReason = Literal["unreadable", "broken link", "link", "missing", "special"]
"""Why a name is not listed: a folder that may not be read, a link to nothing, a link that the workspace does not
follow, a file that git tracks but that is gone, a pipe or a socket."""

_LONGEST_PATH = 4096


@dataclass(slots=True)
class FileFilter:
    """Decides which names of a workspace are files to list, and counts the others in ``skipped``."""

    root: Path
    links: bool = False
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    _real: dict[str, bool] = field(default_factory=lambda: {"": True})

    def classify(self, paths: list[str]) -> tuple[list[str], list[str]]:
        """Return the files among ``paths``, and the folders. Makes one system call for each path and each folder.

        A file behind a link to a folder is missing: git would not list it, but a forged index may.
        """
        files: list[str] = []
        folders: list[str] = []
        prefix, lstat = f"{self.root}/", os.lstat
        for path in paths:
            try:
                mode = lstat(prefix + path).st_mode if self.is_real(path.rpartition("/")[0]) else None
            except OSError:
                mode = None
            if mode is None:
                self.skipped["missing"] += 1
                continue
            if S_ISREG(mode) or (S_ISLNK(mode) and self.lists_link(path)):
                files.append(path)
            elif S_ISDIR(mode):
                folders.append(path)
            elif not S_ISLNK(mode):
                self.skipped["special"] += 1
        return files, folders

    def is_real(self, folder: str) -> bool:
        """Return whether a path of the workspace is a folder without a link on the way.

        True also if that may not be examined: then nothing below it can be examined either.
        """
        asked: list[str] = []
        while (known := self._real.get(folder)) is None:
            if len(folder) > _LONGEST_PATH:
                return False
            asked.append(folder)
            folder = folder.rpartition("/")[0]
        for one in reversed(asked):
            known = self._real[one] = known and _may_be_folder(f"{self.root}/{one}")
        return known

    def lists_link(self, path: str) -> bool:
        """Return whether the link ``path`` is listed: links are allowed, and it leads to a file in the workspace."""
        try:
            target = (self.root / path).resolve(strict=True)
        except (OSError, RuntimeError):
            self.skipped["broken link"] += 1
            return False
        if self.links and target.is_file() and target.is_relative_to(self.root):
            return True
        self.skipped["link"] += 1
        return False


def walk(file_filter: FileFilter, start: str = "", ignores: IgnoreRules | None = None) -> Iterator[list[str]]:
    """Yield the files below the folder ``start``, a list for each folder. Without ``ignores`` nothing is hidden."""
    pending: list[tuple[str, IgnoreRules | None]] = [(f"{start}/" if start else "", ignores)]
    while pending:
        folder, outer = pending.pop()
        entries = _entries(file_filter, folder)
        inner = outer and outer.within(folder, folder_rules(file_filter.root / folder, {e.name for e in entries}))
        files = []
        for entry in entries:
            path = folder + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name in VERSION_CONTROL or (inner and inner.hides(path, folder=is_folder)):
                continue
            if is_folder:
                pending.append((f"{path}/", inner))
            elif _is_file(file_filter, entry, path):
                files.append(path)
        yield files


def is_real_folder(path: str | Path) -> bool:
    """Return whether ``path`` is a folder itself, and not a link to one."""
    try:
        return S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _may_be_folder(path: str) -> bool:
    try:
        return S_ISDIR(os.lstat(path).st_mode)
    except OSError as error:
        return isinstance(error, PermissionError)


def _entries(file_filter: FileFilter, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(f"{file_filter.root}/{folder}") as entries:
            return list(entries)
    except OSError:
        file_filter.skipped["unreadable"] += 1
        return []


def _is_file(file_filter: FileFilter, entry: os.DirEntry[str], path: str) -> bool:
    if entry.is_symlink():
        return file_filter.lists_link(path)
    if entry.is_file(follow_symlinks=False):
        return True
    file_filter.skipped["special"] += 1
    return False
