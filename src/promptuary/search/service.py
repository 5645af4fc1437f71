"""The search of a workspace: indexes folders, keeps the index up to date, and answers queries.

Puts the folders, the reconciler and the backend together. Every method blocks, and may be called from several threads.
``reconcile`` makes the index equal to the folders; ``answer`` ranks the hits; the kind of backend is not known here.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.budget import TokenCounter
from promptuary.base.errors import IndexDamagedError, NothingIndexedError, PromptuaryError
from promptuary.models.languages import known_languages
from promptuary.models.protocols import Embedder
from promptuary.search.answer import Answer, answer
from promptuary.search.chunks.lines import Sizes
from promptuary.search.filters import from_workspace
from promptuary.search.folders import IndexedFolders
from promptuary.search.kind_index import KindIndex, OpenBackend, SearchBackend
from promptuary.search.query import parse
from promptuary.search.ranking import compared
from promptuary.search.reconcile import Reconciler
from promptuary.search.values import (
    EmbedProgress,
    FolderStatus,
    Hit,
    IndexBusy,
    IndexCounts,
    IndexRebuilt,
    IndexStatus,
    IndexUpdate,
    SearchNote,
    SearchQuery,
    SearchResult,
    SyncProgress,
    SyncReport,
    vector_space_id,
)
from promptuary.search.vectors.elsewhere import elsewhere_hashes
from promptuary.search.vectors.scale import scale_hashes
from promptuary.workspace.changes.snapshot import is_ignore_file
from promptuary.workspace.disk.protected_folders import ProtectedFolders

if TYPE_CHECKING:
    from promptuary.search.updater import IndexUpdater
    from promptuary.workspace.changes.watcher import Watcher

_INDEX_TIMEOUT: Final = 10.0
"""Seconds that ``index`` waits for another process that is indexing."""
_PAUSE: Final = 0.05
_FIND_TIMEOUT: Final = 0.2
"""Seconds that a search waits for a sync in another thread: most are done by then."""
_FLUSH_TIMEOUT: Final = 0.2
"""Seconds that a search waits for the watcher; it looks at the files itself if that is still beginning to watch."""
_MANY_FILES: Final = 500
"""So many files are watched if the process searches more than once: to look at all of them takes longer than to search.
"""
_CHECK_EVERY: Final = 30.0
"""Seconds after which a search looks at all files although they are watched: systems do not report what they lost."""
_FOUND_FILES: Final = 64
"""How many of the files that were found last are embedded before all others."""


class SearchService(KindIndex):
    """The search of the files of one workspace.

    ``workspace`` is the root that the places of hits are relative to, ``here`` the person's current folder.
    ``debounce`` is how many seconds a watched folder must be quiet before it is synced.
    """

    def __init__(
        self,
        folders: IndexedFolders,
        open_backend: OpenBackend,
        counter: TokenCounter,
        sizes: Sizes,
        *,
        workspace: str = "/",
        here: Path | None = None,
        debounce: float = 0.2,
    ) -> None:
        super().__init__(open_backend)
        self._folders = folders
        self._counter, self._sizes = counter, sizes
        self._workspace, self._here = workspace, here
        self._debounce = debounce
        self._updater: IndexUpdater | None = None
        self._watcher: Watcher | None = None
        self._preparing: threading.Thread | None = None
        self._starting = threading.Lock()
        self._syncing = threading.Lock()
        self._seen = -1  # the last generation of the watcher that was synced
        self._checked: float | None = None  # when all files were checked
        self._rebuilt = False
        self._found: deque[str] = deque(maxlen=_FOUND_FILES)

    def index(
        self,
        paths: str | Path | Sequence[str | Path] = (),
        *,
        label: str = "",
        rebuild: bool = False,
        prune: bool = False,
        progress: SyncProgress | None = None,
    ) -> SyncReport:
        """Add folders to the index, and bring all indexed folders up to date; they can be searched by words at once.

        A relative path counts from the current folder that the workspace was opened with, if something is there; else
        from the workspace, never from where the process was started.

        ``label`` is a name that searches can filter the added folders by. ``rebuild`` discards the old index. ``prune``
        deletes files from the index even if their whole folder is missing or empty. Raises ``PromptuaryError`` if no
        folder is indexed, or if another process is indexing for long.
        """
        added = [self._absolute(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        if not added and not self._folders.all():
            raise PromptuaryError("no folder is indexed; name one, such as . for this folder")
        backend = self.backend
        with self._syncing:
            for path in added:
                self._folders.add(path, label)
            reconciler = self._reconciler(backend)
            deadline = time.monotonic() + _INDEX_TIMEOUT
            while True:
                try:
                    report = reconciler.sync(rebuild=rebuild, prune=prune, progress=progress)
                except IndexDamagedError:
                    report = _marked(reconciler.sync(rebuild=True, prune=prune, progress=progress))
                if not isinstance(report, IndexBusy):
                    self._rebuilt = self._rebuilt or rebuild
                    return report
                # Mostly a process that watches and has seen the new folder first: it is done soon.
                if time.monotonic() > deadline:
                    raise PromptuaryError("another process is indexing this workspace; try again when it is done")
                if progress is not None:
                    progress(0, 1)  # it may raise to stop the waiting
                time.sleep(_PAUSE)

    def remove(self, path: str | Path) -> bool:
        """Remove a folder from the index; return whether it was indexed."""
        backend = self.backend_if_used
        with self._syncing:
            known = self._folders.remove(str(self._absolute(path)))
            # If another process is writing, the next check finds what is left to do.
            self._seen = -1
            if backend is not None:
                with suppress(IndexDamagedError):
                    self._reconciler(backend).sync()
        return known

    def _absolute(self, path: str | Path) -> Path:
        """Return a path relative to the person's current folder, or else to the workspace."""
        from_here = None if self._here is None else self._here / path
        return from_here if from_here is not None and os.path.lexists(from_here) else Path(self._workspace, path)

    def find(self, query: str | SearchQuery, *, limit: int = 10) -> SearchResult:
        """Return the best hits for a query from the indexed files as they are now.

        ``limit`` counts for a ``query`` that is a text. Raises ``NothingIndexedError`` if nothing is.
        """
        if isinstance(query, str):
            query = SearchQuery(query, limit)
        query = replace(query, filters=from_workspace(query.filters, self._workspace))
        if not self._folders.all():
            raise NothingIndexedError("nothing is indexed yet; run `promptuary index` in a folder of notes or code")
        backend = self.backend
        if not query.lexical_only and parse(query.text):
            self._prepare(backend)
            if backend.store is not None and backend.embedder is not None:
                # A store that cannot be used is an error, not a reason to search by words.
                backend.store.get(vector_space_id(backend.embedder), [])
        watcher = self._watcher
        sure = watcher is None or watcher.flush(_FLUSH_TIMEOUT)
        report = self.refresh(everything=not sure, timeout=_FIND_TIMEOUT)
        notes: Sequence[SearchNote] = (report,) if isinstance(report, IndexBusy) else report.notes(recurring=False)
        synced = not isinstance(report, IndexBusy) and report.has_changes
        if synced and not query.lexical_only:
            self.restore_vectors()
        found = self.ask(query)
        # The best last: it stays longest.
        self._found.extend(dict.fromkeys(hit.path for hit in reversed(found.hits)))
        return SearchResult(
            found.hits,
            found.mode,
            synced or IndexRebuilt() in found.notes,
            partially_embedded=backend.embedder is not None and backend.index.lacks_vectors(),
            confidence=found.confidence,
            notes=(*notes, *found.notes),
        )

    def is_used(self) -> bool:
        """Return whether any folder is indexed."""
        return bool(self._folders.all())

    def rebuild_damaged(self) -> bool:
        """Rebuild the index from the files."""
        with self._syncing:
            return not isinstance(self._reconciler(self.backend).sync(rebuild=True), IndexBusy)

    def read(self, query: SearchQuery, backend: SearchBackend, embedder: Embedder | None) -> Answer:
        """Return the best hits that the read policy allows."""
        scale, elsewhere = backend.measured(embedder)
        found = answer(query, backend.index, embedder, scale=scale, elsewhere=elsewhere, workspace=self._workspace)
        found = found._replace(confidence=compared(found.confidence, found.ahead, strict=True))
        protected = cache(self._folders.protected)
        allowed = (self._allowed((one, *found.copies.get(one.sha256, ())), protected) for one in found.hits)
        return found._replace(hits=[hit for hit in allowed if hit is not None]) if found.hits else found

    def _allowed(self, same: Sequence[Hit], protected: Callable[[str], ProtectedFolders]) -> Hit | None:
        """Return the first of hits with the same text that the read policy allows, with the places of the others."""
        every = (self._folders.as_allowed(one, protected(one.folder)) for one in same)
        allowed = [hit for hit in every if hit is not None]
        return replace(allowed[0], copies=tuple(one.place for one in allowed[1:])) if allowed else None

    def refresh(self, *, everything: bool = False, timeout: float | None = None) -> SyncReport | IndexBusy:
        """Bring the index up to date if files have changed.

        ``everything`` checks every file, whatever the watcher says. ``timeout`` is how many seconds to wait for another
        thread that is syncing; without one, as long as it takes.
        """
        backend = self.backend_if_used
        if backend is None:
            return SyncReport()
        if not self._syncing.acquire(timeout=-1 if timeout is None else timeout):
            return IndexBusy(here=True)
        try:
            if everything:
                self._seen = -1
            try:
                return self._refreshed(backend)
            except IndexDamagedError:
                return _marked(self._reconciler(backend).sync(rebuild=True))
        finally:
            self._syncing.release()

    def embed(self, progress: EmbedProgress | None = None, *, first: Collection[str] = ()) -> int:
        """Embed every chunk that lacks a vector, until ``progress`` returns false; return how many were done.

        Files that were found lately come first, then the files that changed last.
        """
        done = super().embed(progress, first=(*first, *self._found))
        backend = self.backend_if_used
        if backend is None or backend.store is None or backend.embedder is None:
            return 0
        if self._rebuilt and not backend.index.lacks_vectors():
            # A rebuild also deletes the vectors of texts that are gone.
            kept = [*backend.index.hashes(), *scale_hashes(), *elsewhere_hashes()]
            backend.store.keep_only(vector_space_id(backend.embedder), kept)
            self._rebuilt = False
        return done

    def status(self) -> IndexStatus:
        """Return what is indexed."""
        backend = self.backend_if_used
        if backend is None:
            return IndexStatus()
        try:
            known, counts = dict(backend.index.folders()), backend.index.counts()
        except IndexDamagedError:
            # It is rebuilt by whoever indexes or searches next, and these ask for the status first.
            known, counts = {}, IndexCounts()
        foreign = self._foreign(backend)
        missing = self._folders.missing()
        folders = [
            FolderStatus(folder.path, folder.label, known.get(folder, 0), folder.path in missing)
            for folder in self._folders.all()
        ]
        return IndexStatus(tuple(folders), counts, backend.embedder.id if backend.embedder else "", foreign)

    def _foreign(self, backend: SearchBackend) -> Mapping[str, int]:
        """Return how many chunks are in each language that the embedder does not know."""
        with suppress(IndexDamagedError):
            if backend.embedder is not None and (every := backend.index.languages()):
                known = known_languages(backend.embedder)
                return {} if known is None else {one: count for one, count in every.items() if one not in known}
        return {}

    def watch(self, on_update: Callable[[IndexUpdate], None] | None = None) -> None:
        """Keep the index up to date in the background until ``stop`` or ``close``; ``on_update`` gets every update.

        ``on_update`` is called in another thread. Does nothing if it is watching already.
        """
        from promptuary.search.updater import IndexUpdater  # noqa: PLC0415  (a single search does not need it)

        with self._starting:
            if self._updater is None:
                self._updater = IndexUpdater(
                    self.watcher,
                    lambda everything: self.refresh(everything=everything),
                    self.embed,
                    lambda: self.status().counts.unembedded,
                    on_update,
                )
                self._updater.start()

    def stop(self) -> None:
        """Stop watching. Does nothing if it is not watching."""
        with self._starting:
            updater, self._updater = self._updater, None
        if updater is not None:
            updater.close()
        with self._syncing:
            watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close()

    def watcher(self) -> "Watcher":
        """Return a running watcher of all indexed folders, so that a search need not scan them."""
        with self._syncing:
            return self._watching()

    def _watching(self) -> "Watcher":
        """Return a running watcher of all indexed folders; the caller holds the lock."""
        from promptuary.workspace.changes.watcher import Watcher  # noqa: PLC0415  (a single search does not need it)

        # Another process may have changed the list of folders.
        if self._watcher is not None and self._watcher.folders != self._paths():
            self._watcher.close()
            self._watcher = None
        if self._watcher is None:
            self._watcher, self._seen = Watcher(self._paths(), debounce=self._debounce), -1
            self._watcher.start()
        return self._watcher

    def close(self) -> None:
        """Stop watching, and close every file."""
        self.stop()
        if self._preparing is not None:
            # A library that is being loaded while the program ends can crash it.
            self._preparing.join()
        super().close()
        self._folders.close()

    def _reconciler(self, backend: SearchBackend) -> Reconciler:
        return Reconciler(backend.index, self._folders, self._sizes, self._counter)

    def _paths(self) -> list[Path]:
        return [Path(folder.path) for folder in self._folders.all()]

    def _prepare(self, backend: SearchBackend) -> None:
        """Start to load the model: that takes longer than the rest of a search."""
        if (embedder := backend.embedder) is None or self._preparing is not None:
            return

        def load() -> None:
            # An error is reported when a text is embedded; a plug-in may have nothing to prepare.
            with suppress(Exception):
                if backend.index.has_vectors():
                    embedder.prepare()

        self._preparing = concurrency.start_daemon(load, name="promptuary-prepare")

    def _refreshed(self, backend: SearchBackend) -> SyncReport | IndexBusy:
        """Sync what may have changed; the caller holds the lock."""
        watcher, reconciler = self._watcher, self._reconciler(backend)
        unsure = watcher is None or self._seen < 0 or watcher.mode == "polling" or watcher.folders != self._paths()
        if watcher is None or unsure or self._is_due() or not backend.index.exists():
            if self._checked is not None and sum(files for _, files in backend.index.folders()) >= _MANY_FILES:
                watcher = self._watching()
            generation = watcher.generation if watcher else -1
            report, self._checked = reconciler.check(), time.monotonic()
        else:
            hints = watcher.changed_since(self._seen)
            generation = hints.generation
            if generation == self._seen:
                return SyncReport()
            if hints.paths is None or any(is_ignore_file(path) for _, path in hints.paths):
                report = reconciler.check()
            else:
                report = reconciler.sync_paths(hints.paths)
        if not isinstance(report, IndexBusy):
            # Only now: what another process was syncing, or what could not be examined, must be checked again.
            self._seen = -1 if any(one.reason == "unreadable" for one in report.held) else generation
        return report

    def _is_due(self) -> bool:
        """Return whether all files are to be checked although they are watched; an updater does that itself."""
        return self._updater is None and (self._checked is None or time.monotonic() > self._checked + _CHECK_EVERY)


def _marked(report: SyncReport | IndexBusy) -> SyncReport | IndexBusy:
    """Return the report of a rebuild that damage made necessary."""
    return report if isinstance(report, IndexBusy) else replace(report, rebuilt=True)
