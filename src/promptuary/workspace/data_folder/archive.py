"""A backup as one file: a zip archive with a manifest that names every other file in it, with its size and hash.

An archive is untrusted input: only the names of a backup are accepted, sizes are bounded before anything is unpacked,
and links, devices, duplicates and files that the manifest does not name are refused. Does not know where the files are
restored to.
"""

import errno
import hashlib
import json
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from msgspec import Struct

from promptuary.base import durable
from promptuary.base.errors import PromptuaryError
from promptuary.workspace.data_folder.kept_files import open_kept_file

FORMAT: Final = 1
_MANIFEST: Final = "manifest.json"
_MAX_FILES: Final = 200_000
_MAX_MANIFEST: Final = 64 * 1024 * 1024
_ALWAYS: Final = 1024**3
"""The bytes that any archive may unpack to, however small it is."""
_RATIO: Final = 200
"""Beyond that, how many times its own size an archive may unpack to."""
_PIECE: Final = 1 << 20
_STALLED: Final = 60.0
"""Seconds after which a temporary file is not being written any more."""
_PART: Final = r"(?!\.{1,2}/|\.{1,2}$)[^/\\\x00-\x1f\x7f:]{1,255}"
NAME: Final = re.compile(
    rf"(?:workspaces/\d{{1,5}}|person)/(?:state\.db|config\.toml|folders\.json|memory(?:/{_PART}){{1,16}})"
)


class Manifest(Struct, frozen=True):
    """The metadata of an archive: when it was made, and which workspaces are in it, by number."""

    made: str
    workspaces: Sequence[str]
    files: Mapping[str, tuple[int, str]]


def write_archive(target: Path, made: str, workspaces: Sequence[str], files: Mapping[str, Path], *, force: bool) -> int:
    """Write ``files``, by their names in the archive, to ``target``, accessible only to the user; return its size.

    Raises ``PromptuaryError`` if the file exists and ``force`` is not set.
    """
    if not force and os.path.lexists(target):
        raise PromptuaryError(f"{target} exists already; choose another name, or add --force")
    hashes: dict[str, tuple[int, str]] = {}
    with _open_for_writing(target) as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in files.items():
            hashes[name] = _add(archive, name, path)
        content = {
            "format": FORMAT,
            "made": made,
            "workspaces": list(workspaces),
            "files": {name: {"bytes": size, "sha256": sha256} for name, (size, sha256) in hashes.items()},
        }
        archive.writestr(_MANIFEST, json.dumps(content, indent=1))
    return target.stat().st_size


def unpack(source: Path, folder: Path) -> Manifest:
    """Unpack the archive ``source`` into ``folder``, which is empty, and return its metadata.

    Raises ``PromptuaryError`` if it is not a backup, is damaged, or contains anything unexpected.
    """
    try:
        with open_kept_file(source, follow=True) as file, zipfile.ZipFile(file) as archive:
            manifest = _manifest(archive, source)
            for name, (size, sha256) in manifest.files.items():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                _extract(archive, name, target, size, sha256)
            return manifest
    except FileNotFoundError:
        raise PromptuaryError(f"{source} does not exist") from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise _refusal(f"it is damaged, or not a backup ({error})") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        is_folder = "is a folder" if source.is_dir() else f"cannot be read ({error.strerror})"
        raise PromptuaryError(f"{source} {is_folder}; name the file of the backup") from None


@contextmanager
def _open_for_writing(target: Path) -> Iterator[BinaryIO]:
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        durable.remove_leftovers(folder, older_than=_STALLED)  # of a backup that was killed
        with durable.written(target.name, dir_fd=folder) as opened:
            yield opened
    finally:
        os.close(folder)


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> tuple[int, str]:
    size, hashed = 0, hashlib.sha256()
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFREG | 0o600) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    with open_kept_file(path) as file, archive.open(entry, "w", force_zip64=True) as inside:
        while piece := file.read(_PIECE):
            inside.write(piece)
            hashed.update(piece)
            size += len(piece)
    return size, hashed.hexdigest()


def _manifest(archive: zipfile.ZipFile, source: Path) -> Manifest:
    entries = archive.infolist()
    if len(entries) > _MAX_FILES:
        raise _refusal(f"it has more than {_MAX_FILES:,} files")
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        raise _refusal("it has two files of one name")
    for entry in entries:
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or entry.is_dir():
            raise _refusal(f"{entry.filename!r} in it is not a plain file")
        if entry.filename != _MANIFEST and NAME.fullmatch(entry.filename) is None:
            raise _refusal(f"{entry.filename!r} in it is not a name that a backup has")
    if _MANIFEST not in names or archive.getinfo(_MANIFEST).file_size > _MAX_MANIFEST:
        raise _refusal("it has no manifest")
    manifest = _parse_manifest(_read_some(archive, _MANIFEST, _MAX_MANIFEST))
    if manifest.files.keys() != set(names) - {_MANIFEST}:
        raise _refusal("its manifest names other files than there are")
    total = sum(size for size, _ in manifest.files.values())
    if total > max(_ALWAYS, _RATIO * source.stat().st_size):
        raise _refusal(f"it would unpack to {total:,} bytes, far more than such a file can hold")
    return manifest


def _read_some(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    with archive.open(name) as file:
        return file.read(most)


def _parse_manifest(content: bytes) -> Manifest:
    try:
        found: Any = json.loads(content)
        if found["format"] != FORMAT:
            raise _refusal("it was made by a newer version; upgrade first")
        files = {str(name): (int(one["bytes"]), str(one["sha256"])) for name, one in found["files"].items()}
        workspaces = [str(one) for one in found["workspaces"]]
        if any(size < 0 for size, _ in files.values()):
            raise _refusal("its manifest has a size below zero")
        return Manifest(str(found["made"]), workspaces, files)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise _refusal("its manifest cannot be read") from error


def _extract(archive: zipfile.ZipFile, name: str, target: Path, size: int, sha256: str) -> None:
    hashed, left = hashlib.sha256(), size
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with archive.open(name) as inside, open(descriptor, "wb") as file:  # noqa: PTH123
        while piece := inside.read(min(_PIECE, left + 1)):
            left -= len(piece)
            if left < 0:
                break
            hashed.update(piece)
            file.write(piece)
    if left or hashed.hexdigest() != sha256:
        raise _refusal(f"{name} in it is not what its manifest says")


def _refusal(why: str) -> PromptuaryError:
    return PromptuaryError(f"the archive is refused: {why}")
