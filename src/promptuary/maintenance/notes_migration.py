"""Moves notes from their folders into the database, or back: with their ids, owners and history.

The journal of the notes of a workspace is in its database already; that of the notes that follow a person is copied.
The files of one agent are moved in one transaction, and removed where they were after it: whoever is killed has them
in one of the two places or in both, and the same command goes on. What nobody adopted stays where it is.
"""

import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from promptuary.base.clock import now_in_seconds
from promptuary.base.errors import ConfigError, NoteFileError, PromptuaryError
from promptuary.base.principals import LOCAL, NoteScope, Principal
from promptuary.config.settings import Settings
from promptuary.database.binding import Bound
from promptuary.database.transfer import remove_all, target_state
from promptuary.maintenance.database_migration import copy_locked
from promptuary.memory.index_page import page_path, persons_text
from promptuary.memory.note_file import as_text, rev_of
from promptuary.memory.notebook.external_edits import is_page
from promptuary.memory.notebook.notebook import Notebook
from promptuary.memory.notebook.pages import MemoryPages
from promptuary.memory.persons import PERSONS, STATE, persons_state, users_in
from promptuary.memory.places import MEMORY
from promptuary.memory.store.files import NoteFiles
from promptuary.memory.store.journal import NoteJournal
from promptuary.memory.store.rows import AnyNoteFiles, NoteRows, spaces
from promptuary.memory.values import AUDIENCES
from promptuary.workspace.data_folder.data_path import data_path
from promptuary.workspace.data_folder.kept_files import KeptFile, files_below, remove
from promptuary.workspace.data_folder.notes_folders import person_notes, workspace_notes
from promptuary.workspace.disk.protected_folders import FOLDER
from promptuary.workspace.state_file import find_person, open_database
from promptuary.workspace.user_folders import notes_folder, served_notes_folder
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.database.tenant import TenantDatabase

FILES: Final = "files"
DATABASE: Final = "database"

_SPACE: Final = re.compile(r"(agents/.+)/(?:private|shared)/(?:[^/]+/)?[^/]+\.md", re.DOTALL)


class NotesMigration(Struct, frozen=True):
    """How many notes were moved to ``target``, or would be, and how many files stay in the folders."""

    target: str
    notes: int = 0
    left: int = 0
    done: bool = False


def move_notes(workspace: Workspace, settings: Settings, target: str, *, dry_run: bool) -> NotesMigration:
    """Move all notes of a workspace, and those that follow its people, into folders ("files") or the "database"."""
    if target not in (FILES, DATABASE):
        raise ConfigError(f'notes are moved into "{FILES}" or the "{DATABASE}", not {target!r}')
    if target == DATABASE and not settings.database:
        raise ConfigError("notes can be moved into PostgreSQL only; set database = postgresql://USER@HOST/NAME first")
    with ExitStack() as held:
        moves = list(_moves(workspace, settings, held))
        if dry_run:
            return NotesMigration(target, sum(move.count(target) for move in moves))
        counts = [move.run(target) for move in moves]
    return NotesMigration(target, sum(moved for moved, _ in counts), sum(left for _, left in counts), done=True)


def _moves(workspace: Workspace, settings: Settings, held: ExitStack) -> "Iterator[_Move]":
    """Yield the notes of the workspace, those of the person here, and those of each user of a server."""
    root = workspace.root.path
    state = open_database(workspace, settings.database, settings.tenant)
    if state is None:
        raise AssertionError("a database that is created is there")
    held.callback(state.close)
    yield _Move("project", workspace_notes(root), state, LOCAL, workspace if data_path(root).inside else None)
    for user in (None, *users_in(state)):
        folder, principal = (notes_folder(), LOCAL) if user is None else (served_notes_folder(user), Principal(user))
        if settings.database:
            own = held.enter_context(closing(find_person(root, settings.database, settings.tenant, user)))
            if own.found() or (folder / STATE).exists():
                yield _PersonsMove(folder, own, principal)
        elif (folder / STATE).exists():
            yield _Move("user", folder, held.enter_context(closing(persons_state(folder / STATE))), principal)


