"""A copy of what changed in a working tree, for systems on which git cannot be confined.

Git opens the working tree by names, so a folder that is swapped for a link leads it outside. Here git only reports
which names it considers changed; their content is copied without following any link into a private temporary folder,
and git compares that. What did not change is not copied but marked as unchanged in a copy of the index. For untracked
files and files that may not be read, only the names matter, and for a submodule its current commit: files and
repositories without content replace them.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import Struct

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.git.locate import copy_inside, exists_inside, folder_inside, link_inside
from promptuary.workspace.git.patch import Refusal

TEMPORARY: Final = "promptuary-git-"
"""The prefix of the names of the temporary folders."""

_MAX_BYTES = 512 << 20
"""Git does not show lines of a larger file, either."""
_STAND_IN = b"not shown\n"
"""The placeholder for a changed file; it must differ from the old content, which an empty file might not."""


class WorkspaceNames(Struct, frozen=True):
    """The names of a workspace by their state in git; submodules that moved have their current commit."""

    changed: Sequence[bytes]
    unchanged: Sequence[bytes]
    untracked: Sequence[bytes]
    moved: Mapping[bytes, str]


class CopiedTree(Struct, frozen=True):
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
            for path in paths:
                if refusal(path) is None:
                    _copy(top, tree.top, str(below / path))
                else:
                    _stand_in(workspace, tree.top / below, path)
            for folder in above:
                _copy(top, tree.top, str(folder / ".gitattributes"))
            for name in names.untracked:
                _stand_in(workspace, tree.top / below, os.fsdecode(name))
            for name, commit in names.moved.items():
                _stand_at(tree.top / below / os.fsdecode(name), commit)
        except OSError as error:
            raise SourceError(Code.GIT_FAILED, f"the files could not be copied: {error.strerror}") from error
        yield tree


def _copy(top: Path, copies: Path, path: str) -> None:
    target = copies / path
    if os.path.lexists(target) or not exists_inside(top, path):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    link = link_inside(top, path)
    if link is not None:
        target.symlink_to(os.fsdecode(link))
    elif not copy_inside(top, path, target, _MAX_BYTES) and exists_inside(top, path, larger_than=_MAX_BYTES):
        with target.open("wb") as file:
            file.truncate(_MAX_BYTES)


def _stand_in(workspace: Path, copies: Path, path: str) -> None:
    name, nested = path.removesuffix("/"), path.endswith("/")
    target = copies / name / "file" if nested else copies / name
    # Names that were swapped in between may conflict.
    there = exists_inside(workspace, name) and folder_inside(workspace, name) is nested
    if there and not os.path.lexists(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_STAND_IN)


def _stand_at(folder: Path, commit: str) -> None:
    """Create the smallest repository that git accepts as a submodule at ``commit``."""
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(f"{commit}\n", encoding="ascii")
