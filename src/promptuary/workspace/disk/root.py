r"""The workspace folder, and the only way to open a path inside it.

``normalise`` judges a path by its text alone; ``Root`` opens what it returned, strictly beneath the folder. Neither
knows which names are secret (``sensitive_names``) nor what a file may contain (``read``).

A backslash separates like a slash, since people paste paths from Windows; a name that contains a backslash cannot be
referenced.
"""

import errno
import os
import re
import stat
import unicodedata
import weakref
from pathlib import Path
from typing import Literal, Self

from promptuary.base import durable
from promptuary.base.errors import Code, ConfigError, SourceError, shortage
from promptuary.base.text import one_line, shortened
from promptuary.workspace.disk.openers import (
    LIST,
    PEEK,
    READ,
    Opened,
    Opener,
    best_opener,
    open_by_openat2,
    open_by_walk,
    open_following_links,
)

PathKind = Literal["file", "folder", "other", "outside"]
"""The kind of a path: ``other`` exists but cannot be opened (a pipe, a device, a link that is not followed).

``outside`` is what a session may not see: whether it exists is not checked."""

OpenerName = Literal["auto", "openat2", "walk"]
"""How paths are opened: ``auto`` uses ``openat2`` where the system has it."""

_MAX_NAME = 255
_MAX_PATH = 4096
_MAX_SHOWN = 120

_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_ON_A_DISK = re.compile(r"[A-Za-z]:/|file:", re.IGNORECASE)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_HOME = re.compile(r"~(?:[\w.-]*/|$)")
_NOT_NORMAL = re.compile(r"(?:^|/)\.{0,2}(?:/|$)")


# Letters and symbols that are invisible, although their category does not say so.
_INVISIBLE = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Mn", "Me"})


def comparable(path: str) -> list[str]:
    """Return the names in ``path`` in the form in which names are compared."""
    if path.isascii():
        plain = path.lower()
    else:
        # Case folding can undo the compatibility form, hence twice.
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())
        plain = "".join(
            c for c in folded if c not in _INVISIBLE and unicodedata.category(c) not in _INVISIBLE_CATEGORIES
        )
    if ":" in plain:
        plain = "/".join(name.split(":", 1)[0] for name in plain.split("/"))
    return [name.strip().rstrip(". ") for name in plain.split("/")]


def display_path(path: str) -> str:
    """Return ``path`` for an error message: in quotes, on one line, shortened if it is very long."""
    if not path:
        return "the workspace folder"
    return f'"{shortened(one_line(path), _MAX_SHOWN)}"'


def normalise(path: str) -> str:
    """Return ``path`` relative to the workspace, with ``/`` between names; empty for the workspace itself.

    Raises ``SourceError`` for a path that is absolute, leads out of the workspace, or cannot be a file name.
    """
    _check_characters(path)
    slashed = path.replace("\\", "/")
    if _NOT_NORMAL.search(slashed) is None and slashed[0] != "~" and ":" not in slashed:
        names = slashed.split("/")
    else:
        _check_relative(path, slashed)
        names = _without_dots(path, slashed)
    if len(path) > _MAX_NAME // 4:
        _check_lengths(path, names)
    return "/".join(names)


def _check_characters(path: str) -> None:
    if path.isascii() and path.isprintable():
        return
    if _UNFIT.search(path):
        raise SourceError(
            Code.BAD_NAME,
            f"{display_path(path)} contains characters that cannot be shown; type the path again, or rename the file.",
        )


def _check_relative(path: str, slashed: str) -> None:
    if slashed.startswith("/") or _HOME.match(slashed) or _ON_A_DISK.match(slashed):
        advice = "write the path relative to the workspace folder, without a leading / or ~."
    elif _ADDRESS.match(slashed):
        advice = "to fetch a page write @url: before its address."
    else:
        return
    raise SourceError(Code.ABSOLUTE_PATH, f"{display_path(path)} is not a path in the workspace; {advice}")


def _without_dots(path: str, slashed: str) -> list[str]:
    names: list[str] = []
    for name in slashed.split("/"):
        if name == "..":
            if not names:
                raise SourceError(
                    Code.PATH_TRAVERSAL,
                    f"{display_path(path)} leads out of the workspace; name a path inside it, "
                    "or open the folder above as the workspace.",
                )
            names.pop()
        elif name not in {"", "."}:
            names.append(name)
    return names


def _check_lengths(path: str, names: list[str]) -> None:
    if len(os.fsencode(path)) > _MAX_PATH:
        raise SourceError(
            Code.BAD_NAME,
            f"{display_path(path)} is longer than any path can be ({_MAX_PATH} bytes); shorten it.",
        )
    if any(len(os.fsencode(name)) > _MAX_NAME for name in names):
        raise SourceError(
            Code.BAD_NAME,
            f"{display_path(path)} has a name longer than {_MAX_NAME} bytes; check the spelling.",
        )


