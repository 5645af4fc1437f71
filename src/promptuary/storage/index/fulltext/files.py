"""The files of a full text index as they lie on disk: which belong to it, whether they are whole, what an error means.

A tantivy index is one ``meta.json`` that names immutable segments, each of a few files that end with their checksum.
tantivy itself does not compare the checksums when it opens them; a flipped bit would be a wrong answer, or a panic.
Knows nothing of what is indexed.
"""

import errno
import json
import mmap
import re
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from promptuary.core.errors import PromptuaryError
from promptuary.core.ports.index import IndexDamagedError

CommitStamp = tuple[int, int, int]
"""What changes when ``meta.json`` is replaced: every commit and every merge puts a new file in its place."""

_META: Final = "meta.json"
_PARTS: Final = ("fast", "fieldnorm", "idx", "pos", "store", "term")
_SEGMENT: Final = re.compile(r"[0-9a-f]{32}(\.\d+)?\.[a-z]+")
_MAGIC: Final = 1337
_OS_ERROR = re.compile(r"(?:os error |code: )(\d+)")

_ADVICE = {
    errno.ENOSPC: "the disk is full; make room and repeat.",
    errno.EDQUOT: "your share of the disk is used up; make room and repeat.",
    errno.EACCES: "it may not be used by this user; change its permissions.",
    errno.EPERM: "it may not be used by this user; change its permissions.",
    errno.EROFS: "the disk cannot be written.",
    errno.EMFILE: "this process has too many files open; close some, or raise the limit.",
    errno.ENFILE: "the system has too many files open; try again.",
    errno.ENOMEM: "there is not enough memory; try again.",
}


class IndexBusyError(PromptuaryError):
    """Somebody else is at work on the index."""


def commit_stamp(folder: Path) -> CommitStamp | None:
    """Return what tells whether the index has changed; ``None`` if there is none."""
    try:
        found = _meta(folder).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=16)
def _meta(folder: Path) -> Path:
    return folder / _META  # made once: every search asks


def verify_no_index(folder: Path) -> None:
    """See to it that no index was here: segments without what names them are the rest of one."""
    try:
        names = [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return
    if any(map(_SEGMENT.fullmatch, names)) and commit_stamp(folder) is None:
        raise damaged(folder, f"{_META} is missing")


def verify(folder: Path, known: Collection[str]) -> frozenset[str]:
    """Compare the checksums of all files of the index but the ``known``; return the names of all its files."""
    for _ in range(100):
        seen = commit_stamp(folder)
        try:
            live = {name: size for segment in _segments(folder) for name, size in _names(segment)}
            for name, documents in live.items():
                if name not in known:
                    _verify_file(folder, name, documents)
        except FileNotFoundError as error:
            # A merge may have put another file in its place meanwhile.
            if commit_stamp(folder) == seen:
                raise damaged(folder, f"{Path(error.filename).name} is missing") from error
            continue
        return frozenset(live)
    raise PromptuaryError(f"{folder.name} changes too fast to be read; try again.")


def damaged(folder: Path, detail: str) -> IndexDamagedError:
    """Return the error for an index that cannot be read."""
    return IndexDamagedError(f"The index {folder.name} is damaged ({detail}). Make it again: the files are its source.")


@contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Raise errors that say what to do; the original is their cause. Whatever is not known otherwise is damage."""
    try:
        yield
    except PromptuaryError:
        raise
    except Exception as error:
        raise _translation(folder, error) from error
    except BaseException as error:
        # A panic in Rust is no Exception, lest anybody go on after it; here only what was read from the disk panics.
        if type(error).__name__ != "PanicException":
            raise
        raise damaged(folder, str(error)) from error


def _translation(folder: Path, error: Exception) -> PromptuaryError:
    text = str(error)
    if "LockBusy" in text:
        return IndexBusyError(f"Another process is writing the index {folder.name}; try again when it is done.")
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (found := _OS_ERROR.search(text)):
        number = int(found[1])
    if number in _ADVICE:
        return PromptuaryError(f"The index {folder.name}: {_ADVICE[number]}")
    return damaged(folder, text)


def _segments(folder: Path) -> list[dict[str, Any]]:
    try:
        return list(json.loads((folder / _META).read_bytes())["segments"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(folder, f"{_META} cannot be read") from error


def _names(segment: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the names of a segment's files, and how many documents each of them is about."""
    number, documents = str(segment["segment_id"]).replace("-", ""), int(segment["max_doc"])
    for part in _PARTS:
        yield f"{number}.{part}", documents
    if deletes := segment.get("deletes"):
        yield f"{number}.{deletes['opstamp']}.del", documents


def _verify_file(folder: Path, name: str, documents: int) -> None:
    with (folder / name).open("rb") as file:
        try:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise damaged(folder, f"{name} is empty") from error
        with content, memoryview(content) as view:
            whole = _is_whole(view, documents if name.endswith(".fieldnorm") else None)
    if not whole:
        raise damaged(folder, f"{name} is not as it was written")


def _is_whole(view: memoryview, documents: int | None) -> bool:
    """Tell whether a file is what its end says: the body, the checksum as JSON, the length of that, a number."""
    length, magic = int.from_bytes(view[-8:-4], "little"), int.from_bytes(view[-4:], "little")
    end = len(view) - 8 - length
    if magic != _MAGIC or end < 0:
        return False
    with suppress(ValueError, KeyError, TypeError), view[:end] as body:
        if json.loads(bytes(view[end:-8]))["crc"] != zlib.crc32(body):
            return False
        if documents is None:
            return True
        # One byte for each document and text field: what ``meta.json``, which has no checksum, says must agree.
        norms = end - 4 - int.from_bytes(body[-4:], "little")
        return documents > 0 and norms % documents == 0 and norms // documents in {1, 2, 3}
    return False
