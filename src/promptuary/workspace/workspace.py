"""The workspace as the rest of the program uses it: read, list, look up, fetch.

A ``Workspace`` lives as long as the program; a ``Visit`` as long as one message, because git's branches and index are a
snapshot that must not outlive it. Both are thread-safe.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from promptuary.core.errors import Code, SourceError
from promptuary.workspace.disk.own.closed_folders import ClosedFolders, closed_error
from promptuary.workspace.disk.own.linked_notes import LinkedNotes
from promptuary.workspace.disk.policy import ReadPolicy
from promptuary.workspace.disk.read import TextFile, read_text
from promptuary.workspace.disk.root import PathKind, Root, display_path, normalise
from promptuary.workspace.git.locate import locate
from promptuary.workspace.git.tracked import IndexStamp, TrackedPaths, index_stamp
from promptuary.workspace.listing.ignore import IgnoreRules, OwnIgnoreRules
from promptuary.workspace.listing.listing import Listing
from promptuary.workspace.listing.walk import FileFilter, walk
from promptuary.workspace.matching.usage import Usage
from promptuary.workspace.web.policy import FetchPolicy

if TYPE_CHECKING:
    from promptuary.workspace.git.repository import Repository
    from promptuary.workspace.web.fetch import Page


@dataclass(slots=True)
class Workspace:
    """One folder and the rules for what may be read in it and fetched for it."""

    root: Root
    policy: ReadPolicy = field(default_factory=ReadPolicy)
    fetching: FetchPolicy = field(default_factory=FetchPolicy)
    git_timeout: float = 20.0
    usage: Usage = field(init=False)
    listing: Listing = field(init=False)
    _linked_notes: LinkedNotes = field(init=False, repr=False)
    _known_tracked: dict[str, tuple[IndexStamp, TrackedPaths]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.policy = replace(self.policy, closed=ClosedFolders.of(self.root.path))
        self._linked_notes = LinkedNotes(self.root.path)
        self.usage = Usage(self.root.path)
        self.listing = Listing(self.root.path, (self._tracked, self._untracked))

    def read(self, path: str) -> TextFile:
        """Return the text of a file. Raises ``SourceError`` if it is refused or cannot be read.

        An export of chats (JSON) is read as their transcript.
        """
        file = self._text(path)
        if file.path.endswith(".json") and (chats := self._transcript(file)) is not None:
            file = replace(file, text=chats, converted=True)
        return replace(file, text=self.policy.masked(file.text, file.path))

    def _text(self, path: str) -> TextFile:
        return read_text(self.root, path, self.policy, is_note=self._linked_notes.hold)

    def refusal(self, path: str) -> SourceError | None:
        """Return the error for showing the file ``path``: the policy refuses it, or it is a note by another name."""
        if (error := self.policy.refusal(path)) is not None:
            return error
        try:
            status = self.root.status_of(path)
        except SourceError:
            return None
        return closed_error(path) if self._linked_notes.hold(status) else None

    def _transcript(self, file: TextFile) -> str | None:
        from promptuary.chat_exports import as_transcript, slack_names  # noqa: PLC0415  (most files are none)

        def names() -> dict[str, str]:
            # In an export of Slack it is beside the folders of the channels.
            users = PurePosixPath(file.path).parent.parent / "users.json"
            try:
                return slack_names(self._text(users.as_posix()).text)
            except SourceError:
                return {}

        return as_transcript(file.text, names)

    def fetch(self, url: str) -> "Page":
        """Return the page at ``url`` as text. Raises ``SourceError`` if it is refused or cannot be fetched."""
        from promptuary.workspace.web.fetch import fetch  # noqa: PLC0415  (not needed unless something is fetched)

        page = fetch(url, self.fetching)
        return replace(page, text=self.policy.masked(page.text), title=self.policy.masked(page.title))

    def kind_of(self, path: str) -> PathKind | None:
        """Return whether ``path`` is a file or a folder; ``None`` if nothing is there or the path is invalid.

        In a closed folder it is ``other``, whether anything is there or not.
        """
        try:
            normal = normalise(path)
        except SourceError:
            return None
        return "other" if self.policy.closes(normal) else self.root.kind_of(normal)

    def folder(self, path: str) -> str:
        """Return the normal form of a folder's path. Raises ``SourceError`` if it is refused or cannot be listed."""
        folder = normalise(path)
        if self.policy.closes(folder):
            raise closed_error(folder)
        if folder and self.policy.sensitive(folder):
            raise SourceError(
                Code.SENSITIVE_PATH, f"{display_path(folder)} is a folder for secrets, so it is not listed."
            )
        os.close(self.root.open_folder(folder))
        return folder

    def size_of(self, path: str) -> int | None:
        """Return the size of a listed file without reading it; ``None`` if it cannot be opened in the workspace."""
        try:
            return None if self.policy.closes(path) else self.root.status_of(path).st_size
        except SourceError:
            return None

    def files(self, *, wait: float | None = None) -> Sequence[str]:
        """Return the files of the workspace now, ignore rules applied; wait at most ``wait`` seconds for the list."""
        self.listing.start()
        if self.listing.complete:
            self.listing.refresh()
        self.listing.wait(wait)
        return self.listing.paths

    def shown(self, paths: Iterable[str]) -> list[str]:
        """Return those of ``paths`` that the workspace's own ignore files do not hide."""
        return OwnIgnoreRules(self.root.path).shown(paths)

    def everything(self) -> Listing:
        """Return a new listing that includes ignored files."""
        return Listing(self.root.path, show_ignored=True)

    def files_below(self, folder: str) -> list[str]:
        """Return the files below ``folder``, even if git ignores the folder: the caller named it explicitly."""
        prefix = f"{folder}/" if folder else ""
        listed = [path for path in self.files() if path.startswith(prefix)]
        if listed or not folder:
            return listed
        return sorted(chain.from_iterable(walk(FileFilter(self.root.path), folder, IgnoreRules())))

    def repository(self) -> "Repository":
        """Open the repository of the workspace; the caller closes it. Raises ``SourceError`` if there is none."""
        locate(self.root.path)  # raises first, so that nothing of git is loaded in vain
        from promptuary.workspace.git.repository import Repository  # noqa: PLC0415  (many workspaces have none)

        return Repository.find(self.root.path, self.refusal, masked=self.policy.masked, timeout=self.git_timeout)

    def tracked_by_git(self, folder: str) -> TrackedPaths | None:
        """Return which paths below ``folder`` git tracks, relative to it: none outside a repository.

        ``None`` if git cannot tell: then any of them may be tracked. Git is asked once, until its index changes.
        """
        try:
            stamp = index_stamp(locate(self.root.path).own)
            known = self._known_tracked.get(folder)
            if known is not None and known[0] == stamp:
                return known[1]
            with self.repository() as repository:
                found = TrackedPaths.below(folder, repository.tracked_below(folder))
        except SourceError as error:
            return TrackedPaths() if error.code is Code.NOT_A_REPOSITORY else None
        if stamp is not None:
            self._known_tracked[folder] = stamp, found
        return found

    @contextmanager
    def visit(self) -> Iterator["Visit"]:
        """Open the workspace for one message."""
        visit = Visit(self)
        try:
            yield visit
        finally:
            visit.close()

    def close(self) -> None:
        """Close the folder; a running listing stops."""
        self.listing.close()
        self.root.close()

    def _tracked(self) -> Iterator[bytes]:
        with self.repository() as repository:
            yield from repository.tracked()

    def _untracked(self) -> Iterator[bytes]:
        with self.repository() as repository:
            yield from repository.untracked()


class Visit:
    """A workspace during one message: git is opened on first use, and once."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._opening = threading.Lock()
        self._opened: Repository | None = None

    @property
    def repository(self) -> "Repository":
        """The repository of the workspace. Raises ``SourceError`` if there is none."""
        with self._opening:
            if self._opened is None:
                self._opened = self.workspace.repository()
            return self._opened

    def close(self) -> None:
        """Close the repository, if it was opened."""
        if self._opened is not None:
            self._opened.close()


def open_workspace(path: Path, policy: ReadPolicy, fetching: FetchPolicy, *, follow_symlinks: bool) -> Workspace:
    """Open the folder at ``path`` as a workspace."""
    return Workspace(Root(path, follow_symlinks=follow_symlinks), policy, fetching)
