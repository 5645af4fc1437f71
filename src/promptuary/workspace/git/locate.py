"""Finds the git folder of a workspace, and reads from it without following a link.

Git trusts a ``.git`` file, a link or a ``commondir``; here such a pointer counts only if its target points back, so
that a forged pointer cannot show another repository's history. Starts no process and does not know what the files mean.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from promptuary.base.errors import Code, SourceError

_POINTER = 8 << 10
_COPY = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class GitFolder(Struct, frozen=True):
    """The folders of a repository.

    ``own`` has HEAD and the index, ``common`` the objects and branches: they differ in a linked worktree. ``proven`` is
    false if only ``core.worktree`` in its configuration can confirm that ``top`` is its working tree.
    """

    top: Path
    own: Path
    common: Path
    proven: bool

    @property
    def linked(self) -> bool:
        return self.own != self.common


def locate(folder: Path) -> GitFolder:
    """Return the repository of ``folder``: the one at it, or at the nearest folder above.

    Like git, the search stops at the border of the file system. Only a ``.git`` counts; a bare repository does not.
    Raises ``SourceError`` if there is none.
    """
    top = Path(os.path.realpath(folder))
    device = _device(top)
    for candidate in (top, *top.parents):
        if _device(candidate) != device:
            break
        found = _repository_at(candidate)
        if found:
            return found
    raise not_a_repository("this workspace is not in a git repository; `git init` makes it one")


def not_a_repository(reason: str) -> SourceError:
    """Return the error for a folder without a usable repository."""
    return SourceError(Code.NOT_A_REPOSITORY, reason)


def _device(folder: Path) -> int | None:
    try:
        return folder.stat().st_dev
    except OSError:
        return None


def _repository_at(top: Path) -> GitFolder | None:
    pointer = top / ".git"
    try:
        mode = pointer.lstat().st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        whole = all(os.path.lexists(pointer / name) for name in ("HEAD", "objects", "refs"))
        return GitFolder(top, pointer, pointer, proven=True) if whole else None
    if stat.S_ISLNK(mode):
        return _confirm(top, Path(os.path.realpath(pointer)))
    return _confirm(top, _target_of_file(top))


def _target_of_file(top: Path) -> Path:
    text = os.fsdecode(read_inside(top, ".git", _POINTER) or b"")
    if not text.startswith("gitdir:"):
        raise not_a_repository("the workspace's .git is neither a folder nor a pointer to one")
    return resolve_pointer(top, text.removeprefix("gitdir:"))


def _confirm(top: Path, own: Path) -> GitFolder:
    if not own.is_dir():
        raise not_a_repository("the workspace's .git points at a folder that is not there")
    shared = read_inside(own, "commondir", _POINTER)
    if shared is None:
        return GitFolder(top, own, own, proven=own.is_relative_to(top))
    common = resolve_pointer(own, os.fsdecode(shared))
    back = read_inside(own, "gitdir", _POINTER)
    # Only the other repository can put a folder into <common>/worktrees, and only its owner can make it point back.
    if own.parent != common / "worktrees" or back is None or _points_back_to(own, back) != top / ".git":
        raise not_a_repository(
            "the workspace's .git points at another repository that does not know this worktree; "
            "if it was moved, run `git worktree repair` in it"
        )
    return GitFolder(top, own, common, proven=True)


def _points_back_to(own: Path, text: bytes) -> Path:
    pointer = Path(os.fsdecode(text).strip())
    return resolve_pointer(own, str(pointer.parent)) / pointer.name


def resolve_pointer(base: Path, text: str) -> Path:
    """Return the folder that a pointer in ``base`` names, following links. Raises ``SourceError`` if there is none."""
    try:
        return Path(os.path.realpath(base / text.strip()))
    except (OSError, ValueError) as error:
        raise not_a_repository("a pointer of the workspace's .git is damaged: it cannot be a path") from error


@contextmanager
def _folder_of(base: Path, relative: str) -> Iterator[tuple[int | None, str]]:
    """Open the folder of a file without following a link; yield its descriptor and the file's name."""
    *folders, name = relative.split("/")
    current = _step(base, None)
    try:
        for folder in folders:
            lower = _step(folder, current)
            if current is not None:
                os.close(current)
            current = lower
        yield current, name
    finally:
        if current is not None:
            os.close(current)


def _step(folder: Path | str, above: int | None) -> int | None:
    if isinstance(folder, str) and above is None:
        return None
    try:
        return os.open(folder, _READ | os.O_DIRECTORY, dir_fd=above)
    except (OSError, ValueError):
        return None


@contextmanager
def open_inside(base: Path, relative: str) -> Iterator[tuple[BinaryIO, os.stat_result] | None]:
    """Open a regular file below ``base`` without following any link on the way; yield ``None`` if there is none."""
    with _folder_of(base, relative) as (folder, name):
        try:
            opened = None if folder is None else os.open(name, _READ | os.O_NONBLOCK, dir_fd=folder)
        except PermissionError as error:
            raise SourceError(Code.PERMISSION_DENIED, f"{relative} may not be read") from error
        except (OSError, ValueError):
            opened = None
    if opened is None:
        yield None
        return
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode):  # Python leaves a folder's descriptor open when it refuses to read from it
        os.close(opened)
        yield None
        return
    with os.fdopen(opened, "rb") as file:
        yield file, found


def folder_inside(base: Path, relative: str) -> bool:
    """Return whether a folder with that name is below ``base``, without following any link."""
    with _folder_of(base, relative) as (folder, name):
        opened = None if folder is None else _step(name, folder)
    if opened is not None:
        os.close(opened)
    return opened is not None


def exists_inside(base: Path, relative: str, *, larger_than: int = -1) -> bool:
    """Return whether anything with that name is below ``base``, without following any link on the way."""
    with _folder_of(base, relative) as (folder, name):
        try:
            found = None if folder is None else os.stat(name, dir_fd=folder, follow_symlinks=False)
        except (OSError, ValueError):
            return False
    return found is not None and found.st_size > larger_than


def link_inside(base: Path, relative: str) -> bytes | None:
    """Return the target of the link below ``base``; ``None`` if it is not a link."""
    with _folder_of(base, relative) as (folder, name):
        try:
            return None if folder is None else os.readlink(os.fsencode(name), dir_fd=folder)
        except (OSError, ValueError):
            return None


def read_inside(base: Path, relative: str, limit: int) -> bytes | None:
    """Return a file's content; ``None`` if it is missing, a link, not regular, larger than ``limit``, or changes."""
    with open_inside(base, relative) as opened:
        if opened is None or opened[1].st_size > limit:
            return None
        size = opened[1].st_size
        data = opened[0].read(size + 1)  # not the limit: as much memory is asked for as may be read
    return data if len(data) == size else None


def copy_inside(base: Path, relative: str, target: Path, limit: int) -> bool:
    """Copy a file; return False if it is missing, a link, or larger than ``limit``.

    The copy has its times and is executable if the file is. The times matter: git does not trust an index entry that
    is as new as the index itself.
    """
    with open_inside(base, relative) as opened:
        if opened is None or opened[1].st_size > limit:
            return False
        file, found = opened
        with target.open("wb") as copy:
            shutil.copyfileobj(file, copy, _COPY)
            os.fchmod(copy.fileno(), 0o600 | found.st_mode & stat.S_IXUSR)
        os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
    return True
