"""The names that git listed, reused while nothing has changed that decides them: starting git takes longer than a turn.

That is every folder that git looks into, every list of ignored files, git's index and its settings. Git remains the
one to decide: one stamp that differs, and it is asked again. What a settings file of the person includes is not
stamped; a change there counts with the next change of any of these.
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, convert
from msgspec.structs import asdict

from promptuary.base import durable
from promptuary.workspace.listing.ignore import GIT_IGNORE_FILES, IgnoreRules
from promptuary.workspace.listing.walk import FileFilter, walk
from promptuary.workspace.user_folders import cache_folder, make_folder, workspace_file

if TYPE_CHECKING:
    from promptuary.workspace.git.repository import Repository

_SETTLED_NANOSECONDS: Final = 2_000_000_000
"""What is younger may change again in the same tick of the clock, and have the same stamp."""
_MAX_FILE: Final = 64 << 20

_VARIABLES: Final = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
"""The variables of the environment that say where git's settings are."""

_Stamp = Sequence[int] | None


class ListedNames(Struct, frozen=True):
    """What git listed, and the stamps of the files and folders that decide it, by their paths."""

    names: Sequence[str]
    stamps: Mapping[str, _Stamp]
    variables: Sequence[str | None]
    taken: int
    """When the stamps were taken, in nanoseconds since 1970."""

    def is_current(self) -> bool:
        """Return whether git would list the same."""
        return self.variables == _variables() and all(_stamp_of(path) == stamp for path, stamp in self.stamps.items())

    def is_settled(self) -> bool:
        """Return whether every change since the stamps were taken has to show in them."""
        latest = max((stamp[1] for stamp in self.stamps.values() if stamp), default=0)
        return self.taken - latest > _SETTLED_NANOSECONDS


def list_names(root: Path, repository: "Repository") -> tuple[ListedNames, int]:
    """Return what git lists below ``root``, and how many folders it could not open."""
    # Before git looks: what changes meanwhile has another stamp.
    taken, stamps = time.time_ns(), _deciding_stamps(root, repository)
    names, unreadable_folders = repository.names()
    return ListedNames(names, stamps, _variables(), taken), unreadable_folders


def _deciding_stamps(root: Path, repository: "Repository") -> Mapping[str, _Stamp]:
    file_filter = FileFilter(root)
    for _ in walk(file_filter, "", IgnoreRules(noise=False)):
        pass
    rules = [folder + name for folder in file_filter.entered for name in GIT_IGNORE_FILES]
    paths = [os.path.join(root, path) for path in (*file_filter.entered, *rules)]  # noqa: PTH118  (many)
    return {path: _stamp_of(path) for path in (*paths, *map(str, repository.deciding_files()))}


def load_listed_names(root: Path) -> ListedNames | None:
    """Return what an earlier process stored for the folder ``root``."""
    try:
        descriptor = os.open(_file(root), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return convert(json.loads(file.read(_MAX_FILE)), ListedNames)
    except (OSError, ValueError, RecursionError):
        return None


def store_listed_names(root: Path, listed: ListedNames) -> None:
    """Store it for the next process."""
    # The standard library's JSON: names need not be UTF-8.
    content = json.dumps(asdict(listed)).encode()
    with suppress(OSError):  # otherwise git is asked again
        make_folder(_file(root).parent)
        durable.replace(_file(root), content, mode=0o600, sync=False)


def _variables() -> list[str | None]:
    return [os.environ.get(name) for name in _VARIABLES]


def _file(root: Path) -> Path:
    return workspace_file(cache_folder() / "listed", root)


def _stamp_of(path: str) -> _Stamp:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return [status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size]
