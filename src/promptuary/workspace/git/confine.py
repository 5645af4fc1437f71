"""Starts a program that may open only given paths, if the kernel can enforce that (Landlock, Linux 5.13).

Git opens the working tree by names, and a folder that is swapped for a link at the right moment leads it outside.
Landlock checks what is really opened, so a swap does not help an attacker. It applies to the thread that requests it
and to what that thread starts: each program is started by a separate thread, and the rest of this process is not
affected. Files can be neither written nor executed elsewhere, and no TCP connection is made.

Does not know which program it confines.
"""

import contextlib
import ctypes
import functools
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from promptuary.base import concurrency
from promptuary.workspace.disk.openers import PEEK, open_by_walk

Started = TypeVar("Started")

# The same numbers on every architecture that got its system calls after 2019.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1, 2, 4, 8
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE
_LIBRARIES = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache",
              "/etc/ld.so.preload", "/nix/store", "/gnu/store")  # fmt: skip


class Confinement(Struct, frozen=True):
    """What a program may open: ``program`` and the system's libraries, and what is in ``readable``, at any depth."""

    program: str
    readable: tuple[Path, ...]

    def start(self, function: Callable[[], Started]) -> Started:
        """Run ``function``, which starts a program, in a thread that may open nothing else, and return its result."""

        def confined() -> Started:
            self._restrict_thread()
            return function()

        return concurrency.begin(confined, daemon=False, name="promptuary-confined").result()

    def _restrict_thread(self) -> None:
        handled = _handled_rights()
        ruleset = _call(_CREATE_RULESET, handled, len(handled), 0)
        try:
            _allow(ruleset, (*_LIBRARIES, self.program), _READ_FILE | _EXECUTE)
            _allow(ruleset, (os.devnull,), _READ_FILE | _WRITE_FILE)
            _allow(ruleset, (str(path) for path in self.readable), _READ_FILE | _READ_FOLDER, links=False)
            _libc().prctl(*map(ctypes.c_ulong, (_NO_NEW_PRIVILEGES, 1, 0, 0, 0)))
            _call(_RESTRICT_SELF, ruleset, 0)
        finally:
            os.close(ruleset)


@functools.cache
def confinement_works() -> bool:
    """Return whether the kernel has Landlock and allows it."""
    if sys.platform != "linux":
        return False
    try:
        return _call(_CREATE_RULESET, None, 0, _ASK_VERSION) > 0
    except OSError:
        return False


def _allow(ruleset: int, paths: Iterable[str], rights: int, *, links: bool = True) -> None:
    """Allow ``rights`` at and below each existing path; without ``links`` a path through a link is skipped."""
    for path in paths:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, PEEK | os.O_CLOEXEC) if links else _open_without_links(path)
            try:
                folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
                fitting = rights if folder else rights & _ON_FILES
                _call(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", fitting, descriptor), 0)
            finally:
                os.close(descriptor)


def _open_without_links(path: str) -> int:
    top = os.open("/", PEEK | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return open_by_walk(top, path[1:], PEEK)
    finally:
        os.close(top)


@functools.cache
def _handled_rights() -> bytes:
    """Return the rights that this kernel can take away: all of them, on files and on TCP."""
    version = _call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    on_files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    return struct.pack("=QQ", on_files, 3) if version >= 4 else struct.pack("=Q", on_files)


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: int | bytes | None) -> int:
    wide = (ctypes.c_long(value) if isinstance(value, int) else value for value in arguments)
    result: int = _libc().syscall(ctypes.c_long(number), *wide)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
