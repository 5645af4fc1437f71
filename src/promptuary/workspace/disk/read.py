"""Reads one file of the workspace as text: bounded, decoded, and unchanged while it is read.

The order keeps it safe: the name is checked before anything is opened, the open file before it is read, and the bytes
before they become text. Whether a file is binary is decided by its content, never by its name. Line ranges, shortening
and rendering are done elsewhere.
"""

import hashlib
import os
import re
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from msgspec import Struct

from promptuary.base.errors import Code, SourceError
from promptuary.base.text import human_size
from promptuary.workspace.disk.protected_folders import protected_error
from promptuary.workspace.disk.root import Root, display_path, normalise

if TYPE_CHECKING:
    from promptuary.workspace.access import Access

_CHUNK = 64 * 1024
_TRIES = 2


class TextFile(Struct, frozen=True):
    """A file at one moment. ``size`` and ``sha256`` are those of its bytes; ``modified`` is in nanoseconds.

    ``converted`` says what the file is if its text is a conversion: an export of chats, a PDF, a notebook.
    """

    path: str
    text: str
    size: int
    sha256: str
    encoding: str
    modified: int
    converted: str = ""


IsNote = Callable[[os.stat_result], bool]
"""Returns whether the open file with this status is a note, whatever its name."""


def read_text(root: Root, path: str, access: "Access", *, is_note: IsNote = lambda _: False) -> TextFile:
    """Return the text of ``path``. Raises ``SourceError`` if it is refused or cannot be read."""
    relative, data, status = _read(root, path, access, is_note)
    text, encoding = decode(data, relative)
    return TextFile(
        path=relative,
        text=text,
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        encoding=encoding,
        modified=status.st_mtime_ns,
    )


def read_bytes(
    root: Root, path: str, access: "Access", *, is_note: IsNote = lambda _: False
) -> tuple[bytes, os.stat_result]:
    """Return the content of ``path`` and its status. Raises ``SourceError`` if it is refused or cannot be read."""
    _, data, status = _read(root, path, access, is_note)
    return data, status


def _read(root: Root, path: str, access: "Access", is_note: IsNote) -> tuple[str, bytes, os.stat_result]:
    relative = normalise(path)
    try:
        _check_name(access, relative)
    except SourceError as error:
        if error.code is Code.DISALLOWED_EXTENSION:
            # Raises if there is no such file: then its extension is not to blame.
            error.size = root.status_of(relative).st_size
        raise
    opened = root.open_real(relative)
    try:
        # A link with a harmless name must not open a file whose own name is refused.
        if opened.path != relative:
            if access.protects(opened.path):
                raise protected_error(relative)  # the name of a note is not for everybody either
            _check_name(access, opened.path, f"what {display_path(relative)} leads to")
        if is_note(os.fstat(opened.fd)):
            raise protected_error(relative)
        data, status = _read_unchanged(opened.fd, root.device, relative, access.max_bytes)
    except OSError as error:
        raise SourceError(
            Code.READ_FAILED, f"{display_path(relative)} could not be read ({error.strerror}); try again."
        ) from error
    finally:
        os.close(opened.fd)
    return relative, data, status


def _check_name(access: "Access", path: str, shown: str = "") -> None:
    # The workspace itself has no name to check; opening it shows that it is not a file.
    if path and (refusal := access.refusal("read", path, shown)):
        raise refusal


def _read_unchanged(fd: int, device: int, path: str, max_bytes: int) -> tuple[bytes, os.stat_result]:
    before = os.fstat(fd)
    for attempt in range(_TRIES):
        _check(before, device, path, max_bytes)
        if attempt:
            os.lseek(fd, 0, os.SEEK_SET)
        data = _read_bounded(fd, before.st_size, max_bytes)
        if len(data) > max_bytes:
            _refuse_size(path, f"more than {human_size(max_bytes)}", max_bytes)
        after = os.fstat(fd)
        if (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns):
            return data, after
        before = after
    raise SourceError(
        Code.READ_FAILED,
        f"{display_path(path)} is being written; try again when that is finished.",
    )


def _check(status: os.stat_result, device: int, path: str, max_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        _refuse_type(path, status.st_mode)
    if status.st_dev != device:
        raise SourceError(
            Code.OTHER_DEVICE,
            f"{display_path(path)} is on a file system that is mounted into the workspace; copy the file out of it.",
        )
    if status.st_size > max_bytes:
        _refuse_size(path, human_size(status.st_size), max_bytes)


def _refuse_type(path: str, mode: int) -> NoReturn:
    if stat.S_ISDIR(mode):
        reason = f"{display_path(path)} is a folder; write @folder: instead of @file:."
    elif stat.S_ISFIFO(mode):
        reason = f"{display_path(path)} is a pipe, not a file with text in it."
    else:
        reason = f"{display_path(path)} is a device or a socket, not a file with text in it."
    raise SourceError(Code.NOT_A_FILE, reason)


def _refuse_size(path: str, size: str, max_bytes: int) -> NoReturn:
    limit = human_size(max_bytes)
    if size == limit:
        limit = f"{max_bytes:,} bytes, and it has more"
    raise SourceError(
        Code.FILE_TOO_LARGE,
        f"{display_path(path)} is {size}, and files are read up to {limit}; "
        "raise that with --max-file-size, or max_file_size in your configuration.",
    )


def _read_bounded(fd: int, expected: int, max_bytes: int) -> bytes:
    """Read to the end, or one byte past ``max_bytes``; the size that a file reports may be wrong either way."""
    data = os.read(fd, min(expected, max_bytes) + 1)
    if not data or len(data) == expected:
        return data
    parts, total = [data], len(data)
    while total <= max_bytes and (data := os.read(fd, min(_CHUNK, max_bytes + 1 - total))):
        parts.append(data)
        total += len(data)
    return b"".join(parts)


# The longer byte order mark first: that of UTF-32 begins with that of UTF-16.
_BOMS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\xef\xbb\xbf", "utf-8"),
)
_BOM_STARTS = frozenset(bom[0] for bom, _ in _BOMS)
_NOT_IN_WIDE_TEXT = "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ue000-\uf8ff\ufffe\uffff]"

