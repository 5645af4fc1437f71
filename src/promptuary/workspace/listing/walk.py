"""Walks folders without git, applying the ignore files in them.

Used outside repositories, inside nested ones, and to show ignored files too. Links to folders are never followed, not
even one that replaces a folder during the walk. This module yields names only; to open one, use ``Root``.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Literal

from promptuary.base.concurrency import foreground
from promptuary.workspace.disk.folders import Folders
from promptuary.workspace.disk.protected_folders import ProtectedFolders
from promptuary.workspace.listing.ignore import IgnoreRules, folder_rules
from promptuary.workspace.listing.noise import VERSION_CONTROL

SkipReason = Literal["unreadable", "broken link", "link", "missing", "special"]
"""Why a name is not listed: a folder that may not be read, a link to nothing, a link that the workspace does not
follow, a file that git tracks but that is gone, a pipe or a socket."""


class FileFilter:
    """Decides which names of a workspace are files to list, and counts the others in ``skipped``.

    ``cut_rules`` are the ignore files on the way that have more rules than are applied, ``entered`` the folders that
    were listed, each with a slash at its end. What is ``closed`` is neither listed nor counted.
    """

    def __init__(self, root: Path, *, links: bool = False) -> None:
        self.root, self.links = root, links
        self.skipped: Counter[SkipReason] = Counter()
        self.cut_rules: list[str] = []
        self.entered: list[str] = []
        self.closed = ProtectedFolders.of(root)

    def opened(self, names: list[str]) -> list[str]:
        """Return those of ``names``, which git lists, that are not closed."""
        if not self.closed.may_hold("\0".join(names)):
            return names
        holds = self.closed.holds
        return [name for name in names if not holds(name)]

    def classify(self, paths: list[str]) -> tuple[list[str], list[str]]:
        """Return the files among ``paths``, and the folders. Makes one system call for each path and each folder.

        A file behind a link to a folder is missing: git would not list it, but a forged index may.
        """
        files: list[str] = []
        found: list[str] = []
        with Folders(self.root) as folders:
            for path in foreground.yielding(paths):
                try:
                    status = folders.status(path)
                except (OSError, ValueError):
                    status = None
                if status is None:
                    self.skipped["missing"] += 1
                elif S_ISREG(status.st_mode) or (S_ISLNK(status.st_mode) and self.lists_link(path)):
                    files.append(path)
                elif S_ISDIR(status.st_mode):
                    found.append(path)
                elif not S_ISLNK(status.st_mode):
                    self.skipped["special"] += 1
        return files, found

    def lists_link(self, path: str) -> bool:
        """Return whether the link ``path`` is listed: links are allowed, and it leads to a file in the workspace."""
        try:
            target = (self.root / path).resolve(strict=True)
        except (OSError, RuntimeError):
            self.skipped["broken link"] += 1
            return False
        if self.links and target.is_file() and target.is_relative_to(self.root):
            return not self.closed.holds(str(target.relative_to(self.root)))
        self.skipped["link"] += 1
        return False


def walk(file_filter: FileFilter, start: str = "", ignores: IgnoreRules | None = None) -> Iterator[list[str]]:
    """Yield the files below the folder ``start``, a list for each folder. Without ``ignores`` nothing is hidden."""
    if file_filter.closed.holds(start):
        return
    pending: list[tuple[str, IgnoreRules | None]] = [(f"{start}/" if start else "", ignores)]
    with Folders(file_filter.root) as folders:
        while pending:
            folder, outer = pending.pop()
            entries = folders.entries(folder)
            file_filter.entered.append(folder)
            if entries is None:
                file_filter.skipped["unreadable"] += 1
                entries = []
            inner = outer
            if outer:
                rules = folder_rules(file_filter.root / folder, {name for name, _ in entries})
                file_filter.cut_rules += [folder + name for name in rules.cut]
                inner = outer.within(folder, rules)
            files = []
            for name, kind in entries:
                path = folder + name
                if name in VERSION_CONTROL or (inner and inner.hides(path, folder=kind == "folder")):
                    continue
                if file_filter.closed.holds(path):
                    continue
                if kind == "folder":
                    pending.append((f"{path}/", inner))
                elif kind == "file" or (kind == "link" and file_filter.lists_link(path)):
                    files.append(path)
                elif kind == "special":
                    file_filter.skipped["special"] += 1
            yield files


def is_real_folder(path: str | Path) -> bool:
    """Return whether ``path`` is a folder itself, and not a link to one."""
    try:
        return S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
