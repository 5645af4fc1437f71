"""Interprets the paths that people type: relative to the current folder first, then to the workspace.

Judges paths by their text alone, like ``normalise``, and returns them in the same form: ``Root`` opens the result,
strictly beneath the workspace. So no interpretation can lead out of it, whatever a path says and whatever is a link.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.disk.root import normalise

_WILDCARD = re.compile(r"[*?\[\]{}\\!,]")
_STEP = re.compile(r"\.{1,2}/")


class CurrentFolder(Struct, frozen=True):
    """The folder to which the paths of a surface are relative.

    ``roots`` are absolute paths that lead to the workspace, the real one first. ``folder`` is where the person is, as a
    real path; ``None`` for a surface without a current folder (a library, a server): there paths are relative to the
    workspace.
    """

    roots: tuple[Path, ...]
    folder: Path | None = None

    @classmethod
    def of(cls, root: Path, named: Path, folder: Path | None) -> "CurrentFolder":
        """Return what paths are relative to in the workspace ``root``, which was opened as ``named``.

        Both ``named`` and ``folder`` may go through links, as a shell shows them: such a path leads to the workspace as
        well. A folder that no longer exists is ignored.
        """
        spelled = [root, _absolute(named)]
        try:
            real = None if folder is None else folder.resolve(strict=True)
        except (OSError, RuntimeError):
            real = None
        if folder is not None and real is not None and real.is_relative_to(root):
            above, below = _absolute(folder).parts, real.relative_to(root).parts
            if below == above[len(above) - len(below) :]:
                spelled.append(Path(*above[: len(above) - len(below)]))
        return cls(tuple(dict.fromkeys(spelled)), real)

    @property
    def inside(self) -> str:
        """The current folder as a path in the workspace; empty if it is the workspace, is outside or is unknown."""
        if self.folder is None or not self.folder.is_relative_to(self.roots[0]):
            return ""
        return "/".join(self.folder.relative_to(self.roots[0]).parts)

    def readings(self, typed: str, *, absolute: bool = False) -> Sequence[str]:
        """Return the paths in the workspace that ``typed`` can mean, the likeliest first, in normal form.

        Raises ``SourceError`` if there is none: it leads out of the workspace, or is not a path. An absolute path in
        the workspace is accepted only with ``absolute``.
        """
        if absolute and typed.replace("\\", "/").startswith("/"):
            return [self._beneath(typed)]
        try:
            found = [normalise(typed)]
        except SourceError as error:
            # From the workspace it leads out; from the current folder it may not.
            if error.code is not Code.PATH_TRAVERSAL or (here := self._from_here(typed)) is None:
                raise
            return [here]
        here = self._from_here(typed)
        return found if here is None else list(dict.fromkeys((here, *found)))

    def patterns(self, typed: str) -> Sequence[str]:
        """Return what a pattern of paths can mean, like ``readings``, which raises for the same ones."""
        self.readings(typed)
        names, rest, climbs = self.inside.split("/") if self.inside else [], typed, False
        while step := _STEP.match(rest):
            climbs |= step[0].startswith("..")
            names, rest = names[:-1] if step[0].startswith("..") else names, rest[step.end() :]
        # The names of folders are not patterns: a wildcard in one of them matches any character instead.
        here = "/".join([*(_WILDCARD.sub("?", name) for name in names), rest])
        return [here] if climbs else list(dict.fromkeys((here, typed)))

    def _from_here(self, typed: str) -> str | None:
        """Return what ``typed`` means from the current folder; ``None`` if that is unknown or leads out."""
        if self.folder is None:
            return None
        try:
            if self.folder.is_relative_to(self.roots[0]):
                return normalise(f"{self.inside}/{typed}" if self.inside else typed)
            return self._beneath(f"{self.folder}/{typed}")
        except SourceError:
            return None

    def _beneath(self, path: str) -> str:
        """Return an absolute path relative to the workspace; raises like ``normalise`` if it is outside."""
        normal = Path("/" + normalise(path.lstrip("/\\")))
        for root in self.roots:
            if normal.is_relative_to(root):
                return normalise("/".join(normal.relative_to(root).parts) or ".")
        return normalise(path)  # raises for it


def _absolute(path: Path) -> Path:
    """Return ``path`` as an absolute path, without resolving links."""
    return Path(os.path.abspath(path))  # noqa: PTH100  (``resolve`` would replace the links)
