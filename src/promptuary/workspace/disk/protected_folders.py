"""Promptuary's own folders, closed to everything that reads or lists a workspace.

The notes in them have owners: the store of notes checks that, and a file reader cannot. So the folder ``.promptuary``
of every workspace, wherever it is, and the folders of the person's notes and state, if a workspace contains them, are
neither read nor listed, and no setting changes that. Decides by names alone, and opens nothing.
"""

import os
import re
import unicodedata
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.disk.root import comparable, display_path
from promptuary.workspace.user_folders import notes_folder, state_folder

FOLDER: Final = ".promptuary"
"""The folder for Promptuary's files in a workspace."""

CLOSED_NOTE: Final = 'files in .promptuary/ are not shown; for notes write @memory:"words"'
"""The remark where such files are left out, without their names and their number."""

_SHORT = "prompt~1"  # how Windows shortens it, as git~1 is .git
_NAMES = frozenset({FOLDER, _SHORT})
# Every name that compares equal to one of these contains its letters; searching for them is faster than comparing.
_LIKELY = re.compile("p[^/a-z]*r[^/a-z]*o[^/a-z]*m[^/a-z]*p[^/a-z]*t")


class ProtectedFolders(Struct, frozen=True):
    """The closed folders of one workspace: every ``.promptuary``, and ``others``.

    ``others`` are paths from the workspace, in comparable form; the empty one closes all of it.
    """

    others: frozenset[str] = frozenset()

    @classmethod
    def of(cls, root: Path) -> Self:
        """Return the closed folders of the workspace at ``root``, which is a real path."""
        here = comparable(str(root))
        of_person = [comparable(os.path.realpath(one)) for one in (notes_folder(), state_folder())]
        if not _NAMES.isdisjoint(here) or any(here[: len(one)] == one for one in of_person):
            return cls(frozenset({""}))
        here = here if here[-1] else here[:-1]  # the root of the disk ends in a slash
        return cls(frozenset("/".join(one[len(here) :]) for one in of_person if one[: len(here)] == here))

    @property
    def everything(self) -> bool:
        """Whether the workspace itself is, or is in, a closed folder."""
        return "" in self.others

    def may_hold(self, text: str) -> bool:
        """Return False if no path in ``text``, which may be many in a row, is closed. Quick."""
        return bool(self.others) or _is_likely(text)

    def holds(self, path: str) -> bool:
        """Return whether ``path``, relative to the workspace, is a closed folder or in one."""
        if self.everything:
            return True
        if not self.may_hold(path):
            return False
        names = comparable(path)
        if not _NAMES.isdisjoint(names):
            return True
        return any("/".join(names[: other.count("/") + 1]) == other for other in self.others)


def protected_error(path: str) -> SourceError:
    """Return the error for ``path``, which is closed."""
    return SourceError(
        Code.CLOSED_FOLDER,
        f"{display_path(path)} is among Promptuary's own files, which are not read as files; "
        'for notes write @memory:"words", or run `promptuary memory show`.',
    )


def _is_likely(path: str) -> bool:
    if path.isascii():
        lower = path.lower()
        return FOLDER in lower or _SHORT in lower
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())
    return _LIKELY.search(folded) is not None