# Encodings in use for source and documents, the likeliest first: a guess among all encodings mistakes French for
# Baltic.
_LEGACY = [
    *("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949", "mac_roman"),
]


def decode(data: bytes, path: str) -> tuple[str, str]:
    """Return the text in ``data`` and its encoding. Raises ``SourceError`` if it is not text."""
    if data and data[0] in _BOM_STARTS:
        for bom, encoding in _BOMS:
            if data.startswith(bom) and (text := _decode_as(data[len(bom) :], encoding)) is not None:
                return text, encoding
    if b"\x00" in data:
        return _decode_wide(data, path)
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        return _decode_legacy(data, path)


def _decode_as(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text


def _decode_wide(data: bytes, path: str) -> tuple[str, str]:
    """Decode UTF-32 or UTF-16 without a byte order mark."""
    little_endian = data[1::2].count(0) > data[0::2].count(0)
    for encoding in ("utf-32-le", "utf-16-le") if little_endian else ("utf-32-be", "utf-16-be"):
        text = _decode_as(data, encoding)
        if text is not None and _reads_like_wide_text(text) and not _content_kind(data):
            return text, encoding
    return _refuse_binary(data, path)


def _reads_like_wide_text(text: str) -> bool:
    """Return whether this is text, not numbers or bytes, which decode to rare characters or control codes."""
    start = text[:_CHUNK]
    return sum(char < "\u0100" for char in start) * 2 > len(start) and not re.search(_NOT_IN_WIDE_TEXT, text)


def _decode_legacy(data: bytes, path: str) -> tuple[str, str]:
    if _content_kind(data):
        return _refuse_binary(data, path)
    from charset_normalizer import from_bytes  # noqa: PLC0415  (rarely needed, and slow to import)

    matches = from_bytes(data, cp_isolation=_LEGACY)
    for match in sorted(matches, key=lambda m: (m.chaos, _LEGACY.index(m.encoding))):
        if (text := _decode_as(data, match.encoding)) is not None:
            return text, match.encoding
    return _refuse_binary(data, path)


def _refuse_binary(data: bytes, path: str) -> NoReturn:
    kind = _content_kind(data)
    what = f"is {kind}" if kind else "contains bytes that are not text"
    advice = "attach it with @file: for a model that takes images" if kind in _SEEN else "give a text form of it"
    named = f"{display_path(path)} ({human_size(len(data))})"
    raise SourceError(Code.BINARY, f"{named} {what}, so it cannot be included; {advice}.", size=len(data))


_MAGIC = (
    (0, b"\x89PNG\r\n", "a PNG image"),
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"GIF8", "a GIF image"),
    (8, b"WEBP", "a WebP image"),
    (0, b"BM", "a bitmap image"),
    (0, b"\x00\x00\x01\x00", "an icon"),
    (0, b"II*\x00", "a TIFF image"),
    (0, b"MM\x00*", "a TIFF image"),
    (0, b"8BPS", "a Photoshop image"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"\xd0\xcf\x11\xe0", "an Office document"),
    (0, b"PK\x03\x04", "a ZIP archive or a document made of one"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"BZh", "a bzip2 archive"),
    (0, b"\xfd7zXZ", "an xz archive"),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (0, b"7z\xbc\xaf", "a 7-Zip archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x7fELF", "a compiled program"),
    (0, b"MZ", "a compiled program"),
    (0, b"\xcf\xfa\xed\xfe", "a compiled program"),
    (0, b"\xca\xfe\xba\xbe", "compiled code"),
    (0, b"\x00asm", "a WebAssembly module"),
    (0, b"SQLite format 3\x00", "an SQLite database"),
    (0, b"PAR1", "a Parquet table"),
    (0, b"\x89HDF", "an HDF5 file"),
    (0, b"\x93NUMPY", "a NumPy array"),
    (4, b"ftyp", "a video"),
    (0, b"\x1a\x45\xdf\xa3", "a video"),
    (8, b"WAVE", "a sound"),
    (0, b"OggS", "a sound"),
    (0, b"fLaC", "a sound"),
    (0, b"ID3", "a sound"),
    (0, b"wOF", "a font"),
    (0, b"OTTO", "a font"),
    (0, b"\x00\x01\x00\x00\x00", "a font"),
)


_SEEN = frozenset({"a PNG image", "a JPEG image", "a GIF image", "a WebP image"})
"""What models accept beside text."""


def _content_kind(data: bytes) -> str | None:
    """Return which known format ``data``, which is not UTF-8 text, begins like; ``None`` if none."""
    return next((kind for offset, start, kind in _MAGIC if data.startswith(start, offset)), None)
