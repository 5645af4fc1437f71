"""Finds the current commits of submodules, for systems on which git cannot be confined.

To find that out, git follows the ``.git`` of a submodule wherever it leads, and a forged one leads to another
repository. Here it counts only if it leads to a folder in which the outer repository stores its submodules, or to one
in the workspace, and nothing behind a link is read. A submodule whose commit cannot be determined counts as not moved,
as in git.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from promptuary.base.errors import SourceError
from promptuary.workspace.git.locate import folder_inside, read_inside, resolve_pointer

_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs(?:/(?!\.)[^\x00-\x20\x7f/]+)+")
_MAX_POINTER = 8 << 10
_MAX_PACKED_REFS = 64 << 20


class Submodules(Struct, frozen=True):
    """The submodules below ``workspace``; their git folders are in it or in one of ``stores``."""

    workspace: Path
    stores: Sequence[Path]

    def moved(self, staged: Mapping[bytes, bytes]) -> dict[bytes, str | None]:
        """Return the commits of those that differ from ``staged``; ``None`` if there is no folder."""
        found: dict[bytes, str | None] = {}
        for name, expected in staged.items():
            path = os.fsdecode(name)
            if not folder_inside(self.workspace, path):
                found[name] = None
            elif (commit := self._commit_of(path)) and commit != expected.decode("ascii", "replace"):
                found[name] = commit
        return found

    def _commit_of(self, path: str) -> str | None:
        try:
            return self._head(path)
        except SourceError:
            return None

    def _head(self, path: str) -> str | None:
        if folder_inside(self.workspace, f"{path}/.git"):
            return _commit_in(self.workspace, f"{path}/.git")
        text = os.fsdecode(read_inside(self.workspace, f"{path}/.git", _MAX_POINTER) or b"")
        if not text.startswith("gitdir:"):
            return None
        target = resolve_pointer(self.workspace / path, text.removeprefix("gitdir:"))
        for store in (self.workspace, *self.stores):
            if target.is_relative_to(store):
                return _commit_in(store, str(target.relative_to(store)))
        return None


def _commit_in(base: Path, git_folder: str) -> str | None:
    """Return the current commit of the repository in ``git_folder``, below ``base``."""

    def read(name: str, limit: int) -> str:
        return os.fsdecode(read_inside(base, f"{git_folder}/{name}", limit) or b"")

    head = read("HEAD", _MAX_POINTER).strip()
    if head.startswith("ref: ") and _REF.fullmatch(name := head[5:].strip()):
        head = read(name, _MAX_POINTER).strip() or _find_packed_ref(read("packed-refs", _MAX_PACKED_REFS), name)
    return head if _HEX.fullmatch(head) else None


def _find_packed_ref(listed: str, name: str) -> str:
    ending = f" {name}"
    return next((line.removesuffix(ending) for line in listed.split("\n") if line.endswith(ending)), "")
