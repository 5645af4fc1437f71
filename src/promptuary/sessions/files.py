"""The files of a session: their revisions when it is pinned, and the search of those that are unchanged.

Also the search of files for people who may see only a part of them.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from promptuary.references.kinds.search_hits import path_of_hit
from promptuary.search.values import (
    FilesUnpinned,
    Hit,
    IndexBusy,
    IndexRebuilt,
    NotReranked,
    Search,
    SearchedByWordsOnly,
    SearchNote,
    SearchQuery,
    SearchResult,
)
from promptuary.sessions.values import FilePin, Reach, Session, Sight
from promptuary.workspace.changes.revisions import revisions, unchanged
from promptuary.workspace.workspace import Workspace

_WILD: Final = str.maketrans(dict.fromkeys("*?[]{}\\", "?"))
"""A name with a wildcard is not a pattern: the wildcard is replaced by any character, and ``covers`` decides."""

_WITHOUT_NAMES: Final = (IndexBusy, IndexRebuilt, SearchedByWordsOnly, NotReranked, FilesUnpinned)
"""Remarks that name neither files nor their number."""


def file_pins(workspace: Workspace, roots: tuple[str, ...]) -> dict[str, FilePin]:
    """Return the revision of every file in the roots now."""
    return revisions(workspace, roots)


def files_now(workspace: Workspace, sight: Sight) -> Mapping[str, FilePin]:
    """Return the same for a session that was pinned before; unchanged files are not read again."""
    return revisions(workspace, sight.roots, sight.pins.files, since=nanoseconds(sight.session))


def find_within(search: Search, query: SearchQuery, sight: Sight, workspace: Workspace) -> SearchResult:
    """Return the hits that a session may see, in files that are unchanged since it was pinned.

    Changed files in the roots are named in a remark; nothing is said about files outside.
    """
    found = _found_in(search, query, sight.roots, workspace)
    inside = _inside(found, workspace, sight.covers)
    same = unchanged(workspace, {path for _, path in inside}, sight.pins.files, since=nanoseconds(sight.session))
    changed = tuple(dict.fromkeys(path for _, path in inside if path not in same))
    notes: list[SearchNote] = [note for note in found.notes if isinstance(note, _WITHOUT_NAMES)]
    if changed:
        notes.append(FilesUnpinned(sight.name, changed))
    return replace(found, hits=[hit for hit, path in inside if path in same], notes=tuple(notes))


def find_in_reach(search: Search, query: SearchQuery, reach: Reach, workspace: Workspace) -> SearchResult:
    """Return the hits in files that people with restricted access may read; ``workspace`` is their view."""
    if not reach.folders:
        return SearchResult()
    found = _found_in(search, query, reach.folders, workspace)
    hits = [hit for hit, path in _inside(found, workspace, reach.covers) if workspace.refusal(path) is None]
    return replace(found, hits=hits, notes=tuple(note for note in found.notes if isinstance(note, _WITHOUT_NAMES)))


def _found_in(search: Search, query: SearchQuery, roots: Sequence[str], workspace: Workspace) -> SearchResult:
    home = str(workspace.root.path)
    paths = tuple(f"{home.rstrip('/')}/{root}".rstrip("/").translate(_WILD) for root in roots)
    return search(replace(query, filters=replace(query.filters, paths=paths), merge_copies=False))


def _inside(found: SearchResult, workspace: Workspace, covers: Callable[[str], bool]) -> list[tuple[Hit, str]]:
    named = ((hit, path_of_hit(hit, str(workspace.root.path))) for hit in found.hits)
    # Files indexed outside the workspace have an absolute path.
    return [(hit, path) for hit, path in named if not path.startswith("/") and covers(path)]


def nanoseconds(session: Session) -> int:
    """Return when a session was pinned, in nanoseconds since 1970."""
    return int(datetime.fromisoformat(session.pinned).timestamp() * 1e9)
