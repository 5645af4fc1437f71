"""The file memory of a workspace: its folders, their index, and how the two are kept the same.

Puts the doors, the sync, the search and the storage together; the engine loads it when it is needed. Everything here
blocks, and may be called from several threads. Events of a watcher are hints about where to look; what
is on disk decides.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from promptuary.core.counting import TokenCounter
from promptuary.core.errors import PromptuaryError
from promptuary.core.indexing import Counts, Embedder, IndexDamagedError, VectorStore
from promptuary.core.recall import Folder, Found, Question
from promptuary.core.words import parse
from promptuary.doors import Doors
from promptuary.memory.chunk import VERSION, Sizes
from promptuary.memory.embedding import embed_missing
from promptuary.memory.plan import plan, plan_some
from promptuary.memory.search import Answered, search
from promptuary.memory.sync import Progress, Sync, Synced
from promptuary.storage.embedded.index import EmbeddedIndex
from promptuary.storage.embedded.index_writer import Writer
from promptuary.workspace.snapshot import decides
from promptuary.workspace.watch import Watcher

DAMAGED: Final = "the index was damaged and has been made again; nothing was lost"
BUSY: Final = "another process is indexing; this is what it had made findable so far"


@dataclass(frozen=True, slots=True)
class Indexed:
    """What is indexed: the folders with the number of their files, and how much there is in all."""

    folders: Sequence[tuple[Folder, int]]
    counts: Counts
    embedder: str


class FileMemory:
    """The indexed folders of one workspace. ``folder`` is where the index is kept."""

    def __init__(
        self,
        folder: Path,
        doors: Doors,
        counter: TokenCounter,
        sizes: Sizes,
        *,
        store: VectorStore | None = None,
        embedder: Embedder | None = None,
        lasting: bool = True,
    ) -> None:
        self.lasting = lasting
        """Whether there is a place for an index."""
        self._doors = doors
        self._counter = counter
        self._sizes = sizes
        self._store, self._embedder = store, embedder
        recipe = f"chunks {VERSION} of {sizes.tokens} tokens, {sizes.overlap} of them twice"
        self._index = EmbeddedIndex(folder, recipe, store=store, embedder=embedder)
        self._syncing = threading.Lock()
        self._watcher: Watcher | None = None
        self._seen = -1
        self._preparing: threading.Thread | None = None

    def index(
        self,
        paths: Sequence[Path],
        *,
        owner: str = "",
        anew: bool = False,
        prune: bool = False,
        progress: Progress | None = None,
    ) -> Synced:
        """Index folders from now on, and bring everything up to date; ``anew`` throws the old index away.

        ``prune`` forgets what is gone even if a whole folder is.
        """
        with self._syncing:
            before = self._doors.folders()
            for path in paths:
                self._doors.add(path, owner)
            if self._watcher is not None and self._doors.folders() != before:
                self._watcher.close()
                self._watcher = None
            if not self._doors.folders():
                raise PromptuaryError("no folder is indexed; name one, such as . for this folder")
            try:
                report = self._sync(anew=anew, prune=prune, progress=progress)
            except IndexDamagedError:
                report = self._sync(anew=True, prune=prune, progress=progress)
        if report is None:
            raise PromptuaryError("another process is indexing this workspace; try again when it is done")
        return report

    def remove(self, path: str) -> bool:
        """Index a folder no more; tell whether it was indexed."""
        with self._syncing:
            known = self._doors.remove(path)
            # If another process is at it, the next look finds what is left to do.
            self._seen = -1
            with suppress(IndexDamagedError):
                self._sync()
        return known

    def search(self, question: Question) -> Found:
        """Answer a question from files as they are now."""
        if not self._doors.folders():
            raise PromptuaryError("nothing is indexed yet; run `promptuary index` in a folder of notes or code")
        if self._embedder is not None and self._preparing is None and parse(question.text) and not question.by_words:
            # Loading a model takes longer than everything else: it begins first.
            self._preparing = threading.Thread(target=self._prepare, name="promptuary-prepare", daemon=True)
            self._preparing.start()
        report, notes = self.refresh()
        synced = report.anything
        embedder = None if question.by_words or not self._index.has_vectors() else self._embedder
        try:
            answered = search(question, self._index, embedder)
        except IndexDamagedError:
            notes = [*notes, DAMAGED]
            with self._syncing:
                if self._sync(anew=True) is None:
                    raise PromptuaryError("the index is being made again by another process; try again soon") from None
            answered, synced = search(question, self._index, None), True
        except PromptuaryError as error:
            if embedder is None:
                raise
            notes = [*notes, f"searched by words alone: {error}"]
            answered = search(question, self._index, None)
        return self._found(answered, notes, auto_synced=synced)

    def _prepare(self) -> None:
        # Whatever is wrong will be told when a text is to be embedded; and a plug-in may have nothing to prepare.
        with suppress(Exception):
            if self._embedder is not None and self._index.has_vectors():
                self._embedder.prepare()

    def refresh(self, *, everything: bool = False) -> tuple[Synced, list[str]]:
        """Bring the index up to date if files have changed; tell what it did, and what a person should know.

        ``everything`` looks at every file, whatever the watcher says.
        """
        with self._syncing:
            if everything:
                self._seen = -1
            told: list[str] = []
            try:
                report, looked = self._refreshed()
            except IndexDamagedError:
                report, looked, told = self._sync(anew=True), True, [DAMAGED]
        if report is None:
            return Synced(), [BUSY] if looked else []
        return report, [*told, *report.held]

    def embed(self, go_on: Callable[[int], bool] = lambda _: True) -> int:
        """Give every chunk its vector; ``go_on`` is told how many are done and may stop it. Returns how many."""
        if self._store is None or self._embedder is None:
            return 0
        return embed_missing(self._index, self._store, self._embedder, go_on=go_on)

    def watch(self, *, debounce: float) -> Watcher:
        """Have changes noted as they happen, so that a search need not look for them."""
        with self._syncing:
            if self._watcher is None:
                folders = [Path(folder.path) for folder in self._doors.folders()]
                self._watcher, self._seen = Watcher(folders, debounce=debounce), -1
                self._watcher.start()
            return self._watcher

    def status(self) -> Indexed:
        """Return what is indexed."""
        known = dict(self._index.folders())
        listed = [(folder, known.get(folder, 0)) for folder in self._doors.folders()]
        return Indexed(listed, self._index.counts(), self._embedder.id if self._embedder else "")

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

    def _refreshed(self) -> tuple[Synced | None, bool]:
        """Sync what may have changed; the report is ``None`` if nothing had to be done, or somebody else does it."""
        watcher = self._watcher
        if watcher is None or self._seen < 0:
            generation = watcher.generation if watcher else -1
            report, looked = self._looked()
        else:
            hints = watcher.changed_since(self._seen)
            generation = hints.generation
            if generation == self._seen:
                return None, False
            if hints.paths is None or any(decides(path) for _, path in hints.paths):
                report, looked = self._looked()
            else:
                report, looked = self._sync_some(hints.paths), True
        if report is not None or not looked:
            # Only now: what somebody else was syncing meanwhile is still to be looked at.
            self._seen = generation
        return report, looked

    def _looked(self) -> tuple[Synced | None, bool]:
        """Look at everything; sync if anything is different. The second value tells whether it is."""
        known = {folder for folder, _ in self._index.folders()}
        wanted = self._doors.folders()
        if not self._index.is_current() or not self._index.is_whole() or known.difference(wanted):
            return self._sync(), True
        held: list[str] = []
        for folder in wanted:
            _, seen = self._doors.look(folder)
            todo = plan(seen.files, self._index.files(folder), alive=seen.alive, reason=seen.reason)
            if todo.held:
                held.append(f"{folder.path}: {todo.held}; what is indexed of it was kept")
            elif todo:
                return self._sync(), True
        return (Synced(held=held), False) if held else (None, False)

    def _sync(self, *, anew: bool = False, prune: bool = False, progress: Progress | None = None) -> Synced | None:
        """Bring every folder up to date; ``None`` if another process is at it."""
        with self._index.writing(anew=anew) as writer:
            if writer is None:
                return None
            report = Synced()
            wanted = self._doors.folders()
            for folder, _ in writer.folders():
                if folder not in wanted:
                    writer.drop_folder(folder)
            for folder in wanted:
                report += self._sync_folder(folder, writer, prune=prune, progress=progress)
            return report

    def _sync_folder(self, folder: Folder, writer: Writer, *, prune: bool, progress: Progress | None) -> Synced:
        door, seen = self._doors.look(folder)
        known = writer.files(folder)
        todo = plan(seen.files, known, alive=seen.alive, reason=seen.reason)
        if door is None:
            if prune and known:
                writer.drop(folder, sorted(known))
                return Synced(removed=len(known))
            return Synced(held=[f"{folder.path}: {todo.held}; what is indexed of it was kept"] if todo.held else [])
        work = Sync(folder, door, writer, self._sizes, self._counter)
        return work.run(todo, seen.files, known, prune=prune, progress=progress)

    def _sync_some(self, touched: frozenset[tuple[Path, str]]) -> Synced | None:
        """Bring only these paths up to date."""
        paths: dict[str, list[str]] = defaultdict(list)
        for root, path in touched:
            paths[str(root)].append(path)
        with self._index.writing() as writer:
            if writer is None:
                return None
            if writer.fresh:
                return self._everything(writer)
            report = Synced()
            for folder in self._doors.folders():
                report += self._sync_paths(folder, writer, paths.get(folder.path, []))
            return report

    def _everything(self, writer: Writer) -> Synced:
        report = Synced()
        for folder in self._doors.folders():
            report += self._sync_folder(folder, writer, prune=False, progress=None)
        return report

    def _sync_paths(self, folder: Folder, writer: Writer, paths: Sequence[str]) -> Synced:
        if not paths:
            return Synced()
        door, looked = self._doors.look_at(folder, paths)
        if door is None or not looked:
            return self._sync_folder(folder, writer, prune=False, progress=None)
        known, others = writer.files_at(folder, paths)
        todo = plan_some(looked, known, others=others)
        return Sync(folder, door, writer, self._sizes, self._counter).run(todo, looked, known)

    def _found(self, answered: Answered, notes: Sequence[str], *, auto_synced: bool) -> Found:
        return Found(
            answered.hits,
            "hybrid" if answered.hybrid else "lexical",
            auto_synced,
            partly=self._embedder is not None and self._index.lacks_vectors(),
            notes=tuple(notes),
        )
