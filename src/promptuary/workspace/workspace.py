"""The workspace as the rest of the program uses it: read, list, look up, fetch.

A ``Workspace`` lives as long as the program; a ``Visit`` as long as one message, because git's branches and index are a
snapshot that must not outlive it. Both are thread-safe.
"""

import copy
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.blocks import LARGEST_IMAGE, MOST_PIXELS, Picture
from promptuary.base.errors import Code, SourceError
from promptuary.workspace.access import WORKSPACE, Access
from promptuary.workspace.data_folder.hard_links import HardLinks
from promptuary.workspace.disk.current_folder import CurrentFolder
from promptuary.workspace.disk.ownership import is_own
from promptuary.workspace.disk.protected_folders import ProtectedFolders, protected_error
from promptuary.workspace.disk.read import TextFile, read_bytes, read_text
from promptuary.workspace.disk.root import PathKind, Root, display_path, normalise
from promptuary.workspace.documents.image_header import image_header
from promptuary.workspace.documents.names import is_document, is_image

if TYPE_CHECKING:
    from promptuary.config.settings import Settings
    from promptuary.workspace.git.repository import Repository
    from promptuary.workspace.git.tracked import IndexStamp, TrackedPaths
    from promptuary.workspace.listing.listing import Listing
    from promptuary.workspace.matching.usage import Usage
    from promptuary.workspace.web.fetch import Page

LISTING_SECONDS: Final = 10.0
"""How long a reference waits for the list of files: in a larger workspace it gets those that were listed by then."""


class MeantPath(Struct, frozen=True):
    """The interpretation of a typed path: the path in normal form, and what is there.

    ``other`` is the path relative to the workspace, if something is there, too.
    """

    path: str
    kind: PathKind | None
    other: str = ""

    @property
    def is_there(self) -> bool:
        """Whether something is there that the caller may know of."""
        return self.kind not in {None, "outside"}


