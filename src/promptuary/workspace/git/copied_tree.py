"""A copy of what changed in a working tree, for systems on which git cannot be confined.

Git opens the working tree by names, so a folder that is exchanged for a link leads it outside. Here git only says which
names it takes for changed; their content is read without following any link, into a temporary folder that nobody
exchanges, and git compares that. What did not change is not copied but marked as unchanged in a copy of the index, and
an untracked file is an empty file, since only its name counts.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from promptuary.core.errors import Code, SourceError
from promptuary.workspace.git.locate import copy_inside, exists_inside, link_inside
from promptuary.workspace.git.patch import Refusal

TEMPORARY: Final = "promptuary-git-"
"""How the names of the temporary folders begin."""

_LARGEST = 512 << 20
"""Git shows no lines of a larger file either."""


@dataclass(frozen=True, slots=True)
class WorkspaceNames:
    """The names of a workspace by what git takes them for."""

    changed: Sequence[bytes]
    unchanged: Sequence[bytes]
    untracked: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class CopiedTree:
    """The folder with the copies, the place for an index, and a file with the unchanged names, a NUL after each."""

    top: Path
    index: Path
    unchanged: Path


@contextmanager
def copied_tree(top: Path, workspace: Path, names: WorkspaceNames, refusal: Refusal) -> Iterator[CopiedTree]:
    """Copy the changed files of ``workspace``, a folder of the working tree ``top``, that may be read."""
    with tempfile.TemporaryDirectory(prefix=TEMPORARY, ignore_cleanup_errors=True) as made:
        own = Path(os.path.realpath(made))
        tree = CopiedTree(own / "tree", own / "index", own / "unchanged")
        below = workspace.relative_to(top)
        try:
            (tree.top / below).mkdir(parents=True)
            tree.unchanged.write_bytes(b"".join(name + b"\0" for name in names.unchanged))
            paths = [os.fsdecode(name) for name in names.changed]
            above = {parent for path in (*paths, "x") for parent in PurePosixPath(below / path).parents}
            for path in (path for path in paths if refusal(path) is None):
                _copy(top, tree.top, str(below / path))
            for folder in above:
                _copy(top, tree.top, str(folder / ".gitattributes"))
            for name in names.untracked:
                _stand_in(workspace, tree.top / below, os.fsdecode(name))
        except OSError as error:
            raise SourceError(Code.GIT_FAILED, f"the files could not be copied: {error.strerror}") from error
        yield tree


def _copy(top: Path, copies: Path, path: str) -> None:
    target = copies / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(target):
        return
    link = link_inside(top, path)
    if link is not None:
        target.symlink_to(os.fsdecode(link))
    elif not copy_inside(top, path, target, _LARGEST) and exists_inside(top, path, larger_than=_LARGEST):
        with target.open("wb") as file:
            file.truncate(_LARGEST)


def _stand_in(workspace: Path, copies: Path, path: str) -> None:
    if exists_inside(workspace, path.removesuffix("/")):
        target = copies / path / "file" if path.endswith("/") else copies / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