class Root:
    """An open workspace folder. Every path given to it is in normal form and is opened beneath it.

    With ``follow_symlinks`` a link is followed as long as it stays inside; without, every link is refused. No change on
    disk at the same time can make it open a file outside.
    """

    __slots__ = ("__weakref__", "_close", "_fd", "_open", "device", "follow_symlinks", "path")

    def __init__(
        self, path: str | os.PathLike[str], *, follow_symlinks: bool = False, opener: OpenerName = "auto"
    ) -> None:
        try:
            self.path = Path(path).resolve(strict=True)
            self._fd = os.open(self.path, (PEEK & ~os.O_NONBLOCK) | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigError(f"The workspace {display_path(str(path))} is not a folder that can be opened.") from error
        self._close = weakref.finalize(self, os.close, self._fd)
        self._close.atexit = False
        self.follow_symlinks = follow_symlinks
        self.device = os.fstat(self._fd).st_dev
        self._open = _choose(opener, self._fd)

    def open_file(self, path: str) -> int:
        """Return a descriptor to read ``path``. Never blocks; the file may be a pipe or a device."""
        return self.open_real(path).fd

    def open_real(self, path: str) -> Opened:
        """Open like ``open_file``, and return the real path too, which differs if links were followed."""
        return self._opened(path, READ)

    def open_folder(self, path: str) -> int:
        """Return a descriptor to list the folder ``path``; an empty path is the workspace itself."""
        try:
            return self._opened(path, LIST).fd
        except SourceError as error:
            if error.code is Code.NOT_FOUND and self.kind_of(path) is not None:
                raise SourceError(
                    Code.NOT_A_FOLDER,
                    f"{display_path(path)} is not a folder; to include a file write @file: before it.",
                ) from error
            raise

    def replace_file(self, path: str, content: bytes) -> None:
        """Replace the file ``path``, or create it in a folder that is there. A link in its place is replaced, too."""
        folder, _, name = path.rpartition("/")
        descriptor = self.open_folder(folder)
        try:
            durable.replace(name, content, dir_fd=descriptor)
        except OSError as error:
            raise _translate(error, path) from error
        finally:
            os.close(descriptor)

    def kind_of(self, path: str) -> PathKind | None:
        """Return whether ``path`` is a file or a folder; ``None`` if nothing is there. Never raises."""
        try:
            mode = self.status_of(path).st_mode
        except SourceError as error:
            there = error.code.status == "failed" or error.code in {Code.SYMLINK, Code.NOT_A_FILE}
            return "other" if there else None
        if stat.S_ISREG(mode):
            return "file"
        return "folder" if stat.S_ISDIR(mode) else "other"

    def status_of(self, path: str) -> os.stat_result:
        """Return the size, times and kind of what is at ``path`` without reading it."""
        fd = self._opened(path, PEEK).fd
        try:
            return os.fstat(fd)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Close the folder; opening anything through this root fails afterwards."""
        # The system may reuse the number for another file, which must not become our root.
        self._fd = -1
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self, path: str, flags: int) -> Opened:
        _check_normal(path)
        try:
            return Opened(self._open(self._fd, path or ".", flags), path)
        except OSError as error:
            if error.errno != errno.ELOOP or not self.follow_symlinks:
                raise _translate(error, path) from error
        try:
            return open_following_links(self._fd, path, flags)
        except OSError as error:
            raise _translate(error, path, followed=True) from error


def _choose(opener: OpenerName, root: int) -> Opener:
    if opener == "walk":
        return open_by_walk
    best = best_opener(root)
    if opener == "openat2" and best is not open_by_openat2:
        raise ConfigError('This system has no openat2 system call; use the opener "auto" or "walk".')
    return best


def _check_normal(path: str) -> None:
    """Raise ``SourceError`` for a path that ``normalise`` would not return: the openers rely on it."""
    if path and _NOT_NORMAL.search(path):
        raise SourceError(Code.PATH_TRAVERSAL, f"{display_path(path)} is not a plain path from the workspace folder.")
    _check_characters(path)


_CODES = {
    errno.ENOENT: Code.NOT_FOUND,
    errno.ENOTDIR: Code.NOT_FOUND,
    errno.ELOOP: Code.SYMLINK,
    errno.EXDEV: Code.SYMLINK,
    errno.EACCES: Code.PERMISSION_DENIED,
    errno.EPERM: Code.PERMISSION_DENIED,
    errno.ENAMETOOLONG: Code.BAD_NAME,
    errno.EILSEQ: Code.BAD_NAME,
    # The errors for opening a socket or a device without a driver.
    errno.ENXIO: Code.NOT_A_FILE,
    errno.ENODEV: Code.NOT_A_FILE,
    errno.EOPNOTSUPP: Code.NOT_A_FILE,
}

_REASONS = {
    Code.NOT_FOUND: "There is no {} in the workspace.",
    Code.SYMLINK: "{} leads through a symbolic link, and links are not followed; name the file it points to.",
    Code.PERMISSION_DENIED: "{} may not be read by this user; change its permissions or run as its owner.",
    Code.BAD_NAME: "{} is not a valid file name here; check the spelling.",
    Code.NOT_A_FILE: "{} is a socket or a device, not a file with text in it.",
}


def _translate(error: OSError, path: str, *, followed: bool = False) -> SourceError:
    code = _CODES.get(error.errno or 0, Code.READ_FAILED)
    name = display_path(path)
    if error.errno == errno.EXDEV:
        return SourceError(code, f"{name} is a link that leads out of the workspace; copy the file into it.")
    if code is Code.SYMLINK and followed:
        return SourceError(code, f"{name} goes through too many symbolic links; name the file they point to.")
    if code is Code.READ_FAILED:
        advice = shortage(error.errno) or f"it could not be opened ({error.strerror}); try again."
        return SourceError(code, f"{name}: {advice}")
    return SourceError(code, _REASONS[code].format(name))
