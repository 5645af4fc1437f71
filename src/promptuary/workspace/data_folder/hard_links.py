"""Recognises notes under another name: hard links, outside the closed folders, to files in them.

The name of a hard link says nothing, so the file itself is searched for among the notes. That is done only for a file
with more than one hard link, which is rare, and the notes that have several are cached for a moment. Opens no file.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from promptuary.workspace.data_folder.data_path import person_place
from promptuary.workspace.disk.folders import Folders
from promptuary.workspace.disk.protected_folders import FOLDER
from promptuary.workspace.user_folders import notes_folder

FRESH_FOR: Final = 1.0
"""Seconds between two scans of the notes, or longer if there are very many."""

_FileId = tuple[int, int]


class HardLinks:
    """The notes of the workspace at ``root``, and of the person, that have more than one hard link."""

    def __init__(self, root: Path) -> None:
        notes = notes_folder()
        inner = f"{notes.name}/"
        self._places: Sequence[tuple[Path, str]] = (
            (root, f"{FOLDER}/{inner}"),
            (person_place(root), inner),
            (notes.parent, inner),
        )
        self._known: frozenset[_FileId] = frozenset()
        self._until = 0.0

    def hold(self, status: os.stat_result) -> bool:
        """Return whether the file with this ``status`` is one of them."""
        return status.st_nlink > 1 and (status.st_dev, status.st_ino) in self._current()

    def _current(self) -> frozenset[_FileId]:
        began = time.monotonic()
        if began >= self._until:
            self._known = frozenset(link for root, folder in self._places for link in _find_links(root, folder))
            now = time.monotonic()
            self._until = now + max(FRESH_FOR, 10 * (now - began))
        return self._known


def _find_links(root: Path, start: str) -> Iterator[_FileId]:
    pending = [start]
    with Folders(root) as folders:
        while pending:
            folder = pending.pop()
            for name, kind in folders.entries(folder) or ():
                if kind == "folder":
                    pending.append(f"{folder}{name}/")
                    continue
                with suppress(OSError, ValueError):
                    status = folders.status(folder + name)
                    if status is not None and status.st_nlink > 1:
                        yield status.st_dev, status.st_ino
