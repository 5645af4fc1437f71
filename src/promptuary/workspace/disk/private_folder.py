"""The folder ``.promptuary`` of a workspace, created so that a hostile workspace cannot redirect it.

A workspace may be somebody else's: a link in the place of the folder would have our files written elsewhere, so every
step goes through the descriptor of the folder above. Does not know what other modules put into the folder.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from promptuary import durable
from promptuary.core.errors import ConfigError

FOLDER: Final = ".promptuary"

_IGNORED: Final = """\
# Made by Promptuary, and yours to change. The databases are of this machine only;
# memory/ and config.toml are worth keeping in git.
/state.db*
/index/
*.tmp
"""

_OPEN_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def private_folder(root: Path, inner: str = "") -> Path:
    """Return ``.promptuary`` in the workspace ``root``, or the folder ``inner`` in it; create what is missing.

    New folders are for their user alone, and ``.promptuary`` gets a ``.gitignore``. What exists already, above all a
    person's edits, is not changed. Raises ``ConfigError`` for a link in the place of a folder, and if nothing can be
    written.
    """
    try:
        with _opened(root, above=None, flags=_OPEN_FOLDER & ~os.O_NOFOLLOW) as above:
            durable.make_folder(FOLDER, dir_fd=above)
            with _opened(FOLDER, above=above, flags=_OPEN_FOLDER) as folder:
                durable.create(".gitignore", _IGNORED.encode(), mode=0o644, dir_fd=folder)
                if inner:
                    durable.make_folder(inner, dir_fd=folder)
                    with _opened(inner, above=folder, flags=_OPEN_FOLDER):
                        pass  # it can be opened, so it is not a link
    except OSError as error:
        raise _translated(error, f"{FOLDER}/{inner}".rstrip("/")) from error
    return root / FOLDER / inner


@contextmanager
def _opened(path: str | Path, *, above: int | None, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _translated(error: OSError, name: str) -> ConfigError:
    if error.errno in {errno.ELOOP, errno.ENOTDIR}:
        return ConfigError(
            f"{name} in the workspace is a link or not a folder, and is not used; move it elsewhere, "
            "and a folder is made in its place."
        )
    return ConfigError(
        f"{name} cannot be made in the workspace ({error.strerror}); make sure that you may write there."
    )
