"""Brings the index up to date with the indexed folders: scans them, and syncs what differs.

The disk decides; watcher events only say where to look. Blocks, and is called by one thread at a time. The caller
decides when to scan, and what to do about a damaged index.
"""

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from promptuary.base.budget import TokenCounter
from promptuary.base.errors import Code, IndexDamagedError, SourceError
from promptuary.base.files import Folder, Stamp
from promptuary.search.chunks.lines import Sizes
from promptuary.search.folders import FolderScan, IndexedFolders
from promptuary.search.index.port import IndexWriter, SearchIndex
from promptuary.search.plan import Plan, clone_minute, minute_of, plan, plan_some
from promptuary.search.sync import FolderSync
from promptuary.search.values import FolderHeld, HeldReason, IndexBusy, IndexedFile, SyncProgress, SyncReport
from promptuary.workspace.workspace import Workspace


class ScannedFolder(NamedTuple):
    """A scanned folder, and its indexed files at that time."""

    folder: Folder
    known: Mapping[str, IndexedFile]
    scan: FolderScan


class Reconciler:
    """Syncs ``folders`` into ``index``. Every method returns ``IndexBusy`` if another process is writing the index."""

    def __init__(self, index: SearchIndex, folders: IndexedFolders, sizes: Sizes, counter: TokenCounter) -> None:
        self._index = index
        self._folders = folders
        self._sizes = sizes
        self._counter = counter

    def check(self) -> SyncReport | IndexBusy:
        """Scan every folder, and sync if anything is different."""
        indexed = {folder for folder, _ in self._index.folders()}
        wanted = self._folders.all()
        if not self._index.is_current() or not self._index.is_complete() or indexed.difference(wanted):
            return self.sync()
        held: list[FolderHeld] = []
        for folder in wanted:
            known = self._index.files(folder)
            scan = self._folders.scan(folder)
            todo = plan(scan.snapshot.files, known, unavailable=scan.unavailable, others=scan.has_others)
            if todo.held:
                held.append(_held(folder, todo.held, scan))
            elif todo:
                return self.sync(scanned=ScannedFolder(folder, known, scan))
        return SyncReport(held=tuple(held))

    def sync(
        self,
        *,
        rebuild: bool = False,
        prune: bool = False,
        progress: SyncProgress | None = None,
        scanned: ScannedFolder | None = None,
    ) -> SyncReport | IndexBusy:
        """Bring every folder up to date.

        ``rebuild`` discards the old index; ``prune`` deletes files from the index even if their folder is missing or
        empty; ``scanned`` is a folder that need not be scanned again.
        """
        with self._index.writing(rebuild=rebuild) as writer:
            if writer is None:
                return IndexBusy()
            report = SyncReport()
            wanted = self._folders.all()
            for folder, _ in writer.folders():
                if folder not in wanted:
                    writer.drop_folder(folder)
            for folder in wanted:
                report += self._folder(folder, writer, prune=prune, progress=progress, scanned=scanned)
            return report

    def sync_paths(self, changed: frozenset[tuple[Path, str]]) -> SyncReport | IndexBusy:
        """Bring only these paths up to date: pairs of an indexed folder and a path in it."""
        paths: dict[str, list[str]] = defaultdict(list)
        for root, path in changed:
            paths[str(root)].append(path)
        with self._index.writing() as writer:
            if writer is None:
                return IndexBusy()
            report = SyncReport()
            for folder in self._folders.all():
                if writer.fresh:
                    report += self._folder(folder, writer)
                elif folder.path in paths:
                    report += self._paths(folder, writer, paths[folder.path])
            return report

    def _folder(
        self,
        folder: Folder,
        writer: IndexWriter,
        *,
        prune: bool = False,
        progress: SyncProgress | None = None,
        scanned: ScannedFolder | None = None,
    ) -> SyncReport:
        known = writer.files(folder)
        # A scan takes as long as syncing a tenth of the files: not twice, unless somebody synced in between.
        if scanned is not None and (scanned.folder, scanned.known) == (folder, known):
            scan = scanned.scan
        else:
            scan = self._folders.scan(folder)
        if writer.fresh and not known and not prune and (carried := self._carried_over(folder, scan, writer)):
            return carried
        files = scan.snapshot.files
        todo = plan(files, known, unavailable=scan.unavailable, others=scan.has_others)
        if scan.workspace is None:
            if prune and known and scan.unavailable == "missing":  # what cannot be looked at is not gone
                writer.drop(folder, sorted(known))
                return SyncReport(removed=len(known))
            return SyncReport(held=(_held(folder, todo.held, scan),) if todo.held else ())
        dates = _commit_dates(scan.workspace, files, todo)
        report = self._sync_of(folder, scan.workspace, writer, dates).run(
            todo, files, known, prune=prune, unsure=scan.snapshot.unreadable > 0, progress=progress
        )
        large = dict.fromkeys((f"{folder.path}/{path}" for path in scan.snapshot.large), Code.FILE_TOO_LARGE)
        large |= dict.fromkeys((f"{folder.path}/{path}" for path in scan.snapshot.misnamed), Code.BAD_NAME)
        cut = tuple(f"{folder.path}/{path}" for path in scan.snapshot.cut_rules)
        left_out = report.left_out + scan.left_out
        return replace(report, skipped={**report.skipped, **large}, cut_rules=cut, left_out=left_out)

    def _carried_over(self, folder: Folder, scan: FolderScan, writer: IndexWriter) -> SyncReport | None:
        """Copy the entries of an unavailable folder into a new index; ``None`` if the folder is available."""
        try:
            before = self._index.files(folder)
            todo = plan(scan.snapshot.files, before, unavailable=scan.unavailable, others=scan.has_others)
            if not todo.held:
                return None
            for file in before.values():
                writer.put(folder, file, *self._index.content(folder, file.path))
        except IndexDamagedError:
            return None  # there is nothing to copy
        return SyncReport(held=(_held(folder, todo.held, scan),))

    def _paths(self, folder: Folder, writer: IndexWriter, paths: Sequence[str]) -> SyncReport:
        workspace, looked = self._folders.scan_paths(folder, paths)
        if workspace is None or not looked:
            return self._folder(folder, writer)
        known, others = writer.files_at(folder, paths)
        todo = plan_some(looked, known, others=others)
        return self._sync_of(folder, workspace, writer).run(todo, looked, known)

    def _sync_of(
        self, folder: Folder, workspace: Workspace, writer: IndexWriter, dates: Mapping[str, int] | None = None
    ) -> FolderSync:
        hidden = self._folders.hidden
        return FolderSync(folder, workspace, writer, self._sizes, self._counter, hidden=hidden, dates=dates)


def _commit_dates(workspace: Workspace, files: Mapping[str, Stamp], todo: Plan) -> Mapping[str, int]:
    """Return when commits last changed the files to read whose times come from a clone, in seconds since 1970."""
    minute = clone_minute(files)
    copied = [path for path in todo.read if minute_of(files[path]) == minute]
    if not copied:
        return {}
    try:
        with workspace.repository() as repository:
            changes = repository.last_changes()
            tracked = set(b"".join(repository.tracked()).split(b"\0"))
    except SourceError:
        return {}  # no repository, or one without its history
    # Files that none of these commits changed are older than all of them.
    oldest = min(changes.values(), default=0)
    return {path: changes.get(path, oldest) for path in copied if changes and os.fsencode(path) in tracked}


def _held(folder: Folder, reason: HeldReason, scan: FolderScan) -> FolderHeld:
    return FolderHeld(folder.path, reason, detail=scan.snapshot.reason if reason == "unreadable" else "")