class Workspace:
    """One folder and the rules for what may be read in it and fetched for it.

    ``here`` is the folder to which typed paths are relative. All other paths are relative to the folder itself.
    """

    def __init__(
        self,
        root: Root,
        access: Access | None = None,
        *,
        git_timeout: float = 20.0,
        here: CurrentFolder | None = None,
    ) -> None:
        self.root, self.git_timeout, self.here = root, git_timeout, here
        self.access = replace(access or Access(), protected=ProtectedFolders.of(root.path))
        """What may be read, listed and fetched through this."""
        self._linked_notes = HardLinks(root.path)
        self._parts = _Parts(root.path, (self._tracked, self._untracked))
        self._known_tracked: dict[str, tuple[IndexStamp, TrackedPaths]] = {}

    @property
    def usage(self) -> "Usage":
        """Which files were named before."""
        return self._parts.usage

    @property
    def listing(self) -> "Listing":
        """The list of files, ignore rules applied."""
        return self._parts.listing

    def within(self, access: Access) -> "Workspace":
        """Return a view with as much of this as ``access`` allows: nothing else can be read, listed or counted with it.

        It shares everything with this one, and need not be closed.
        """
        if access is self.access:
            return self
        narrow = copy.copy(self)
        narrow.access = self.access.narrow(access)
        return narrow

    def read(self, path: str) -> TextFile:
        """Return the text of a file. Raises ``SourceError`` if it is refused or cannot be read.

        An export of chats (JSON) is read as their transcript; a PDF, a Word document and a notebook as their text.
        """
        file = self._document(path) if is_document(path) else self._text(path)
        if file.path.endswith(".json") and (chats := self._transcript(file)) is not None:
            file = replace(file, text=chats, converted="chats, shown as a transcript")
        return replace(file, text=self.access.mask(file.text, file.path))

    def _text(self, path: str) -> TextFile:
        return read_text(self.root, path, self.access, is_note=self._linked_notes.hold)

    def _document(self, path: str) -> TextFile:
        from promptuary.workspace.documents.documents import SIZE_FACTOR, document_text  # noqa: PLC0415  (few files)

        access = replace(self.access, max_bytes=self.access.max_bytes * SIZE_FACTOR)
        data, status = read_bytes(self.root, path, access, is_note=self._linked_notes.hold)
        relative = normalise(path)
        found = document_text(data, relative)
        digest = hashlib.sha256(data).hexdigest()
        return TextFile(relative, found.text, len(data), digest, "utf-8", status.st_mtime_ns, found.about)

    def document(self, name: str, data: bytes) -> TextFile:
        """Return the text of a document that somebody sent, whose ``name`` may be anything and is not used as a path.

        Raises ``SourceError`` if it is too large, or is neither text nor convertible.
        """
        from promptuary.workspace.documents.documents import SIZE_FACTOR, document_text  # noqa: PLC0415  (few files)

        limit = self.access.max_bytes * (SIZE_FACTOR if is_document(name) else 1)
        if len(data) > limit:
            raise SourceError(Code.FILE_TOO_LARGE, f"{display_path(name)} is larger than {limit:,} bytes; send a part.")
        found = document_text(data, name)
        text = self.access.mask(found.text)
        return TextFile(name, text, len(data), hashlib.sha256(data).hexdigest(), "utf-8", 0, found.about)

    def picture(self, path: str) -> tuple[str, Picture] | None:
        """Return the path of an image in normal form and the image; ``None`` if it is not an image that models accept.

        Raises ``SourceError`` if it is refused, is too large, or cannot be read.
        """
        access = self.access.for_images(LARGEST_IMAGE)
        relative = normalise(path)
        try:
            data, _ = read_bytes(self.root, path, access, is_note=self._linked_notes.hold)
        except SourceError as error:
            if error.code is not Code.FILE_TOO_LARGE:
                raise
            reason = f"{display_path(relative)} is an image of more than {LARGEST_IMAGE:,} bytes; make it smaller."
            raise SourceError(error.code, reason) from error
        header = image_header(data)
        if header is None:
            if self.access.refusal("read", relative) is None:  # the person allows files with that name as text
                return None
            reason = f"{display_path(relative)} is not what its name says: it is not a PNG, JPEG, GIF or WebP image."
            raise SourceError(Code.DISALLOWED_EXTENSION, reason)
        if max(header.width, header.height) > MOST_PIXELS:
            size = f"{header.width:,} × {header.height:,} pixels"
            reason = f"{display_path(relative)} has {size}; providers refuse more than {MOST_PIXELS:,} on a side."
            raise SourceError(Code.FILE_TOO_LARGE, f"{reason} Make it smaller.")
        return relative, Picture(header.media_type, header.width, header.height, data)

    def revision(self, path: str) -> str:
        """Return the SHA-256 of a file that can be attached. Raises ``SourceError`` if it is refused or not there."""
        image = self.picture(path) if is_image(path) else None
        return hashlib.sha256(image[1].data).hexdigest() if image else self.read(path).sha256

    def read_bytes(self, path: str) -> tuple[bytes, os.stat_result]:
        """Return the content of a file and its status, text or not; refuses what ``read`` refuses."""
        return read_bytes(self.root, path, self.access, is_note=self._linked_notes.hold)

    def refusal(self, path: str) -> SourceError | None:
        """Return the error for showing the file ``path``: its name is refused, or it is a note under another name."""
        if (error := self.access.refusal("read", path)) is not None:
            return error
        try:
            status = self.root.status_of(path)
        except SourceError:
            return None
        return protected_error(path) if self._linked_notes.hold(status) else None

    def is_note(self, status: os.stat_result) -> bool:
        """Return whether the file with this status is a note of this workspace, whatever its name."""
        return self._linked_notes.hold(status)

    def _transcript(self, file: TextFile) -> str | None:
        from promptuary.workspace.documents.chat_exports import as_transcript, slack_names  # noqa: PLC0415  (most files are none)

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
        self._check_kind("url")
        from promptuary.workspace.web.fetch import fetch  # noqa: PLC0415  (not needed unless something is fetched)

        page = fetch(url, self.access)
        return replace(page, text=self.access.mask(page.text), title=self.access.mask(page.title))

    def clipboard(self) -> str:
        """Return the text in the clipboard. Raises ``SourceError`` if there is none, or no local user.

        Only a person at the machine may send its clipboard: a surface without a current folder (a server, a program)
        may forward messages of others.
        """
        self._check_kind("clipboard")
        if self.standpoint.folder is None:
            reason = "the clipboard is read for a person at this machine; a program that is used by one says so with"
            raise SourceError(Code.PERMISSION_DENIED, f"{reason} current_folder= when it opens the workspace")
        from promptuary.workspace.programs.clipboard import read_clipboard  # noqa: PLC0415  (few messages need it)

        return self.access.mask(read_clipboard(self.root.path))

    def copy(self, text: str) -> bool:
        """Put ``text`` into the clipboard; return whether that is certain."""
        from promptuary.workspace.programs.clipboard import write_clipboard  # noqa: PLC0415

        return write_clipboard(text, self.root.path)

    def kind_of(self, path: str) -> PathKind | None:
        """Return whether ``path`` is a file or a folder; ``None`` if nothing is there or the path is invalid.

        In a closed folder it is ``other``, and outside what a session may see ``outside``, whether it exists or not.
        """
        try:
            normal = normalise(path)
        except SourceError:
            return None
        if not self.access.allows("see", normal):
            return "outside"
        return "other" if self.access.protects(normal) else self.root.kind_of(normal)

    @property
    def standpoint(self) -> CurrentFolder:
        """The folder to which typed paths are relative."""
        return self.here or CurrentFolder((self.root.path,))

    def interpret(self, typed: str, *, absolute: bool = False, rooted: bool = False) -> MeantPath:
        """Return what a person means by ``typed``: an existing path from the current folder, else from the workspace.

        If neither exists, it is the one relative to the workspace. ``absolute`` accepts an absolute path in the
        workspace; ``rooted`` ignores the current folder. Raises ``SourceError`` for a path that leads out or is
        invalid.
        """
        here = replace(self.standpoint, folder=None) if rooted else self.standpoint
        found = [MeantPath(path, self.kind_of(path)) for path in here.readings(typed, absolute=absolute)]
        there = [one for one in found if one.is_there]
        if not there:
            return found[-1]
        return replace(there[0], other=there[1].path or ".") if len(there) > 1 else there[0]

    def folder(self, path: str) -> str:
        """Return the normal form of a folder's path. Raises ``SourceError`` if it is refused or cannot be listed."""
        folder = normalise(path)
        if (refusal := self.access.refusal("list", folder)) is not None:
            raise refusal
        os.close(self.root.open_folder(folder))
        return folder

    def size_of(self, path: str) -> int | None:
        """Return the size of a listed file without reading it; ``None`` if it cannot be opened in the workspace."""
        try:
            hidden = self.access.protects(path) or not self.access.allows("see", path)
            return None if hidden else self.root.status_of(path).st_size
        except SourceError:
            return None

    def files(self, *, wait: float | None = None) -> Sequence[str]:
        """Return the files of the workspace now, ignore rules applied; wait at most ``wait`` seconds for the list."""
        self.listing.start()
        if self.listing.complete:
            self.listing.refresh()
        self.listing.wait(wait)
        return self._inside(self.listing.paths)

    def cut_rules(self) -> Sequence[str]:
        """Return the ignore files that have more rules than are applied, of those that were read for the list."""
        return self._inside(self.listing.cut_rules) if self._parts.listed else ()

    def _inside(self, paths: Sequence[str]) -> Sequence[str]:
        return self.access.inside(paths)

    def without_ignored(self, paths: Iterable[str]) -> list[str]:
        """Return those of ``paths`` that the workspace's own ignore files do not hide."""
        from promptuary.workspace.listing.ignore import OwnIgnoreRules  # noqa: PLC0415  (reading a file needs no rules)

        return OwnIgnoreRules(self.root.path).without_ignored(paths)

    def everything(self) -> "Listing":
        """Return a new listing that includes ignored files."""
        from promptuary.workspace.listing.listing import Listing  # noqa: PLC0415  (reading a file lists none)

        return Listing(self.root.path, show_ignored=True)

    def files_below(self, folder: str) -> list[str]:
        """Return the files below ``folder``, even if git ignores the folder: the caller named it explicitly."""
        prefix = f"{folder}/" if folder else ""
        listed = [path for path in self.files(wait=LISTING_SECONDS) if path.startswith(prefix)]
        if listed or not folder:
            return listed
        from promptuary.workspace.listing.ignore import IgnoreRules  # noqa: PLC0415  (loaded with the listing)
        from promptuary.workspace.listing.walk import FileFilter, walk  # noqa: PLC0415

        walked = chain.from_iterable(walk(FileFilter(self.root.path), folder, IgnoreRules()))
        return list(self._inside(sorted(walked)))

    def repository(self) -> "Repository":
        """Open the repository of the workspace; the caller closes it. Raises ``SourceError`` if there is none."""
        # Which kinds a reader may use is checked for each reference: memory also needs to know what git tracks.
        if WORKSPACE not in self.access.roots:
            raise self.access.outside_session("@git")
        from promptuary.workspace.git.locate import locate  # noqa: PLC0415  (reading a file needs no git)

        locate(self.root.path)  # raises first, so that git's modules are not imported in vain
        from promptuary.workspace.git.repository import Repository  # noqa: PLC0415  (many workspaces have none)

        return Repository.find(self.root.path, self.refusal, mask=self.access.mask, timeout=self.git_timeout)

    def tracked_by_git(self, folder: str) -> "TrackedPaths | None":
        """Return which paths below ``folder`` git tracks, relative to it: none outside a repository.

        ``None`` if git fails: then any of them may be tracked. Looked up once, until git's index changes.
        """
        from promptuary.workspace.git.locate import locate  # noqa: PLC0415  (reading a file needs no git)
        from promptuary.workspace.git.tracked import TrackedPaths, index_stamp  # noqa: PLC0415

        try:
            stamp = index_stamp(locate(self.root.path).own)
            known = self._known_tracked.get(folder)
            if known is not None and known[0] == stamp:
                return known[1]
            found = TrackedPaths.below(folder, self.tracked_names(folder))
        except SourceError as error:
            return TrackedPaths() if error.code is Code.NOT_A_REPOSITORY else None
        if stamp is not None:
            self._known_tracked[folder] = stamp, found
        return found

    def tracked_names(self, path: str) -> list[str]:
        """Return the tracked names at and below ``path``, and the submodule that contains it, if one does.

        Reads git's index, and starts git only if its form is unusual. Raises ``SourceError``.
        """
        from promptuary.workspace.git.locate import locate  # noqa: PLC0415  (reading a file needs no git)
        from promptuary.workspace.git.tracked import tracked_in_index  # noqa: PLC0415

        folder = Path(os.path.realpath(self.root.path))
        found = tracked_in_index(locate(folder), folder, path)
        if found is not None:
            return found
        with self.repository() as repository:
            return repository.tracked_below(path)

    def is_persons(self, path: str) -> bool:
        """Return whether only the person can have written a file: it is theirs, and git does not track it.

        A tracked file may have come with a clone or a pull, so its author is unknown.
        """
        try:
            tracked = self.tracked_by_git(path)
            return tracked is not None and not tracked and is_own(self.root.status_of(path))
        except (SourceError, OSError):
            return False

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
        self._parts.close()
        self.root.close()

    def _check_kind(self, kind: str) -> None:
        if (refusal := self.access.refusal("use", kind)) is not None:
            raise refusal

    def _tracked(self) -> Iterator[bytes]:
        with self.repository() as repository:
            yield from repository.tracked()

    def _untracked(self) -> Iterator[bytes]:
        with self.repository() as repository:
            yield from repository.untracked()


