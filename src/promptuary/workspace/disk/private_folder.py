"""The folder ``.promptuary`` of a workspace, created so that a hostile workspace cannot redirect it.

A workspace may be somebody else's: a link in the place of the folder would have our files written elsewhere, so every
step goes through the descriptor of the folder above. Does not know what other modules put into the folder.
"""

import errno
import os
from pathlib import Path
from typing import Final

from promptuary import durable
from promptuary.core.errors import ConfigError
from promptuary.workspace.disk.closed_folders import FOLDER
from promptuary.workspace.disk.ownership import is_own

_IGNORED: Final = """\
# Made by Promptuary, and yours to change. The databases are of this machine only;
# memory/ and config.toml are worth keeping in git.
/state.db*
/index/
*.tmp
"""

_FOREIGN: Final = (
    f"{FOLDER} in the workspace belongs to another user, or others may write it, and is not used; make it yours alone "
    "(chown, chmod 700), or move it elsewhere, and a folder is created in its place."
)


def private_folder(root: Path, inner: str = "") -> Path:
    """Return ``.promptuary`` in the workspace ``root``, or the folder ``inner`` in it; create what is missing.

    New folders are for their user alone, and ``.promptuary`` gets a ``.gitignore``. What exists already, above all a
    person's edits, is not changed. Raises ``ConfigError`` for a link in the place of a folder, for a folder of another
    user, and if nothing can be written.
    """
    try:
        above = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _create(above, inner)
        finally:
            os.close(above)
    except OSError as error:
        raise _translated(error, f"{FOLDER}/{inner}".rstrip("/")) from error
    return root / FOLDER / inner


def _create(above: int, inner: str) -> None:
    durable.make_folder(FOLDER, dir_fd=above)
    with durable.opened_folder(FOLDER, dir_fd=above) as folder:
        if not is_own(os.fstat(folder)):
            raise ConfigError(_FOREIGN)
        durable.create(".gitignore", _IGNORED.encode(), mode=0o644, dir_fd=folder)
        if inner:
            durable.make_folder(inner, dir_fd=folder)
            with durable.opened_folder(inner, dir_fd=folder):
                pass  # it can be opened, so it is not a link


def _translated(error: OSError, name: str) -> ConfigError:
    if error.errno in {errno.ELOOP, errno.ENOTDIR}:
        return ConfigError(
            f"{name} in the workspace is a link or not a folder, and is not used; move it elsewhere, "
            "and a folder is created in its place."
        )
    return ConfigError(f"{name} cannot be created in the workspace ({error.strerror}); check that you can write there.")
