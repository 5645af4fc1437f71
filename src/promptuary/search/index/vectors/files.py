"""The files of a vector index: a base file that is replaced now and then, and a log of the changes since.

The log ``changes`` begins with a head, which has the valid length of the log and the number of the base file; then come
the changes, each with a checksum. A change is appended after the valid length, then the head is overwritten: so a
reader sees all of a change or nothing, and a killed writer leaves no visible trace. Everything is verified when it is
read. Knows bytes only, not vectors.
"""

import os
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base import durable
from promptuary.base.errors import IndexDamagedError, PromptuaryError

_CHANGES: Final = "changes"
_LOCK: Final = "lock"
_MAGIC: Final = b"PRMVEC01"
_HEAD: Final = struct.Struct("<8sIIQQQI")
_ENTRY: Final = struct.Struct("<QI")
_SUM: Final = struct.Struct("<I")
_START: Final = _HEAD.size + _SUM.size
_TRIES: Final = 50
"""How often a reader retries because a writer overwrites the head."""


class VectorFilesHead(Struct, frozen=True):
    """The version of an index: equal heads mean equal content. ``kind`` is the caller's number for what is in it."""

    kind: int
    number: int = 0
    length: int = _START
    size: int = 0
    checksum: int = 0

    def continues(self, earlier: "VectorFilesHead") -> bool:
        """Whether this index is the ``earlier`` one with more changes appended."""
        return self.number == earlier.number and self.length >= earlier.length

    @property
    def changed(self) -> int:
        """The size of the changes in bytes."""
        return self.length - _START


