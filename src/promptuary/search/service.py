"""The file memory of a workspace: asked, watched, and brought up to date when it is time to.

Puts the doors, the reconciler, the search and the storage together; the engine loads it when it is needed. Everything
here blocks, and may be called from several threads. What makes the index the same as the folders is in ``reconcile``.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptuary import concurrency
from promptuary.core.counting import TokenCounter
from promptuary.core.errors import IndexDamagedError, PromptuaryError
from promptuary.core.ports.index import Counts, VectorStore
from promptuary.core.ports.models import Embedder, vector_space_id
from promptuary.core.query import parse
from promptuary.core.search import Folder, SearchQuery, SearchResult
from promptuary.search.answer import Answered, search
from promptuary.search.chunks.sizes import Sizes
from promptuary.search.embed import embed_missing, restore
from promptuary.search.filters import from_workspace
from promptuary.search.folders import IndexedFolders
from promptuary.search.reconcile import Reconciler
from promptuary.search.sync import Progress, SyncReport
from promptuary.storage.index.index import EmbeddedIndex
from promptuary.workspace.changes.snapshot import is_ignore_file

if TYPE_CHECKING:
    from promptuary.workspace.changes.watcher import Watcher

DAMAGED: Final = "the index was damaged and has been made again; nothing was lost"
BUSY: Final = "another process is indexing; this is what it had made findable so far"
BUSY_HERE: Final = "files are being indexed just now; this is what had been made findable so far"

_PATIENCE: Final = 10.0
"""Seconds to wait for another process that is indexing."""
_PAUSE: Final = 0.05
_NO_PATIENCE: Final = 0.2
"""Seconds for which a search waits for a sync that is under way: most are done by then."""
_RESTORING: Final = 2.0
"""Seconds for which a search may put vectors back."""


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What is indexed: the folders with the number of their files, and how much there is in all.

    ``missing`` are the paths of those folders that are not there now.
    """

    folders: Sequence[tuple[Folder, int]]
    counts: Counts
    embedder: str
    missing: frozenset[str] = frozenset()


