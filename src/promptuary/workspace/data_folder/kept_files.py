"""The files that Promptuary stores for a workspace and for the person: locates, measures and removes them.

The person's configuration is not included: they wrote that themselves. Links are never followed.
"""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct

from promptuary.base import durable
from promptuary.workspace.data_folder import known_workspaces
from promptuary.workspace.data_folder.data_path import data_path, person_place
from promptuary.workspace.disk.ownership import is_own
from promptuary.workspace.user_folders import (
    cache_folder,
    data_folder,
    make_folder,
    notes_folder,
    state_folder,
    workspace_file,
)

CONFIG: Final = "config.toml"
NOTES: Final = "memory"
STATE: Final = "state.db"
_SCRATCH: Final = "backup-"
_PIECE: Final = 1 << 20


class KeptFile(Struct, frozen=True):
    """A file or folder that Promptuary owns: what it is, where it is, and its size.

    ``action`` is what a restore does with it: "new", "same", "replaced" or "left out".
    """

    what: str
    path: str
    bytes: int
    action: str = ""


class KeptReport(Struct, frozen=True):
    """The files of a backup, a restore or a purge; ``done`` is false for a dry run."""

    files: Sequence[KeptFile]
    done: bool
    notes: Sequence[str] = ()

    @property
    def bytes(self) -> int:
        """All of it together."""
        return sum(file.bytes for file in self.files)


def list_kept_files(root: Path) -> Sequence[KeptFile]:
    """Return what is stored for the workspace at ``root``."""
    state = state_folder()
    lists = [
        workspace_file(state / folder, root).with_suffix(suffix)
        for folder in ("folders", "adopted", "usage", "typed", "prompts")
        for suffix in (".json", ".lock")
    ]
    known = person_place(root).with_suffix(".path")
    places = {data_path(root).folder: "threads, notes and index", person_place(root): "threads, notes and index"}
    files = dict.fromkeys([*lists, known], "what is known about it")
    return _those_there(places | files)


def list_kept_by_person(*, models: bool) -> Sequence[KeptFile]:
    """Return what is stored for the person outside workspaces; fetched models only with ``models``."""
    places = {notes_folder(): "your notes", state_folder(): "what is known about workspaces", cache_folder(): "caches"}
    return _those_there(places | ({data_folder() / "models": "models"} if models else {}))


def remove(kept: Sequence[KeptFile], roots: Sequence[Path]) -> None:
    """Remove ``kept``, and forget the workspaces at ``roots``. Raises ``OSError`` if something cannot be removed."""
    for one in kept:
        path = Path(one.path)
        with suppress(FileNotFoundError):  # it was in a folder that is gone
            if stat.S_ISDIR(path.lstat().st_mode):
                shutil.rmtree(path)
            else:
                path.unlink()
    for root in roots:
        known_workspaces.remove(root)


def files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the regular files below ``folder`` with their paths from there, in order; nothing behind a link."""
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(here, name)
            with suppress(OSError):
                if stat.S_ISREG(path.lstat().st_mode):
                    yield path.relative_to(folder).as_posix(), path


def _those_there(places: dict[Path, str]) -> Sequence[KeptFile]:
    found = []
    for path, what in places.items():
        with suppress(OSError):
            status = path.lstat()
            # Links, and files that others put there, are not removed.
            if is_own(status) and not stat.S_ISLNK(status.st_mode):
                found.append(KeptFile(what, str(path), _size(path, status)))
    return found


def _size(path: Path, status: os.stat_result) -> int:
    if not stat.S_ISDIR(status.st_mode):
        return status.st_size
    return sum(file.lstat().st_size for _, file in files_below(path))


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty temporary folder among the person's own folders, for one process at a time."""
    above = make_folder(state_folder())
    with durable.locked(above / "backup.lock"):
        for left in above.glob(f"{_SCRATCH}*"):  # by a process that was killed: nobody else holds the lock
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=above, prefix=_SCRATCH) as folder:
            yield Path(folder)


def is_plain_file(path: Path) -> bool:
    """Return whether a file that is not a link is at ``path``."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def is_there(path: Path) -> bool:
    """Return whether anything is at ``path``: a file, a folder, or any link, even a broken one."""
    return os.path.lexists(path)


def size_of(path: Path) -> int:
    return path.lstat().st_size


@contextmanager
def open_kept_file(path: Path, *, follow: bool = False) -> Iterator[BinaryIO]:
    """Open a regular file to read. Raises ``OSError`` if it is none: a pipe lets wait, and a device is endless."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123  (it is open already)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        yield file


def is_readable(path: Path) -> bool:
    """Return whether a file that is not a link is at ``path``, and may be read."""
    try:
        with open_kept_file(path):
            return True
    except OSError:
        return False


def same_content(path: Path, other: Path) -> bool:
    """Return whether two files have the same content; false if one of them cannot be read."""
    try:
        with open_kept_file(path) as one, open_kept_file(other) as two:
            pieces = iter(lambda: (one.read(_PIECE), two.read(_PIECE)), (b"", b""))
            return all(mine == others for mine, others in pieces)
    except OSError:
        return False


def put_file(base: Path, inner: str, source: Path) -> None:
    """Copy ``source`` to ``inner`` below the folder ``base``, with the folders between; no link there is followed."""
    *folders, name = inner.split("/")
    with ExitStack() as stack:
        folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, folder)
        for one in folders:
            durable.make_folder(one, dir_fd=folder)
            folder = stack.enter_context(durable.opened_folder(one, dir_fd=folder))
        with open_kept_file(source) as file, durable.written(name, dir_fd=folder) as target:
            shutil.copyfileobj(file, target, _PIECE)
