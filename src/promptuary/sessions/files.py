"""The files of a session: their revisions when it is pinned, and the search of those that are still as they were."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from promptuary.core.search import (
    FilesUnpinned,
    IndexBusy,
    IndexRebuilt,
    NotReranked,
    Search,
    SearchedByWordsOnly,
    SearchNote,
    SearchQuery,
    SearchResult,
)
from promptuary.core.sessions import FilePin, Session, Sight
from promptuary.references.kinds.search_hits import path_of_hit
from promptuary.workspace.changes.revisions import revisions, unchanged
from promptuary.workspace.workspace import Workspace

_WILD: Final = str.maketrans(dict.fromkeys("*?[]{}\\", "?"))
"""A name that has a wildcard in it is no pattern; any character may stand there then, and ``covers`` decides."""

_WITHOUT_NAMES: Final = (IndexBusy, IndexRebuilt, SearchedByWordsOnly, NotReranked, FilesUnpinned)
"""Remarks that name no file, nor how many there are."""


def file_pins(workspace: Workspace, roots: tuple[str, ...]) -> dict[str, FilePin]:
    """Return the revision of every file in the roots now."""
    return revisions(workspace, roots)


def files_now(workspace: Workspace, sight: Sight) -> Mapping[str, FilePin]:
    """Return the same for a session that was pinned before; what did not change since is not read again."""
    return revisions(workspace, sight.roots, sight.pins.files, since=nanoseconds(sight.session))


def find_within(search: Search, query: SearchQuery, sight: Sight, workspace: Workspace) -> SearchResult:
    """Return the hits that a session may see, in files that are as they were when it was pinned.

    What else is in the roots is named in a remark; of anything outside nothing is told.
    """
    home = str(workspace.root.path)
    paths = tuple(f"{home.rstrip('/')}/{root}".rstrip("/").translate(_WILD) for root in sight.roots)
    found = search(replace(query, filters=replace(query.filters, paths=paths), merge_copies=False))
    named = ((hit, path_of_hit(hit, home)) for hit in found.hits)
    # What is indexed outside of the workspace has an absolute path, and is in no session.
    inside = [(hit, path) for hit, path in named if not path.startswith("/") and sight.covers(path)]
    same = unchanged(workspace, {path for _, path in inside}, sight.pins.files, since=nanoseconds(sight.session))
    changed = tuple(dict.fromkeys(path for _, path in inside if path not in same))
    notes: list[SearchNote] = [note for note in found.notes if isinstance(note, _WITHOUT_NAMES)]
    if changed:
        notes.append(FilesUnpinned(sight.name, changed))
    return replace(found, hits=[hit for hit, path in inside if path in same], notes=tuple(notes))


def nanoseconds(session: Session) -> int:
    """Return when a session was pinned, in nanoseconds since 1970."""
    return int(datetime.fromisoformat(session.pinned).timestamp() * 1e9)