class SearchService:
    """The indexed folders of one workspace. ``folder`` is where the index is kept."""

    def __init__(
        self,
        folder: Path,
        doors: IndexedFolders,
        counter: TokenCounter,
        sizes: Sizes,
        *,
        store: VectorStore | None = None,
        embedder: Embedder | None = None,
        lasting: bool = True,
        workspace: str = "/",
    ) -> None:
        self.lasting = lasting
        """Whether there is a place for an index."""
        self._doors = doors
        self._workspace = workspace
        self._store, self._embedder = store, embedder
        self._index = EmbeddedIndex(folder, sizes.recipe, store=store, embedder=embedder)
        self._files = Reconciler(self._index, doors, sizes, counter)
        self._syncing = threading.Lock()
        self._watcher: Watcher | None = None
        self._seen = -1
        self._rebuilt = False
        self._preparing: threading.Thread | None = None

    def index(
        self,
        paths: Sequence[Path],
        *,
        label: str = "",
        rebuild: bool = False,
        prune: bool = False,
        progress: Progress | None = None,
    ) -> SyncReport:
        """Index folders from now on, and bring everything up to date; ``rebuild`` discards the old index.

        ``prune`` forgets what is gone even if a whole folder is.
        """
        with self._syncing:
            for path in paths:
                self._doors.add(path, label)
            if not self._doors.folders():
                raise PromptuaryError("no folder is indexed; name one, such as . for this folder")
            deadline = time.monotonic() + _PATIENCE
            while True:
                try:
                    report = self._files.sync(rebuild=rebuild, prune=prune, progress=progress)
                except IndexDamagedError:
                    report = self._files.sync(rebuild=True, prune=prune, progress=progress)
                if report is not None:
                    self._rebuilt = self._rebuilt or rebuild
                    return report
                # Mostly one that watches, and has seen the new folder first: it is done soon.
                if time.monotonic() > deadline:
                    raise PromptuaryError("another process is indexing this workspace; try again when it is done")
                if progress is not None:
                    progress(0, 1)  # who has had enough of waiting says so there
                time.sleep(_PAUSE)

    def remove(self, path: str) -> bool:
        """Index a folder no more; tell whether it was indexed."""
        with self._syncing:
            known = self._doors.remove(path)
            # If another process is at it, the next look finds what is left to do.
            self._seen = -1
            with suppress(IndexDamagedError):
                self._files.sync()
        return known

    def search(self, question: SearchQuery) -> SearchResult:
        """Answer a question from files as they are now."""
        question = replace(question, filters=from_workspace(question.filters, self._workspace))
        if not self._doors.folders():
            raise PromptuaryError("nothing is indexed yet; run `promptuary index` in a folder of notes or code")
        if (
            self._embedder is not None
            and self._preparing is None
            and parse(question.text)
            and not question.lexical_only
        ):
            # Loading a model takes longer than everything else: it begins first.
            self._preparing = concurrency.start_daemon(self._prepare, name="promptuary-prepare")
        if (watcher := self._watcher) is not None:
            watcher.flush()
        report, notes = self.refresh(patience=_NO_PATIENCE)
        synced = report.anything
        if synced and not question.lexical_only:
            self._restore()
        embedder = None if question.lexical_only or not self._index.has_vectors() else self._embedder
        try:
            answered = search(question, self._index, embedder)
        except IndexDamagedError:
            notes = [*notes, DAMAGED]
            with self._syncing:
                if self._files.sync(rebuild=True) is None:
                    raise PromptuaryError("the index is being made again by another process; try again soon") from None
            answered, synced = search(question, self._index, None), True
        except PromptuaryError as error:
            if embedder is None:
                raise
            notes = [*notes, f"searched by words alone: {error}"]
            answered = search(question, self._index, None)
        return self._found(answered, notes, auto_synced=synced)

    def _restore(self) -> None:
        """Take vectors that are kept already into an index that lacks them: it may have just been made again."""
        deadline = time.monotonic() + _RESTORING
        # Whatever is wrong, the search says it better, and goes on by words.
        with suppress(PromptuaryError):
            if self._store is not None and self._embedder is not None and self._index.lacks_vectors():
                restore(self._index, self._store, self._embedder, go_on=lambda: time.monotonic() < deadline)

    def _prepare(self) -> None:
        # Whatever is wrong will be told when a text is to be embedded; and a plug-in may have nothing to prepare.
        with suppress(Exception):
            if self._embedder is not None and self._index.has_vectors():
                self._embedder.prepare()

    def refresh(self, *, everything: bool = False, patience: float = -1) -> tuple[SyncReport, list[str]]:
        """Bring the index up to date if files have changed; tell what it did, and what a person should know.

        ``everything`` looks at every file, whatever the watcher says. ``patience`` is how many seconds to wait for
        another thread that is at it, if not for ever.
        """
        if not self._syncing.acquire(timeout=patience):
            return SyncReport(), [BUSY_HERE]
        try:
            if everything:
                self._seen = -1
            told: list[str] = []
            try:
                report, looked = self._refreshed()
            except IndexDamagedError:
                report, looked, told = self._files.sync(rebuild=True), True, [DAMAGED]
        finally:
            self._syncing.release()
        if report is None:
            return SyncReport(), [BUSY] if looked else []
        return report, [*told, *report.held, *report.notes(lasting=True)]

    def embed(self, go_on: Callable[[int], bool] = lambda _: True) -> int:
        """Give every chunk its vector; ``go_on`` is told how many are done and may stop it. Returns how many."""
        if self._store is None or self._embedder is None:
            return 0
        done = embed_missing(self._index, self._store, self._embedder, go_on=go_on)
        if self._rebuilt and not self._index.lacks_vectors():
            # Who makes everything again is rid of what nothing needs any more, too.
            self._store.keep_only(vector_space_id(self._embedder), self._index.every_hash())
            self._rebuilt = False
        return done

    def watch(self, *, debounce: float) -> "Watcher":
        """Have changes noted as they happen, so that a search need not look for them."""
        from promptuary.workspace.changes.watcher import Watcher  # noqa: PLC0415  (a single search has no use for it)

        with self._syncing:
            # Another process may have had other folders indexed meanwhile.
            if self._watcher is not None and self._watcher.folders != self._places():
                self._watcher.close()
                self._watcher = None
            if self._watcher is None:
                self._watcher, self._seen = Watcher(self._places(), debounce=debounce), -1
                self._watcher.start()
            return self._watcher

    def status(self) -> IndexStatus:
        """Return what is indexed."""
        known = dict(self._index.folders())
        listed = [(folder, known.get(folder, 0)) for folder in self._doors.folders()]
        embedder = self._embedder.id if self._embedder else ""
        return IndexStatus(listed, self._index.counts(), embedder, self._doors.missing())

    def close(self) -> None:
        """Let go of everything."""
        if self._preparing is not None:
            # A library that is being loaded while the program ends brings it down.
            self._preparing.join()
        if self._watcher is not None:
            self._watcher.close()
        self._index.close()
        if self._store is not None:
            self._store.close()
        self._doors.close()

    def _places(self) -> list[Path]:
        return [Path(folder.path) for folder in self._doors.folders()]

    def _refreshed(self) -> tuple[SyncReport | None, bool]:
        """Sync what may have changed; the report is ``None`` if nothing had to be done, or somebody else does it."""
        watcher = self._watcher
        unsure = watcher is None or self._seen < 0 or watcher.mode == "polling" or watcher.folders != self._places()
        if watcher is None or unsure or not self._index.exists():
            generation = watcher.generation if watcher else -1
            report, looked = self._files.look()
        else:
            hints = watcher.changed_since(self._seen)
            generation = hints.generation
            if generation == self._seen:
                return None, False
            if hints.paths is None or any(is_ignore_file(path) for _, path in hints.paths):
                report, looked = self._files.look()
            else:
                report, looked = self._files.sync_some(hints.paths), True
        if report is not None or not looked:
            # Only now: what somebody else was syncing meanwhile is still to be looked at.
            self._seen = generation
        return report, looked

    def _found(self, answered: Answered, notes: Sequence[str], *, auto_synced: bool) -> SearchResult:
        return SearchResult(
            answered.hits,
            "hybrid" if answered.hybrid else "lexical",
            auto_synced,
            partially_embedded=self._embedder is not None and self._index.lacks_vectors(),
            notes=tuple(notes),
        )
