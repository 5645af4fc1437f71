"""The folder in which Promptuary keeps what lasts, made so that nothing is lost and nobody is tricked.

A workspace may be somebody else's: a link in the place of the folder would have our files written elsewhere, so every
step goes through the descriptor of the folder above. What goes into the folder is the business of others.
"""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

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
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def private_folder(root: Path, inner: str = "") -> Path:
    """Return ``.promptuary`` in the workspace ``root``, or ``inner`` in it, made for its user alone if it is not there.

    It gets a ``.gitignore`` if it has none. What is there already, a person's edits above all, stays as it is.
    """
    try:
        with _folder(root, above=None, flags=_OPEN_FOLDER & ~os.O_NOFOLLOW) as above:
            _make(FOLDER, above)
            with _folder(FOLDER, above=above, flags=_OPEN_FOLDER) as folder:
                _add(folder, ".gitignore", _IGNORED.encode())
                if inner:
                    _make(inner, folder)
                    with _folder(inner, above=folder, flags=_OPEN_FOLDER):
                        pass  # it can be opened, so it is no link
    except OSError as error:
        raise _translated(error, f"{FOLDER}/{inner}".rstrip("/")) from error
    return root / FOLDER / inner


@contextmanager
def _folder(path: str | Path, *, above: int | None, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _make(name: str, above: int) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=above)
    except FileExistsError:
        return
    os.fsync(above)


def _add(folder: int, name: str, content: bytes) -> None:
    """Put a whole file into ``folder`` unless something of that name is there."""
    if _is_there(folder, name):
        return
    temporary = f"{name}.{secrets.token_hex(8)}.tmp"
    try:
        _write(folder, temporary, content)
        _name(folder, temporary, name)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
    os.fsync(folder)


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _write(folder: int, name: str, content: bytes) -> None:
    descriptor = os.open(
        name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder
    )
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _name(folder: int, temporary: str, name: str) -> None:
    """Give the file its name. A second name replaces nothing; renaming would replace what came meanwhile."""
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _translated(error: OSError, name: str) -> ConfigError:
    if error.errno in {errno.ELOOP, errno.ENOTDIR}:
        return ConfigError(
            f"{name} in the workspace is a link or not a folder, and is not used; move it elsewhere, "
            "and a folder is made in its place."
        )
    return ConfigError(
        f"{name} cannot be made in the workspace ({error.strerror}); make sure that you may write there."
    )