class _Move:
    """The notes in a folder, or the same in the database that has their journal."""

    def __init__(
        self,
        scope: NoteScope,
        base: Path,
        database: Bound,
        principal: Principal,
        workspace: Workspace | None = None,
    ) -> None:
        self.scope: NoteScope = scope
        self.base, self._database, self._principal, self._workspace = base, database, principal, workspace

    def count(self, target: str) -> int:
        """Return how many notes would be moved."""
        if target == FILES:
            return sum(
                len(_files_in(NoteRows(self._database, space, self._principal.owner))) for space in self._stored()
            )
        return sum(not is_page(path) for space in self._folders() for path in NoteFiles(self.base, space).list())

    def run(self, target: str) -> tuple[int, int]:
        """Move them; return how many notes were moved, and how many files stay where they are."""
        if target == FILES:
            return sum(map(self._into_files, self._stored())), 0
        moved = sum(map(self._into_database, self._folders()))
        return moved, sum(len(NoteFiles(self.base, space).list()) for space in self._folders())

    def _stored(self) -> Sequence[str]:
        return spaces(self._database)

    def _folders(self) -> Sequence[str]:
        found = (_SPACE.fullmatch(inner) for inner, _ in files_below(self.base))
        return sorted({one[1] for one in found if one is not None})

    def _notebook(self, space: str, files: AnyNoteFiles, principal: Principal) -> Notebook:
        return Notebook(
            self.scope,
            files,
            NoteJournal(self._database, space),
            principal,
            tracked=partial(self._tracked, space),
            clock=now_in_seconds,
            on_change=lambda *_: None,
        )

    def _tracked(self, space: str) -> Container[str] | None:
        return self._workspace.tracked_by_git(f"{FOLDER}/{MEMORY}/{space}") if self._workspace else frozenset()

    def _into_database(self, space: str) -> int:
        files, rows = NoteFiles(self.base, space), NoteRows(self._database, space, self._principal.owner)
        paths = [path for path in files.list() if not is_page(path)]
        here = _files_in(rows)
        # Edits by hand come first. Notes that are in the database have no files, and were not removed by hand.
        self._notebook(space, files, self._principal).sync(
            [path for path in paths if path not in here] if here else None
        )
        with files.lock():
            with rows.lock():
                taken = _take(files, rows, NoteJournal(self._database, space), paths)
            for path, content in taken.items():
                if files.read(path) == content:
                    files.remove(path)
        self._take_pages(space, files)
        return len(taken)

    def _take_pages(self, space: str, files: NoteFiles) -> None:
        """Move each MEMORY.md in which its owner wrote something beside the list; remove those that only list notes."""
        for owner in dict.fromkeys([self._principal.owner, *NoteJournal(self._database, space).owners()]):
            by_hand = self._notebook(space, files, owner.principal)
            pages = MemoryPages(by_hand, owner, tracked=partial(self._tracked, space)).read()
            rows, own = NoteRows(self._database, space, owner), {page.path for page in pages if not page.external}
            for path in (page_path(audience, owner) for audience in AUDIENCES):
                content = files.read(path)
                if content is None or (path not in own and persons_text(as_text(content))):
                    continue  # somebody else may have written it
                if path in own:
                    rows.create(path, content)
                files.remove(path)

    def _into_files(self, space: str) -> int:
        files, rows = NoteFiles(self.base, space), NoteRows(self._database, space, self._principal.owner)
        with files.lock(), rows.lock():
            stored = {path: rows.read(path) or b"" for path in rows.list()}
            for path, content in stored.items():
                if files.read(path) not in {None, content}:
                    raise NoteFileError(f"{self.base / space / path} is another file than the note; move it elsewhere.")
            for path, content in stored.items():
                files.create(path, content)
                rows.remove(path)
        return sum(not is_page(path) for path in stored)


class _PersonsMove(_Move):
    """The notes that follow a person: in the database, their journal is there, too, and otherwise beside the files."""

    def __init__(self, base: Path, database: "TenantDatabase", principal: Principal) -> None:
        super().__init__("user", base, database, principal)
        self._tenant = database

    def run(self, target: str) -> tuple[int, int]:
        if target == DATABASE:
            if (self.base / STATE).exists():
                self._copy_journal()
            return super().run(target)
        if not self._tenant.found() or target_state(self._tenant, self._tenant) == "new":
            return 0, 0  # nothing was ever stored there
        with closing(persons_state(person_notes(self.base) / STATE)) as file:
            if target_state(self._tenant, file) == "replaced":
                raise self._other_journal()
            found = super().run(target)
            if target_state(self._tenant, file) != "same":
                copy_locked(self._tenant, file, PERSONS, is_replaced=False, progress=lambda *_: None)
        remove_all(self._tenant)
        return found

    def _copy_journal(self) -> None:
        """Copy the journal to the database, and remove it where it was."""
        with closing(persons_state(self.base / STATE)) as file:
            if (state := target_state(file, self._tenant)) == "replaced":
                raise self._other_journal()
            if state != "same":
                copy_locked(file, self._tenant, self._tenant.expected, is_replaced=False, progress=lambda *_: None)
        self._tenant.make()
        remove([KeptFile("journal", str(self.base / f"{STATE}{suffix}"), 0) for suffix in ("-wal", "-shm", "")], ())

    def _other_journal(self) -> PromptuaryError:
        return PromptuaryError(
            f"the notes in {self.base} and those of the same person in the database have two histories, which cannot "
            "be merged; `promptuary memory export` with one setting of notes, then `memory import` with the other, "
            "takes them over without it"
        )


def _files_in(rows: NoteRows) -> Collection[str]:
    """Return the paths of all notes in the database, whosever they are."""
    with rows.lock():
        return [path for path in rows.list() if not is_page(path)]


def _take(files: NoteFiles, rows: NoteRows, journal: NoteJournal, paths: Sequence[str]) -> Mapping[str, bytes]:
    """Add the files that the journal knows to the database; return them. Those of nobody stay, and it drops them."""
    known = journal.files()
    unowned = {header.path for header in journal.unadopted() if header.audience == "private"}
    taken: dict[str, bytes] = {}
    for path in paths:
        with suppress(NoteFileError):
            content = files.read(path)
            if path not in known or path in unowned or content is None or rev_of(content) != known[path].rev:
                continue
            if rows.create(path, content) or rows.read(path) == content:
                taken[path] = content
    journal.observe((), sorted(unowned & known.keys()))
    rows.follow_journal()
    return taken
