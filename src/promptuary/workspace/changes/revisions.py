"""The revisions of files: the hash of each file that may be read, at and below some paths.

A file with the same size and time as before is not read again, unless it changed at the moment when it was seen.
``snapshot`` decides which files there are.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from promptuary.base.errors import PromptuaryError, SourceError
from promptuary.base.files import Stamp
from promptuary.workspace.access import WORKSPACE, FilePin
from promptuary.workspace.changes.snapshot import snapshot, snapshot_of
from promptuary.workspace.workspace import Workspace

MAX_FILES: Final = 200_000
"""The most files that can be pinned: more would take tens of megabytes in the database for each session."""

_JUST_NOW: Final = 2_000_000_000
"""Nanoseconds within which two changes of a file may get the same time: clocks of file systems are coarse."""


def revisions(
    workspace: Workspace, roots: Sequence[str], known: Mapping[str, FilePin] | None = None, *, since: int = 0
) -> dict[str, FilePin]:
    """Return every file at and below ``roots`` that may be read, with its revision now.

    ``known`` are revisions that were taken at ``since``, in nanoseconds since 1970. Raises ``PromptuaryError`` if there
    are too many files.
    """
    stamps = _stamps(workspace, roots)
    if len(stamps) > MAX_FILES:
        raise PromptuaryError(
            f"there are {len(stamps):,} files, and a session pins at most {MAX_FILES:,}; name narrower roots"
        )
    before = known or {}
    found = ((path, _revision(workspace, path, stamp, before.get(path), since)) for path, stamp in stamps.items())
    return {path: pin for path, pin in found if pin is not None}


def find_unchanged(workspace: Workspace, paths: Iterable[str], known: Mapping[str, FilePin], *, since: int) -> set[str]:
    """Return those of ``paths`` that are unchanged since ``since``."""
    return {path for path in paths if (pin := known.get(path)) is not None and _is_same(workspace, path, pin, since)}


def _stamps(workspace: Workspace, roots: Sequence[str]) -> Mapping[str, Stamp]:
    if WORKSPACE in roots:
        return snapshot(workspace).files
    return {path: stamp for path, stamp in snapshot_of(workspace, roots).items() if stamp is not None}


def _revision(workspace: Workspace, path: str, stamp: Stamp, known: FilePin | None, since: int) -> FilePin | None:
    """Return the revision of a file; ``None`` if it cannot be read after all."""
    if known is not None and (known.size, known.modified) == (stamp.size, stamp.modified) and _is_old(known, since):
        return known
    try:
        data, status = workspace.read_bytes(path)
    except SourceError:
        return None
    return FilePin(sha256(data).hexdigest(), len(data), status.st_mtime_ns)


def _is_same(workspace: Workspace, path: str, known: FilePin, since: int) -> bool:
    try:
        status = workspace.root.status_of(path)
    except SourceError:
        return False
    stamp = Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    found = _revision(workspace, path, stamp, known, since)
    return found is not None and found.sha256 == known.sha256


def _is_old(pin: FilePin, since: int) -> bool:
    return pin.modified + _JUST_NOW < since
