"""The folder of Promptuary's own files for a workspace, created so that a hostile workspace cannot redirect it.

It is ``.promptuary`` in the workspace, or, if that is impossible or not the person's own, a folder in the person's
state folder (``data_path`` decides). A workspace may come from somebody else: a link in place of the folder could
redirect writes, so every step goes through the descriptor of the folder above. Does not know what other modules put
into the folder.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Final

from promptuary.base import durable
from promptuary.base.errors import ConfigError, shortage
from promptuary.workspace.data_folder import known_workspaces
from promptuary.workspace.data_folder.data_path import data_path
from promptuary.workspace.disk.ownership import is_own
from promptuary.workspace.disk.protected_folders import FOLDER

_IGNORED: Final = """\
# Made by Promptuary, and yours to change. Prompts, shared notes and config.toml are worth keeping in git;
# private notes are yours alone, and the databases are of this machine only.
/*
!/config.toml
!/prompts/
!/memory/
/memory/**/private/
*.tmp
"""
_IGNORED_EARLIER: Final = _IGNORED.replace("Prompts, shared", "Shared").replace("!/prompts/\n", "")
"""What earlier versions created, which nobody has edited either."""
_COMMITTED: Final = f"{_IGNORED}!/.gitignore\n"
"""The same when something is worth committing: from then on git sees the ignore file, too."""
_IGNORE_FILE: Final = ".gitignore"

_FOREIGN: Final = (
    f"{FOLDER} in the workspace belongs to another user, or others may write it, and is not used; make it yours alone "
    "(chown, chmod 700), or move it elsewhere, and a folder is created in its place."
)
_SEALED: Final = (
    f"{FOLDER} in the workspace, which has its threads and notes, cannot be written now; make it writable again (mount "
    "the disk for writing, chmod u+w), or work in a copy of the workspace."
)
_INDEX: Final = "index"


def private_folder(root: Path, inner: str = "") -> Path:
    """Return the folder for the workspace ``root``, or the folder ``inner`` in it; create what is missing.

    Only the user can access new folders, and ``.promptuary`` gets a ``.gitignore``. Existing files, above all a
    person's edits, are not changed. Raises ``ConfigError`` for a link in the place of a folder, for a folder of another
    user, and if nothing can be written: threads that are there do not begin anew elsewhere.
    """
    place = data_path(root, disposable=inner == _INDEX)
    if place.is_sealed:
        raise ConfigError(_SEALED)
    with _open(root, inner) if place.inside else _open_outside(place.folder) as folder:
        if inner:
            durable.make_folder(inner, dir_fd=folder)
            with durable.opened_folder(inner, dir_fd=folder):
                pass  # it can be opened, so it is not a link
    known_workspaces.add(root)
    return place.folder / inner


def put(root: Path, name: str, content: bytes) -> None:
    """Replace the file ``name`` in ``.promptuary`` of the workspace ``root``. Raises ``ConfigError`` if that fails."""
    with _open(root, name) as folder:
        durable.replace(name, content, dir_fd=folder)


def unignore(root: Path) -> None:
    """Make the ignore file of ``.promptuary`` visible to git, because now something in the folder is worth committing.

    Changes nothing if a person has edited the file, or the folder is not in the workspace. Raises ``ConfigError`` like
    ``private_folder``.
    """
    if not data_path(root).inside:
        return
    with _open(root, _IGNORE_FILE) as folder:
        _commit_ignore_file(folder)


@contextmanager
def _open(root: Path, inner: str) -> Iterator[int]:
    """Open ``.promptuary``, created if it is missing; ``inner`` is named in an error."""
    try:
        above = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            durable.make_folder(FOLDER, dir_fd=above)
            with durable.opened_folder(FOLDER, dir_fd=above) as folder:
                if not is_own(os.fstat(folder)):
                    raise ConfigError(_FOREIGN)
                durable.create(_IGNORE_FILE, _IGNORED.encode(), mode=0o644, dir_fd=folder)
                yield folder
        finally:
            os.close(above)
    except OSError as error:
        raise _translate(error, f"{FOLDER}/{inner}".rstrip("/")) from error


@contextmanager
def _open_outside(folder: Path) -> Iterator[int]:
    """Open the folder of a workspace among the person's own, created if it is missing."""
    try:
        # How others may see the folders above is the person's choice; they hold the state of other programs.
        folder.parent.parent.parent.mkdir(parents=True, exist_ok=True)
        for one in (folder.parent.parent, folder.parent, folder):
            durable.make_folder(one)
        with durable.opened_folder(folder.parent) as above, durable.opened_folder(folder.name, dir_fd=above) as opened:
            if not is_own(os.fstat(opened)):
                raise ConfigError(f"{folder} belongs to another user, or others may write it, and is not used.")
            yield opened
    except OSError as error:
        raise ConfigError(f"{folder} cannot be used ({error.strerror}); check it.") from error


def _commit_ignore_file(folder: int) -> None:
    """Let git see the ignore file, if it is exactly as it was created; a link is left alone."""
    try:
        descriptor = os.open(_IGNORE_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return  # a link, or not ours to read
    with open(descriptor, "rb") as file:  # noqa: PTH123  (it is open already)
        ours = {_IGNORED.encode(), _IGNORED_EARLIER.encode()}
        same = S_ISREG(os.fstat(descriptor).st_mode) and file.read(len(_IGNORED) + 1) in ours
    if same:
        durable.replace(_IGNORE_FILE, _COMMITTED.encode(), dir_fd=folder)


def _translate(error: OSError, name: str) -> ConfigError:
    if error.errno in {errno.ELOOP, errno.ENOTDIR}:
        return ConfigError(
            f"{name} in the workspace is a link or not a folder, and is not used; move it elsewhere, "
            "and a folder is created in its place."
        )
    advice = shortage(error.errno) or f"it cannot be created in the workspace ({error.strerror}); can you write there?"
    return ConfigError(f"{name}: {advice}")
