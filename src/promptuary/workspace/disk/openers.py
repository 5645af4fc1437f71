"""Opens a path strictly beneath an open folder, even while others rename or link.

Two openers give the same results: ``openat2``, with which the kernel resolves the path beneath the folder in one call,
and a walk that opens one component at a time and never follows a link. ``open_following_links`` follows links: it
resolves them itself on descriptors, so that it cannot be led outside, and returns the path that it really opened.

Paths here are in normal form (``root.normalise``) and failures are ``OSError``: this module does not know policy,
content, or what a person wrote.
"""

import ctypes
import errno
import functools
import os
import stat
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

Opener = Callable[[int, str, int], int]
"""Opens a path beneath a folder's descriptor with the given flags; a link anywhere is ``ELOOP``."""

# Without O_PATH (macOS) a folder on the way has to be readable, not only searchable.
PEEK: int = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
"""Flags to ``stat`` a path without reading it; never blocks, and on Linux needs no permission to read."""
READ: int = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
"""Flags to read a file: does not block on a pipe without a writer, and does not take over a terminal."""
LIST: int = os.O_RDONLY | os.O_DIRECTORY
"""Flags to list a folder."""

_PATH_ONLY: int = getattr(os, "O_PATH", 0)
_ON_THE_WAY = (_PATH_ONLY or os.O_RDONLY) | os.O_DIRECTORY
_MAX_LINKS = 40
_MAX_TRIES = 128

_OPENAT2 = 437  # the same number on every architecture that got its system calls after 2019
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08


class Opened(NamedTuple):
    """A descriptor, which the caller closes, and the real path of the file, links resolved."""

    fd: int
    path: str


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_HOW_SIZE = ctypes.sizeof(_OpenHow)


@functools.cache
def _syscall() -> Callable[..., int]:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    call.restype = ctypes.c_long
    return call


@functools.cache
def _how(flags: int) -> Any:
    return ctypes.byref(_OpenHow(flags | os.O_CLOEXEC, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS))


def open_by_openat2(root: int, path: str, flags: int) -> int:
    """Open ``path`` with one system call, which refuses links and anything that is not beneath ``root``."""
    call, name, how = _syscall(), os.fsencode(path), _how(flags)
    code = errno.EAGAIN
    for _ in range(_MAX_TRIES):
        fd = call(_OPENAT2, root, name, how, _HOW_SIZE)
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        # EAGAIN: a rename somewhere else made the kernel unsure.
        if code not in {errno.EAGAIN, errno.EINTR}:
            break
    raise OSError(code, os.strerror(code))


def has_openat2(root: int) -> bool:
    """Return whether the system has the call and allows it; sandboxes answer EPERM, old kernels ENOSYS."""
    if sys.platform != "linux":
        return False
    try:
        os.close(open_by_openat2(root, ".", _ON_THE_WAY))
    except OSError:
        return False
    return True


def best_opener(root: int) -> Opener:
    """Return the faster opener that works beneath ``root``."""
    return open_by_openat2 if has_openat2(root) else open_by_walk


def open_by_walk(root: int, path: str, flags: int) -> int:
    """Open ``path`` one component at a time, each from the descriptor of the one before it."""
    *folders, last = path.split("/")
    current = root
    try:
        for name in folders:
            deeper = _step(current, name, _ON_THE_WAY)
            if current != root:
                os.close(current)
            current = deeper
        return _step(current, last, flags)
    finally:
        if current != root:
            os.close(current)


def _step(folder: int, name: str, flags: int) -> int:
    try:
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        # Systems report a link in the place of a folder with different errors.
        if error.errno in {errno.ENOTDIR, errno.EMLINK} and _is_link(folder, name):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error
        raise
    # O_PATH opens the link itself instead of refusing it.
    if flags & _PATH_ONLY and stat.S_ISLNK(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return fd


def _is_link(folder: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def open_following_links(root: int, path: str, flags: int) -> Opened:
    """Open ``path``, following links that stay beneath ``root``. Raises ``EXDEV`` for a link that leaves it.

    An absolute link always counts as leaving, as it does for the kernel.
    """
    trail = _Trail(root, path)
    try:
        while trail.ahead:
            trail.advance(flags)
        return trail.arrive(flags)
    finally:
        trail.close()


class _Trail:
    """The open folders from the root to the current one: ``..`` goes back along them."""

    def __init__(self, root: int, path: str) -> None:
        self.ahead = path.split("/")[::-1]
        self._root = root
        self._behind: list[tuple[str, int]] = []
        self._arrived = False
        self._links = 0

    def advance(self, flags: int) -> None:
        name = self.ahead.pop()
        if name in {"", "."}:
            return
        if name == "..":
            self._back()
            return
        self._arrived = not self.ahead
        try:
            fd = _step(self._here(), name, flags if self._arrived else _ON_THE_WAY)
        except OSError as error:
            if error.errno != errno.ELOOP or self._links == _MAX_LINKS:
                raise
            self._through_link(name)
        else:
            self._behind.append((name, fd))

    def arrive(self, flags: int) -> Opened:
        path = "/".join(name for name, _ in self._behind)
        if self._arrived:
            return Opened(self._behind.pop()[1], path)
        # The last link ended in a folder that was opened only to pass through.
        return Opened(_step(self._here(), ".", flags), path)

    def close(self) -> None:
        while self._behind:
            os.close(self._behind.pop()[1])

    def _here(self) -> int:
        return self._behind[-1][1] if self._behind else self._root

    def _back(self) -> None:
        if not self._behind:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        os.close(self._behind.pop()[1])
        self._arrived = False

    def _through_link(self, name: str) -> None:
        self._links += 1
        self._arrived = False
        try:
            target = os.readlink(name, dir_fd=self._here())
        except OSError as error:
            # The link was replaced by something else: open that instead.
            if error.errno != errno.EINVAL:
                raise
            target = name
        if target.startswith("/"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        self.ahead.extend(reversed(target.split("/")))
