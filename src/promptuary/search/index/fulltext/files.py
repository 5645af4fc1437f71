"""The files of a full-text index on disk: which belong to it, whether they are intact, and what an error means.

A tantivy index is one ``meta.json`` that names immutable segments, each of a few files that end with their checksum.
tantivy itself does not verify the checksums when it opens the files; a flipped bit would cause a wrong result, or a
panic. Does not know what is indexed.
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

from promptuary.base.errors import IndexBusyError, IndexDamagedError, PromptuaryError, shortage

CommitStamp = tuple[int, int, int]
"""The ``stat`` of ``meta.json``: it changes with every commit and every merge, which replace the file."""

_META: Final = "meta.json"
_PARTS: Final = ("fast", "fieldnorm", "idx", "pos", "store", "term")
_SEGMENT: Final = re.compile(r"[0-9a-f]{32}(\.\d+)?\.[a-z]+")
_MAGIC: Final = 1337
_OS_ERROR = re.compile(r"(?:os error |code: )(\d+)")

_ADVICE = {
    errno.EACCES: "this user has no access to it; change its permissions.",
    errno.EPERM: "this user has no access to it; change its permissions.",
    errno.EROFS: "the file system is read-only.",
}


def commit_stamp(folder: Path) -> CommitStamp | None:
    """Return a value that changes with every commit; ``None`` if there is no index."""
    try:
        found = _meta(folder).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=16)
def _meta(folder: Path) -> Path:
    return folder / _META  # cached, because every search needs it


def verify_no_index(folder: Path) -> None:
    """Raise ``IndexDamagedError`` if segments exist without a ``meta.json``: these remain of a damaged index."""
    try:
        names = [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return
    if any(map(_SEGMENT.fullmatch, names)) and commit_stamp(folder) is None:
        raise damaged(folder, f"{_META} is missing")


def verify(folder: Path, known: Collection[str]) -> frozenset[str]:
    """Verify the checksums of all files of the index except the ``known``; return the names of all its files.

    Raises ``IndexDamagedError`` if a file is missing or damaged.
    """
    for _ in range(100):
        seen = commit_stamp(folder)
        try:
            live = {name: size for segment in _segments(folder) for name, size in _names(segment)}
            for name, documents in live.items():
                if name not in known:
                    _verify_file(folder, name, documents)
        except FileNotFoundError as error:
            # A merge may have replaced the file in the meantime.
            if commit_stamp(folder) == seen:
                raise damaged(folder, f"{Path(error.filename).name} is missing") from error
            continue
        return frozenset(live)
    raise PromptuaryError(f"The index {folder.name} changes too fast to be read; try again.")


def damaged(folder: Path, detail: str) -> IndexDamagedError:
    """Return the error for an index that cannot be read."""
    return IndexDamagedError(f"The index {folder.name} is damaged ({detail}). Rebuild it: nothing is lost.")


@contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Translate the errors of tantivy into errors that say what to do. An unknown error counts as damage."""
    try:
        yield
    except PromptuaryError:
        raise
    except Exception as error:
        raise _translation(folder, error) from error
    except BaseException as error:
        # A panic of Rust is not an ``Exception``; here only damaged files cause one.
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
    if advice := shortage(number) or _ADVICE.get(number or 0):
        return PromptuaryError(f"The index {folder.name}: {advice}")
    if "worker thread" in text.lower():  # it does not say why: it could not write, or has no memory
        short = "a part could not be written: is there enough memory, and room on the disk? Nothing is lost; try again."
        return PromptuaryError(f"The index {folder.name}: {short}")
    return damaged(folder, text)


def _segments(folder: Path) -> list[dict[str, Any]]:
    try:
        return list(json.loads((folder / _META).read_bytes())["segments"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(folder, f"{_META} cannot be read") from error


def _names(segment: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the names of a segment's files, and how many documents each of them covers."""
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
            intact = _is_intact(view, documents if name.endswith(".fieldnorm") else None)
    if not intact:
        raise damaged(folder, f"{name} has a wrong checksum")


def _is_intact(view: memoryview, documents: int | None) -> bool:
    """Return whether a file matches its footer: the checksum of the body as JSON, its length, a magic number."""
    length, magic = int.from_bytes(view[-8:-4], "little"), int.from_bytes(view[-4:], "little")
    end = len(view) - 8 - length
    if magic != _MAGIC or end < 0:
        return False
    with suppress(ValueError, KeyError, TypeError), view[:end] as body:
        if json.loads(bytes(view[end:-8]))["crc"] != zlib.crc32(body):
            return False
        if documents is None:
            return True
        # One byte for each document and text field: must agree with ``meta.json``, which has no checksum.
        norms = end - 4 - int.from_bytes(body[-4:], "little")
        return documents > 0 and norms % documents == 0 and norms // documents in {1, 2, 3}
    return False
