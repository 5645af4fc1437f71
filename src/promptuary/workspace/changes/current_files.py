"""Which files a workspace lists at this moment: all of them, or those at and below some paths.

The rules are those of ``listing``: inside git what git reports, and nested repositories are walked; elsewhere, and
where git lists nothing, a walk that applies the ignore files on its way. Unlike a ``Listing`` this is synchronous, so
that it includes what was written before the call. Of ``.ignore`` and ``.promptuaryignore``, those that git lists itself
and those at the top of the workspace count. Returns names only; does not know what they are used for, nor whether they
may be read.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.changes.listed_names import ListedNames, list_names
from promptuary.workspace.listing.ignore import (
    GIT_IGNORE_FILES,
    OWN_IGNORE_FILES,
    IgnoreRules,
    OwnIgnoreRules,
    folder_rules,
)
from promptuary.workspace.listing.noise import VERSION_CONTROL
from promptuary.workspace.listing.walk import FileFilter, is_real_folder, walk
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.workspace.git.repository import Repository

IGNORE_FILES: Final = frozenset({*GIT_IGNORE_FILES, *OWN_IGNORE_FILES})
"""Names of files that hide or show other files: after a change of one of them, only a full list is correct."""

MAX_GIT_PATHS: Final = 200
"""Git compares every file with every path it is given: beyond this many paths, asking for all files is faster."""

_OWN_ENDINGS = tuple(f"/{name}" for name in OWN_IGNORE_FILES)


class CurrentFiles(Struct):
    """The listed files. ``names`` may be deleted by now, or be folders; ``folders`` are nested repositories."""

    file_filter: FileFilter
    names: Sequence[str]
    folders: Sequence[str] = ()
    unreadable_folders: int = 0
    own: OwnIgnoreRules | None = None
    nested: set[str] = field(default_factory=set)
    listed: ListedNames | None = None
    """What git listed, to be reused."""

    def below(self, folder: str) -> Iterator[str]:
        """Yield the files below ``folder``: one of ``folders``, or one of ``names`` that is a folder."""
        self.nested.add(f"{folder}/")
        for files in walk(self.file_filter, folder, IgnoreRules(noise=False)):
            yield from files if self.own is None else self.own.without_ignored(files)

    @property
    def unreadable(self) -> int:
        """How many folders could not be read so far."""
        return self.unreadable_folders + self.file_filter.skipped["unreadable"]

    @property
    def cut_rules(self) -> list[str]:
        """The ignore files that have more rules than are applied, of those read so far."""
        return sorted({*self.file_filter.cut_rules, *(self.own.cut if self.own else ())})


def list_all(workspace: Workspace, last: ListedNames | None = None) -> CurrentFiles:
    """Return the files that ``workspace`` lists. Git is not asked if it would repeat what it listed ``last``."""
    root = workspace.root.path
    if last is not None and last.is_current():
        current = _list_with_git(root, list(last.names), 0)
        current.listed = last
        return current
    try:
        with workspace.repository() as repository:
            listed, unreadable_folders = list_names(root, repository)
    except SourceError as error:
        # If git should have listed the files and did not, a walk is the best there is, but no proof that one is gone.
        listed, unreadable_folders = None, int(error.code is not Code.NOT_A_REPOSITORY)
    if listed is not None and listed.names:
        current = _list_with_git(root, list(listed.names), unreadable_folders)
        current.listed = None if unreadable_folders else listed
        return current
    walked = _walk(root, None)
    walked.unreadable_folders += unreadable_folders
    return walked


def list_at(workspace: Workspace, paths: Collection[str]) -> CurrentFiles:
    """Return the files that ``workspace`` lists at and below ``paths``, which exist, and perhaps more.

    Calls git once for all of them. Files in the folder of a submodule that was never initialised are found by
    ``list_all`` alone, because git does not report them.
    """
    root = workspace.root.path
    try:
        with workspace.repository() as repository:
            names, unreadable_folders = repository.names(*_git_paths(root, paths))
            in_git = bool(names) or _lists_anything(repository)
    except SourceError:
        in_git, names, unreadable_folders = False, [], 0
    return _list_with_git(root, names, unreadable_folders) if in_git else _walk(root, paths)


def _git_paths(root: Path, paths: Collection[str]) -> list[str]:
    """Return the paths to pass to git for ``paths``; an empty list means all files."""
    wanted: set[str] = set()
    for path in paths:
        above = folders_above(path)
        # Git lists a nested repository, but not the files in it.
        nested = next((folder for folder in (*above, path) if os.path.lexists(root / folder / ".git")), None)
        wanted.add(path if nested is None else nested)
        outside = above if nested is None else folders_above(nested)
        rules = (f"{folder}/{name}" for folder in outside for name in OWN_IGNORE_FILES)
        wanted.update(rule for rule in rules if os.path.lexists(root / rule))
    return sorted(wanted) if len(wanted) <= MAX_GIT_PATHS else []


def folders_above(path: str) -> list[str]:
    """Return the folders above ``path``, the outermost first, without the workspace."""
    names = path.split("/")
    return ["/".join(names[:count]) for count in range(1, len(names))]


def _lists_anything(repository: "Repository") -> bool:
    return any(repository.tracked()) or any(repository.untracked())


def _list_with_git(root: Path, listed: list[str], unreadable_folders: int) -> CurrentFiles:
    file_filter = FileFilter(root)
    names = file_filter.opened(listed)
    folders = [name[:-1] for name in names if name.endswith("/")]
    nested: set[str] = set()
    own = _own_rules(root, names, nested)
    if folders:
        names = [name for name in names if not name.endswith("/")]
    return CurrentFiles(
        file_filter,
        names if own is None else own.without_ignored(names),
        folders,
        unreadable_folders,
        own,
        nested,
    )


def _own_rules(root: Path, names: Sequence[str], nested: Collection[str]) -> OwnIgnoreRules | None:
    """Return the rules of our own ignore files; ``None`` if there are no such files."""
    ruled = [name.rpartition("/") for name in names if name.endswith(_OWN_ENDINGS)]
    folders = {f"{folder}/" for folder, _, _ in ruled}
    if not folders and not any(os.path.lexists(root / name) for name in OWN_IGNORE_FILES):
        return None

    def counts(folder: str) -> bool:
        return not folder or folder in folders or any(map(folder.startswith, nested))

    return OwnIgnoreRules(root, counts)


def _walk(root: Path, paths: Collection[str] | None) -> CurrentFiles:
    file_filter = FileFilter(root)
    if paths is None:
        found = list(chain.from_iterable(walk(file_filter, "", IgnoreRules())))
    else:
        rules = _Rules(root)
        found = [name for path in paths for name in rules.below(file_filter, path)]
    return CurrentFiles(file_filter, found)


class _Rules(Struct):
    """What a walk would decide about single paths; reads only the folders above them."""

    root: Path
    _inside: dict[str, IgnoreRules | None] = field(default_factory=dict)

    def below(self, file_filter: FileFilter, path: str) -> Iterator[str]:
        """Yield ``path`` if it is a file that a walk finds, or the files below it."""
        folder = path[: path.rfind("/") + 1]
        inside = self._rules_inside(folder)
        is_folder = is_real_folder(self.root / path)
        if inside is None or self._skips(inside, path, folder=is_folder) or file_filter.closed.holds(path):
            return
        if is_folder:
            yield from chain.from_iterable(walk(file_filter, path, inside))
        else:
            yield path

    def _rules_inside(self, folder: str) -> IgnoreRules | None:
        """Return the rules inside ``folder``, empty or ending in a slash; ``None`` if a walk does not enter it."""
        if folder not in self._inside:
            self._inside[folder] = self._decide(folder)
        return self._inside[folder]

    def _decide(self, folder: str) -> IgnoreRules | None:
        above = self._rules_inside(folder[: folder.rfind("/", 0, -1) + 1]) if folder else IgnoreRules()
        if above is None:
            return None
        if folder and (self._skips(above, folder[:-1], folder=True) or not is_real_folder(self.root / folder[:-1])):
            return None
        names = {name for name in (".git", *IGNORE_FILES) if os.path.lexists(self.root / folder / name)}
        return above.within(folder, folder_rules(self.root / folder, names))

    def _skips(self, rules: IgnoreRules, path: str, *, folder: bool) -> bool:
        return path.rpartition("/")[2] in VERSION_CONTROL or rules.hides(path, folder=folder)
