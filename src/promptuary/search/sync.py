"""Brings the index of one folder up to date: executes a plan, one file at a time.

Each file is written as a whole or not at all, so an interrupted sync can be continued by the next. A file that cannot
be read is reported with its code and does not stop the others. Knows neither the backend of the index nor the caller.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from promptuary.base.budget import TokenCounter
from promptuary.base.errors import TRANSIENT_CODES, Code, SourceError
from promptuary.base.files import Folder, Stamp
from promptuary.search.chunks.days import says_the_same
from promptuary.search.chunks.file_kinds import date_of, kind_of
from promptuary.search.chunks.generated import is_left_out_by_content
from promptuary.search.chunks.lines import Sizes
from promptuary.search.chunks.links import links_in
from promptuary.search.chunks.tags import tags_in
from promptuary.search.index.port import IndexWriter
from promptuary.search.plan import Moves, Plan, stamp_to_store
from promptuary.search.values import UNREAD, FolderHeld, IndexedFile, SyncProgress, SyncReport
from promptuary.workspace.disk.read import TextFile
from promptuary.workspace.workspace import Workspace

FLUSH_EVERY: Final = 3.0
"""Seconds between two flushes during a sync."""


class FolderSync:
    """The sync of one folder into an index. Used once. ``hidden``: include files that are marked as generated.

    ``dates`` are the change times, in seconds since 1970, of files whose times on disk mean nothing.
    """

    def __init__(
        self,
        folder: Folder,
        workspace: Workspace,
        index: IndexWriter,
        sizes: Sizes,
        counter: TokenCounter,
        *,
        hidden: bool = False,
        dates: Mapping[str, int] | None = None,
    ) -> None:
        self._folder, self._workspace, self._index = folder, workspace, index
        self._sizes, self._counter = sizes, counter
        self._hidden, self._dates = hidden, dates or {}
        self._added = self._changed = self._moved = self._removed = self._reread = self._left_out = 0
        self._skipped: dict[str, Code] = {}
        self._held: list[FolderHeld] = []
        self._unparsed: list[str] = []
        self._flushed = time.monotonic()

    def run(
        self,
        todo: Plan,
        disk: Mapping[str, Stamp | None],
        known: Mapping[str, IndexedFile],
        *,
        prune: bool = False,
        unsure: bool = False,
        progress: SyncProgress | None = None,
    ) -> SyncReport:
        """Execute ``todo``; ``prune`` deletes files from the index even if the folder is held.

        ``unsure``: something on disk could not be examined, so what was not seen there is not gone.
        """
        gone = set(self._really_gone(todo.gone, unsure=unsure))
        moves = Moves(sorted(gone) if not todo.held or prune else (), known)
        for done, path in enumerate(todo.read):
            stamp = disk.get(path)
            if stamp is not None and (left := self._file(path, stamp, known.get(path), moves)):
                gone.discard(left)
            if progress is not None:
                progress(done + 1, len(todo.read))
            if time.monotonic() - self._flushed > FLUSH_EVERY:
                self._flush()
        if todo.held and not prune:
            self._held.append(FolderHeld(self._folder.path, todo.held))
        elif gone:
            self._index.drop(self._folder, sorted(gone))
            self._removed += len(gone)
        self._flush()
        return self._report()

    def _file(self, path: str, stamp: Stamp, known: IndexedFile | None, moves: Moves) -> str | None:
        """Index a file; return the path that it was moved from, if it was."""
        read_at = time.time_ns()
        try:
            read = self._workspace.read(path)
        except SourceError as error:
            self._refused(path, stamp_to_store(stamp, read_at), known, error.code)
            return None
        if not self._hidden and not read.converted and is_left_out_by_content(path, read.text):
            self._left_out += 1
            self._without_content(path, stamp_to_store(stamp, read_at), known)
            return None
        name = _name_for_chunks(read, path)
        changed = self._dates.get(path)
        date = date_of(name, read.text, stamp.modified if changed is None else changed * 10**9)
        kind = kind_of(name)
        file = IndexedFile(path, stamp_to_store(stamp, read_at), read.sha256, kind, date, tags_in(read.text, kind))
        if known is not None and known.sha256 == read.sha256:
            self._index.touch(self._folder, file)
            self._reread += 1
            return None
        old = moves.take(read.sha256, path.rpartition("/")[2]) if known is None else None
        if old is not None and kind_of(old) == file.kind and says_the_same(old, path):
            self._index.move(self._folder, old, file)
            self._moved += 1
            return old
        self._put(file, read, new=known is None or known.sha256 == UNREAD)
        return None

    def _put(self, file: IndexedFile, read: TextFile, *, new: bool) -> None:
        def on_slow() -> None:
            self._unparsed.append(f"{self._folder.path}/{file.path}")

        from promptuary.search.chunks.chunker import chunks  # noqa: PLC0415  (most searches find nothing to chunk)

        name = _name_for_chunks(read, file.path)
        cut = chunks(read.text, name, self._sizes, self._counter, on_slow)
        if file.kind == "markdown":
            cut = [replace(one, links=links) if (links := links_in(one.text)) else one for one in cut]
        self._index.put(self._folder, file, read.text, cut)
        if new:
            self._added += 1
        else:
            self._changed += 1

    def _refused(self, path: str, stamp: Stamp, known: IndexedFile | None, code: Code) -> None:
        # One that had just been written was read a second time, to be sure: it need not be reported again.
        again = known is not None and known.sha256 == UNREAD and not known.stamp.changed
        if code in TRANSIENT_CODES or not again:
            self._skipped[f"{self._folder.path}/{path}"] = code
        if code not in TRANSIENT_CODES:
            self._without_content(path, stamp, known)

    def _without_content(self, path: str, stamp: Stamp, known: IndexedFile | None) -> None:
        """Record a file without content, so that it is not opened again before it changes."""
        self._index.put(self._folder, IndexedFile(path, stamp, UNREAD, kind_of(path), stamp.modified // 10**9), "", ())
        if known is not None and known.sha256 != UNREAD:
            self._removed += 1

    def _really_gone(self, paths: Sequence[str], *, unsure: bool) -> list[str]:
        """Return the paths whose parent can be listed: a folder that cannot be listed says nothing about its files.

        If ``unsure``, only those at which there certainly is nothing any more.
        """
        closed: dict[str, bool] = {}
        for parent in {path.rpartition("/")[0] for path in paths}:
            closed[parent] = self._is_closed(parent)
        shut = sorted(parent for parent, is_closed in closed.items() if is_closed)
        if shut:
            self._held.append(FolderHeld(self._folder.path, "unreadable", inside=shut[0]))
        gone = [path for path in paths if not closed[path.rpartition("/")[0]]]
        if not unsure:
            return gone
        absent = [path for path in gone if self._workspace.root.kind_of(path) is None]
        if len(absent) < len(gone):
            some = "a part of it could not be examined; see to it that enough files may be open, and try again"
            self._held.append(FolderHeld(self._folder.path, "unreadable", detail=f"{self._folder.path}: {some}"))
        return absent

    def _is_closed(self, folder: str) -> bool:
        while True:
            try:
                self._workspace.folder(folder)
            except SourceError as error:
                if error.code in TRANSIENT_CODES and error.code is not Code.NOT_FOUND:
                    return True
                if not folder:
                    return False
                folder = folder.rpartition("/")[0]
                continue
            return False

    def _flush(self) -> None:
        self._index.flush()
        self._flushed = time.monotonic()

    def _report(self) -> SyncReport:
        return SyncReport(
            self._added,
            self._changed,
            self._moved,
            self._removed,
            self._reread,
            self._skipped,
            tuple(self._held),
            unparsed=tuple(self._unparsed),
            left_out=self._left_out,
        )


def _name_for_chunks(read: TextFile, path: str) -> str:
    """Return the name by which a file is split: the transcript of an export is Markdown, whatever its name is."""
    return f"{path}.md" if read.converted else path
