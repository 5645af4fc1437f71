"""Keeps the index of a workspace's folders the same as what is on disk: looks, and syncs what is different.

What is on disk decides; hints only say where to look. Blocks, and is called by one thread at a time. When to look, and
what to do about an index that is damaged, is for others to say.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from promptuary.core.counting import TokenCounter
from promptuary.core.errors import Code, IndexDamagedError
from promptuary.core.search import Folder, IndexedFile
from promptuary.search.chunks.sizes import Sizes
from promptuary.search.folders import IndexedFolders
from promptuary.search.plan import plan, plan_some
from promptuary.search.sync import Progress, Sync, SyncReport
from promptuary.storage.index.index import EmbeddedIndex
from promptuary.storage.index.writer import Writer
from promptuary.workspace.changes.snapshot import Snapshot
from promptuary.workspace.workspace import Workspace

Looked = tuple[Folder, Mapping[str, IndexedFile], tuple[Workspace | None, Snapshot]]
"""A folder that was looked at: what was indexed of it then, and how it looked."""


class Reconciler:
    """Syncs the folders behind ``doors`` into ``index``."""

    def __init__(self, index: EmbeddedIndex, doors: IndexedFolders, sizes: Sizes, counter: TokenCounter) -> None:
        self._index = index
        self._doors = doors
        self._sizes = sizes
        self._counter = counter

    def look(self) -> tuple[SyncReport | None, bool]:
        """Look at everything; sync if anything is different. The second value tells whether it is."""
        indexed = {folder for folder, _ in self._index.folders()}
        wanted = self._doors.folders()
        if not self._index.is_current() or not self._index.is_whole() or indexed.difference(wanted):
            return self.sync(), True
        held: list[str] = []
        for folder in wanted:
            known = self._index.files(folder)
            _, seen = looked = self._doors.look(folder)
            todo = plan(seen.files, known, alive=seen.alive, reason=seen.reason)
            if todo.held:
                held.append(_kept(folder, todo.held))
            elif todo:
                return self.sync(looked=(folder, known, looked)), True
        return (SyncReport(held=held), False) if held else (None, False)

    def sync(
        self,
        *,
        rebuild: bool = False,
        prune: bool = False,
        progress: Progress | None = None,
        looked: Looked | None = None,
    ) -> SyncReport | None:
        """Bring every folder up to date; ``None`` if another process is at it.

        ``rebuild`` discards the old index; ``prune`` forgets what is gone even if a whole folder is; ``looked`` is a
        folder that need not be looked at again.
        """
        with self._index.writing(rebuild=rebuild) as writer:
            if writer is None:
                return None
            report = SyncReport()
            wanted = self._doors.folders()
            for folder, _ in writer.folders():
                if folder not in wanted:
                    writer.drop_folder(folder)
            for folder in wanted:
                report += self._folder(folder, writer, prune=prune, progress=progress, looked=looked)
            return report

    def sync_some(self, touched: frozenset[tuple[Path, str]]) -> SyncReport | None:
        """Bring only these paths up to date; ``None`` if another process is at it."""
        paths: dict[str, list[str]] = defaultdict(list)
        for root, path in touched:
            paths[str(root)].append(path)
        with self._index.writing() as writer:
            if writer is None:
                return None
            report = SyncReport()
            for folder in self._doors.folders():
                if writer.fresh:
                    report += self._folder(folder, writer)
                elif folder.path in paths:
                    report += self._paths(folder, writer, paths[folder.path])
            return report

    def _folder(
        self,
        folder: Folder,
        writer: Writer,
        *,
        prune: bool = False,
        progress: Progress | None = None,
        looked: Looked | None = None,
    ) -> SyncReport:
        known = writer.files(folder)
        # To look takes as long as to sync a tenth of the files: not twice, unless somebody synced in between.
        door, seen = looked[2] if looked and looked[:2] == (folder, known) else self._doors.look(folder)
        if writer.fresh and not known and not prune and (kept := self._carried_over(folder, seen, writer)):
            return kept
        todo = plan(seen.files, known, alive=seen.alive, reason=seen.reason)
        if door is None:
            if prune and known:
                writer.drop(folder, sorted(known))
                return SyncReport(removed=len(known))
            return SyncReport(held=[_kept(folder, todo.held)] if todo.held else [])
        work = Sync(folder, door, writer, self._sizes, self._counter)
        report = work.run(todo, seen.files, known, prune=prune, progress=progress)
        report.skipped |= dict.fromkeys((f"{folder.path}/{path}" for path in seen.large), Code.FILE_TOO_LARGE)
        return report

    def _carried_over(self, folder: Folder, seen: Snapshot, writer: Writer) -> SyncReport | None:
        """Take what is indexed of a folder that is away over into a new index; ``None`` if it is not away."""
        try:
            before = self._index.files(folder)
            held = plan(seen.files, before, alive=seen.alive, reason=seen.reason).held
            if not held:
                return None
            for file in before.values():
                writer.put(folder, *self._index.filed(folder, file))
        except IndexDamagedError:
            return None  # there is nothing to take over
        return SyncReport(held=[_kept(folder, held)])

    def _paths(self, folder: Folder, writer: Writer, paths: Sequence[str]) -> SyncReport:
        door, looked = self._doors.look_at(folder, paths)
        if door is None or not looked:
            return self._folder(folder, writer)
        known, others = writer.files_at(folder, paths)
        todo = plan_some(looked, known, others=others)
        return Sync(folder, door, writer, self._sizes, self._counter).run(todo, looked, known)


def _kept(folder: Folder, why: str) -> str:
    return f"{folder.path}: {why}; what is indexed of it was kept"