class _Parts:
    """The parts of a workspace that only some messages need, created on first use; all views of it share them."""

    def __init__(self, path: Path, sources: "Sequence[Callable[[], Iterator[bytes]]]") -> None:
        self._path, self._sources = path, sources
        self._making = threading.Lock()
        self._usage: Usage | None = None
        self._listing: Listing | None = None
        self._closed = False

    @property
    def usage(self) -> "Usage":
        """Which files were named before."""
        with self._making:
            if self._usage is None:
                from promptuary.workspace.matching.usage import Usage  # noqa: PLC0415

                self._usage = Usage(self._path)
            return self._usage

    @property
    def listed(self) -> bool:
        """Whether the listing was used."""
        return self._listing is not None

    @property
    def listing(self) -> "Listing":
        """The list of files, ignore rules applied."""
        with self._making:
            if self._listing is None:
                from promptuary.workspace.listing.listing import Listing  # noqa: PLC0415

                self._listing = Listing(self._path, self._sources)
                if self._closed:
                    self._listing.close()
            return self._listing

    def close(self) -> None:
        """Stop a running listing; a later one does not start."""
        with self._making:
            self._closed = True
            if self._listing is not None:
                self._listing.close()


class Visit:
    """A workspace during one message: git is opened at most once, on first use."""

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


def open_workspace(
    path: Path, access: Access, *, follow_symlinks: bool, current_folder: Path | None = None
) -> Workspace:
    """Open the folder at ``path`` as a workspace; typed paths are relative to ``current_folder``."""
    root = Root(path, follow_symlinks=follow_symlinks)
    return Workspace(root, access, here=CurrentFolder.of(root.path, path, current_folder))


def open_door(folder: Path, settings: "Settings", current_folder: Path | None = None) -> Workspace:
    """Open ``folder`` as a workspace with ``settings``; typed paths are relative to ``current_folder`` first."""
    extensions = map(str.lower, settings.allowed_extensions)
    access = Access(
        hosts=frozenset(host.lower() for host in settings.allow_hosts),
        max_bytes=settings.max_file_size,
        also=frozenset(extension if extension.startswith((".", "*")) else f".{extension}" for extension in extensions),
        allow_sensitive=frozenset(settings.allow_sensitive),
        fetch_timeout=settings.fetch_timeout,
    )
    return open_workspace(folder, access, follow_symlinks=settings.follow_symlinks, current_folder=current_folder)
