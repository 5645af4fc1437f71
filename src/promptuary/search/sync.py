"""Brings the index of one folder up to date: carries out a plan, a file at a time.

Each file is written as a whole or not at all, so a sync that is cut off anywhere goes on where it was. What cannot be
read is noted with its code and never stops the others. Knows neither how the index is kept nor who asked.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from promptuary.core.counting import TokenCounter
from promptuary.core.errors import Code, SourceError
from promptuary.core.ports.index import IndexWriter
from promptuary.core.search import Folder, IndexedFile, Stamp
from promptuary.search.chunks.file_kinds import date_of, kind_of
from promptuary.search.chunks.sizes import Sizes
from promptuary.search.plan import UNREAD, Moves, Plan, settled
from promptuary.workspace.disk.read import TextFile
from promptuary.workspace.workspace import Workspace

Progress = Callable[[int, int], None]
"""Told how many files are done, of how many."""

FLUSH_EVERY: Final = 3.0
"""Seconds after which what was indexed becomes visible, while more is."""

_TRANSIENT: Final = frozenset({Code.READ_FAILED, Code.PERMISSION_DENIED, Code.NOT_FOUND, Code.TIMEOUT})
"""Codes that say nothing about what a file holds: what is indexed of it stays, and it is tried again."""

_NAMED: Final = 5
"""How many files that were skipped are named to a person; a folder may be full of them."""


@dataclass(slots=True)
class SyncReport:
    """What a sync did, counted in files; ``held`` says why what is gone was not deleted.

    ``skipped`` are the files that could not be read, by their whole paths, and why. One that is no text is not opened
    again before it changes, and so not told again; one that is too large is told by every sync of its folder.
    """

    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    same: int = 0
    skipped: dict[str, Code] = field(default_factory=dict)
    held: list[str] = field(default_factory=list)

    @property
    def anything(self) -> bool:
        """Whether what can be found is different now."""
        return bool(self.added or self.changed or self.moved or self.removed)

    def notes(self, *, lasting: bool = False) -> list[str]:
        """Return some sentences about files that were skipped; ``lasting``: only those that are told once."""
        again = {*_TRANSIENT, Code.FILE_TOO_LARGE} if lasting else ()
        told = [f"{path} was skipped: {code}" for path, code in self.skipped.items() if code not in again]
        more = f"{len(told) - _NAMED:,} more were skipped; promptuary index --rebuild --json names all"
        return told if len(told) <= _NAMED else [*told[:_NAMED], more]

    def __iadd__(self, other: "SyncReport") -> Self:
        for name in ("added", "changed", "moved", "removed", "same"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.skipped |= other.skipped
        self.held += other.held
        return self


@dataclass(slots=True)
class Sync:
    """The sync of one folder: its door, the index, and how files are cut."""

    folder: Folder
    workspace: Workspace
    index: IndexWriter
    sizes: Sizes
    counter: TokenCounter
    report: SyncReport = field(default_factory=SyncReport)
    _flushed: float = field(default_factory=time.monotonic)

    def run(
        self,
        todo: Plan,
        disk: Mapping[str, Stamp | None],
        known: Mapping[str, IndexedFile],
        *,
        prune: bool = False,
        progress: Progress | None = None,
    ) -> SyncReport:
        """Carry out ``todo``; ``prune`` deletes what is gone even if it is held."""
        gone = set(self._really_gone(todo.gone))
        moves = Moves.among(sorted(gone) if not todo.held or prune else (), known)
        for done, path in enumerate(todo.read):
            stamp = disk.get(path)
            if stamp is not None and (left := self._file(path, stamp, known.get(path), moves)):
                gone.discard(left)
            if progress is not None:
                progress(done + 1, len(todo.read))
            if time.monotonic() - self._flushed > FLUSH_EVERY:
                self._flush()
        if todo.held and not prune:
            self.report.held.append(f"{self.folder.path}: {todo.held}; what is indexed of it was kept")
        elif gone:
            self.index.drop(self.folder, sorted(gone))
            self.report.removed += len(gone)
        self._flush()
        return self.report

    def _file(self, path: str, stamp: Stamp, known: IndexedFile | None, moves: Moves) -> str | None:
        """Index a file; return the path that it was moved from, if it was."""
        read_at = time.time_ns()
        try:
            read = self.workspace.read(path)
        except SourceError as error:
            self._refused(path, settled(stamp, read_at), known, error.code)
            return None
        file = IndexedFile(
            path, settled(stamp, read_at), read.sha256, kind_of(path), date_of(path, read.text, stamp.modified)
        )
        if known is not None and known.sha256 == read.sha256:
            self.index.touch(self.folder, file)
            self.report.same += 1
            return None
        old = moves.take(read.sha256, path.rpartition("/")[2]) if known is None else None
        if old is not None and kind_of(old) == file.kind:
            self.index.move(self.folder, old, file)
            self.report.moved += 1
            return old
        self._put(file, read, new=known is None or known.sha256 == UNREAD)
        return None

    def _put(self, file: IndexedFile, read: TextFile, *, new: bool) -> None:
        from promptuary.search.chunks.chunker import chunks  # noqa: PLC0415  (most searches find nothing to cut)

        self.index.put(self.folder, file, read.text, chunks(read.text, file.path, self.sizes, self.counter))
        if new:
            self.report.added += 1
        else:
            self.report.changed += 1

    def _refused(self, path: str, stamp: Stamp, known: IndexedFile | None, code: Code) -> None:
        self.report.skipped[f"{self.folder.path}/{path}"] = code
        if code in _TRANSIENT:
            return
        # Noted with nothing in it, so that it is not opened again before it changes.
        self.index.put(self.folder, IndexedFile(path, stamp, UNREAD, kind_of(path), stamp.modified // 10**9), "", ())
        if known is not None and known.sha256 != UNREAD:
            self.report.removed += 1

    def _really_gone(self, paths: Sequence[str]) -> list[str]:
        """Return those whose folder can be looked into: one that cannot says nothing about its files."""
        closed: dict[str, bool] = {}
        for parent in {path.rpartition("/")[0] for path in paths}:
            closed[parent] = self._is_closed(parent)
        shut = sorted(parent for parent, is_closed in closed.items() if is_closed)
        if shut:
            self.report.held.append(f"{self.folder.path}: {shut[0] or 'the folder'} cannot be listed; kept as it was")
        return [path for path in paths if not closed[path.rpartition("/")[0]]]

    def _is_closed(self, folder: str) -> bool:
        while True:
            try:
                self.workspace.folder(folder)
            except SourceError as error:
                if error.code is Code.PERMISSION_DENIED:
                    return True
                if not folder:
                    return False
                folder = folder.rpartition("/")[0]
                continue
            return False

    def _flush(self) -> None:
        self.index.flush()
        self._flushed = time.monotonic()