class VectorFiles:
    """The files in ``folder``. One process writes at a time; any number of processes read."""

    def __init__(self, folder: Path, kind: int) -> None:
        self._folder = folder
        self._kind = kind
        self._path = folder / _CHANGES
        self._file = _OpenFile()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait for the lock of the writer, and hold it."""
        with ExitStack() as held:
            try:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                held.enter_context(durable.locked(self._folder / _LOCK, timeout=None))
            except OSError as error:
                raise _unwritable(error) from error
            yield

    def head(self) -> VectorFilesHead:
        """Return the current head; that of an empty index if there are no files."""
        for _ in range(_TRIES):
            try:
                data = os.pread(self._opened(), _START, 0)
            except FileNotFoundError:
                return VectorFilesHead(self._kind)
            except OSError as error:
                raise _unreadable(error) from error
            if len(data) == _START and _SUM.unpack_from(data, _HEAD.size)[0] == zlib.crc32(data[: _HEAD.size]):
                return self._parsed(data)
        # A head that is being overwritten is valid a moment later; this one stays invalid.
        raise _damaged("the head of its changes has a wrong checksum")

    def close(self) -> None:
        """Close the file of changes, which is open from one head to the next."""
        self._file.close()

    def _opened(self) -> int:
        """Return the descriptor of the file of changes, opened again if another one is in its place."""
        found = os.stat(self._path)  # noqa: PTH116  (every search asks)
        if self._file.identity != (found.st_dev, found.st_ino):
            self._file.close()
            self._file = _OpenFile(self._path)
        return self._file.number

    def base(self, head: VectorFilesHead) -> bytes | None:
        """Return the base file of ``head``, empty if it has none; ``None`` if a writer replaced it."""
        if not head.size:
            return b""
        try:
            data = self._base(head.number).read_bytes()
        except FileNotFoundError:
            if self.head().number != head.number:
                return None
            raise _damaged("a file is missing") from None
        except OSError as error:
            raise _unreadable(error) from error
        if len(data) != head.size or zlib.crc32(data) != head.checksum:
            raise _damaged("its base file has a wrong checksum")
        return data

    def changes(self, head: VectorFilesHead, known: int | None = None) -> Sequence[bytes] | None:
        """Return the changes after the length ``known``, in order; ``None`` if a writer replaced the files."""
        after = _START if known is None else known
        if head.length == after:
            return ()
        try:
            with self._path.open("rb", buffering=0) as file:
                file.seek(after)
                data = file.read(head.length - after)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(error) from error
        if self.head().number != head.number:
            return None
        return _entries(data, head.length - after)

    def append(self, head: VectorFilesHead, change: bytes) -> VectorFilesHead:
        """Append a change to the index of ``head``, and return the new head. Durable when it returns."""
        entry = _ENTRY.pack(len(change), zlib.crc32(change)) + change
        after = replace(head, length=head.length + len(entry))
        try:
            with self._path.open("r+b", buffering=0) as file:
                file.seek(head.length)
                durable.write_synced(file.fileno(), entry)
                file.seek(0)
                durable.write_synced(file.fileno(), _packed(after))
        except OSError as error:
            raise _unwritable(error) from error
        return after

    def replace(self, head: VectorFilesHead, base: bytes) -> VectorFilesHead:
        """Replace the whole content of ``head`` by the base file ``base``, and return the new head."""
        # The clock makes it unique, so that files that are removed and created again are not taken for the old ones.
        number = max(head.number + 1, time.time_ns())
        after = VectorFilesHead(self._kind, number, _START, len(base), zlib.crc32(base))
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if base:
                durable.replace(self._base(after.number), base, mode=0o600)
            durable.replace(self._path, _packed(after), mode=0o600)
            for path in self._folder.glob("base-*"):
                if path != self._base(after.number):
                    path.unlink(missing_ok=True)
            durable.remove_leftovers(self._folder)
        except OSError as error:
            raise _unwritable(error) from error
        return after

    def _base(self, number: int) -> Path:
        return self._folder / f"base-{number}"

    def _parsed(self, data: bytes) -> VectorFilesHead:
        magic, kind, _, number, length, size, checksum = _HEAD.unpack_from(data)
        if magic != _MAGIC:
            raise _damaged("it has another version")
        if kind != self._kind:
            raise _damaged(f"its vectors have {kind} numbers and not {self._kind}")
        return VectorFilesHead(kind, number, length, size, checksum)


class _OpenFile:
    """A file that stays open for reading, whatever takes its place; without a path, none."""

    def __init__(self, path: Path | None = None) -> None:
        self.number = -1
        self.identity: tuple[int, int] | None = None
        if path is not None:
            self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            found = os.fstat(self.number)
            self.identity = found.st_dev, found.st_ino

    def close(self) -> None:
        number, self.number, self.identity = self.number, -1, None
        if number >= 0:
            os.close(number)

    __del__ = close


class NoVectorFiles:
    """In the place of ``VectorFiles``, for vectors that are only in memory: nothing is written, and none comes back."""

    def __init__(self, kind: int) -> None:
        self._head = VectorFilesHead(kind)

    @contextmanager
    def locked(self) -> Iterator[None]:
        yield

    def head(self) -> VectorFilesHead:
        return self._head

    def close(self) -> None:
        """Do nothing: there are none."""

    def base(self, _: VectorFilesHead) -> bytes:
        return b""

    def changes(self, _: VectorFilesHead, __: int | None = None) -> Sequence[bytes]:
        return ()

    def append(self, _: VectorFilesHead, __: bytes) -> VectorFilesHead:
        return self._head

    def replace(self, _: VectorFilesHead, __: bytes) -> VectorFilesHead:
        return self._head


def _packed(head: VectorFilesHead) -> bytes:
    data = _HEAD.pack(_MAGIC, head.kind, 0, head.number, head.length, head.size, head.checksum)
    return data + _SUM.pack(zlib.crc32(data))


def _entries(data: bytes, length: int) -> list[bytes]:
    if len(data) != length:
        raise _damaged("its changes are truncated")
    found: list[bytes] = []
    place = 0
    while place < length:
        if length - place < _ENTRY.size:
            raise _damaged("its changes are truncated")
        size, checksum = _ENTRY.unpack_from(data, place)
        change = data[place + _ENTRY.size : place + _ENTRY.size + size]
        if len(change) != size or zlib.crc32(change) != checksum:
            raise _damaged("a change has a wrong checksum")
        found.append(change)
        place += _ENTRY.size + size
    return found


def _damaged(why: str) -> IndexDamagedError:
    return IndexDamagedError(f"The vector index is damaged ({why}). Nothing is lost: it is rebuilt from the files.")


def _unreadable(error: OSError) -> PromptuaryError:
    return PromptuaryError(f"The vector index cannot be read ({error.strerror}); check its folder.")


def _unwritable(error: OSError) -> PromptuaryError:
    return PromptuaryError(f"The vector index cannot be written ({error.strerror}); check its folder.")
