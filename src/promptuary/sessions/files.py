"""The files of a session when it is pinned, and the search for those who may see only a part of the files."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from promptuary.references.kinds.search_hits import path_of_hit
from promptuary.search.values import (
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
from promptuary.sessions.values import Session
from promptuary.workspace.access import WORKSPACE, FilePin, Pins
from promptuary.workspace.changes.revisions import find_unchanged, revisions
from promptuary.workspace.workspace import Workspace

_WILD: Final = str.maketrans(dict.fromkeys("*?[]{}\\", "?"))
"""A name with a wildcard is not a pattern: the wildcard is replaced by any character, and ``Access`` decides."""

_WITHOUT_NAMES: Final = (IndexBusy, IndexRebuilt, SearchedByWordsOnly, NotReranked, FilesUnpinned)
"""Remarks that name neither files nor their number."""


def file_pins(workspace: Workspace, roots: tuple[str, ...]) -> dict[str, FilePin]:
    """Return the revision of every file in the roots now."""
    return revisions(workspace, roots)


def files_now(workspace: Workspace, session: Session, pins: Pins) -> Mapping[str, FilePin]:
    """Return the same for a session that was pinned before; unchanged files are not read again."""
    return revisions(workspace, session.roots or (WORKSPACE,), pins.files, since=nanoseconds(session))


def find_within(search: Search, query: SearchQuery, workspace: Workspace) -> SearchResult:
    """Return the hits that may be seen through ``workspace``, for a session in files unchanged since it was pinned.

    Changed files are named in a remark; nothing is said about files outside.
    """
    access, home = workspace.access, str(workspace.root.path)
    if not access.places():
        return SearchResult()
    within = tuple(f"{home.rstrip('/')}/{place}".rstrip("/").translate(_WILD) for place in access.places())
    found = search(replace(query, filters=replace(query.filters, within=within), merge_copies=False))
    named = [(hit, path_of_hit(hit, home)) for hit in found.hits]
    # Files indexed outside the workspace have an absolute path.
    inside = [(hit, path) for hit, path in named if not path.startswith("/") and workspace.refusal(path) is None]
    notes: list[SearchNote] = [note for note in found.notes if isinstance(note, _WITHOUT_NAMES)]
    if access.session is not None:
        since = nanoseconds(access.session)
        same = find_unchanged(workspace, {path for _, path in inside}, access.pins.files, since=since)
        if changed := tuple(dict.fromkeys(path for _, path in inside if path not in same)):
            notes.append(FilesUnpinned(access.session_name, changed))
        inside = [(hit, path) for hit, path in inside if path in same]
    return replace(found, hits=[hit for hit, _ in inside], notes=tuple(notes))


def nanoseconds(session: Session) -> int:
    """Return when a session was pinned, in nanoseconds since 1970."""
    return int(datetime.fromisoformat(session.pinned).timestamp() * 1e9)
