"""The places where notes are stored, each opened on first use: reading creates nothing on disk.

By default they are folders; with ``notes = "database"`` rows beside their journal.
"""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from promptuary.base.clock import now_in_seconds
from promptuary.base.errors import NoteFileError, PromptuaryError
from promptuary.base.principals import NoteScope
from promptuary.database.binding import Bound
from promptuary.memory.notebook.external_edits import Tracked, is_page
from promptuary.memory.notebook.notebook import Notebook
from promptuary.memory.notebook.pages import MemoryPages
from promptuary.memory.persons import are_in_database, persons_database
from promptuary.memory.places import MEMORY, MemoryPlace
from promptuary.memory.store.files import NoteFiles
from promptuary.memory.store.journal import NoteJournal
from promptuary.memory.store.rows import NoteRows, check_in_files
from promptuary.memory.values import NoteView
from promptuary.workspace.data_folder.data_path import data_path
from promptuary.workspace.data_folder.notes_folders import person_notes, workspace_notes
from promptuary.workspace.data_folder.private_folder import unignore
from promptuary.workspace.disk.protected_folders import FOLDER
from promptuary.workspace.state_file import has_state

if TYPE_CHECKING:
    from promptuary.app import App

LEFT_IN_FILES: Final = (
    "notes in files are not used, since notes are in the database: `promptuary migrate --notes database` moves them"
)

OnChange = Callable[[NoteScope, Collection[str]], None]
"""Called with the ids of notes that were changed."""


class Roots:
    """The notebooks at ``place``, by scope: those of the project, and those of the person unless a group acts."""

    def __init__(self, app: "App", place: MemoryPlace, on_change: OnChange) -> None:
        self._app, self._place, self._on_change = app, place, on_change
        # A group does not see a person's own notes.
        self._scopes: Sequence[NoteScope] = ("project", "user") if place.principal.group is None else ("project",)
        self._notebooks: dict[NoteScope, Notebook] = {}
        self._persons: Bound | None = None
        self._unused = set[NoteScope]()
        """Where there were no notes: their databases are not asked again."""
        self._lock = threading.RLock()

    def existing(self) -> list[Notebook]:
        return [found for scope in self._scopes if (found := self.find(scope)) is not None]

    def find(self, scope: NoteScope) -> Notebook | None:
        """Return the notebook of a scope, if there is one."""
        return self._open(scope, create=False)

    def get_or_create(self, scope: NoteScope) -> Notebook:
        """Return the notebook of a scope, creating it if needed. Raises ``PromptuaryError``."""
        found = self._open(scope, create=True)
        if found is None:
            raise PromptuaryError(
                f"there are no notes of the scope {scope!r} here: in a group, notes belong to the project"
            )
        return found

    def views(self) -> "RootViews":
        """Return what the principal sees in each place."""
        return RootViews(self)

    def _open(self, scope: NoteScope, *, create: bool) -> Notebook | None:
        with self._lock:
            if scope not in self._notebooks and scope in self._scopes:
                found = self._check(scope, create=create)
                if found is not None:
                    self._notebooks[scope] = found
            return self._notebooks.get(scope)

    def _check(self, scope: NoteScope, *, create: bool) -> Notebook | None:
        try:
            return self._opened(scope, create=create)
        except OSError as error:
            raise NoteFileError(f"The notes cannot be read ({error.strerror}); check the disk.") from error

    def pages(self, notebook: Notebook) -> MemoryPages:
        """Return the lists of the notes of a notebook; git may see a shared one of the project."""
        owner, tracked, root = self._place.principal.owner, self._is_tracked(notebook.scope), self._app.path
        if notebook.scope == "user":
            return MemoryPages(notebook, owner, tracked=tracked)
        return MemoryPages(notebook, owner, tracked=tracked, on_shared=lambda: unignore(root))

    def close(self) -> None:
        """Close the database of the person's own notes, if it was opened."""
        if self._persons is not None:
            self._persons.close()

    def _opened(self, scope: NoteScope, *, create: bool) -> Notebook | None:
        """Open the notes of a scope; ``None`` if there are none yet and ``create`` is not set."""
        space, is_here = self._place.space, not are_in_database(self._app.settings)
        create = create or (is_here and self._has_folder(scope))
        if is_here and not create and scope in self._unused:
            return None
        database = self._database(scope, create=create)
        if database is None:
            return None
        if is_here and not create:
            check_in_files(database, space)
            self._unused.add(scope)
            return None
        if not is_here and self.are_left_in_files(scope):
            self._app.note(LEFT_IN_FILES)
        return Notebook(
            scope,
            self._files(scope) if is_here else NoteRows(database, space, self._place.principal.owner),
            NoteJournal(database, space),
            self._place.principal,
            tracked=self._is_tracked(scope),
            clock=now_in_seconds,
            on_change=self._on_change,
        )

    def _database(self, scope: NoteScope, *, create: bool) -> Bound | None:
        """Return the database with the journal of a scope; ``None`` if there is none, unless ``create`` is set."""
        if scope == "project":
            if not (create or self._app.settings.database or has_state(self._app.workspace)):
                return None
            state = self._app.state(create=create)
            return state.database if state.persistent else None
        if self._persons is None:
            # In PostgreSQL it is made at once: it costs two rows, and to look for it each time more than that.
            self._persons = persons_database(self._app, create=create or are_in_database(self._app.settings))
        return self._persons

    def _files(self, scope: NoteScope) -> NoteFiles:
        base = workspace_notes(self._app.path) if scope == "project" else person_notes(self._app.person_notes)
        return NoteFiles(base, self._place.space)

    def _has_folder(self, scope: NoteScope) -> bool:
        if scope == "project":
            return data_path(self._app.path).has(f"{MEMORY}/{self._place.space}")
        return (self._app.person_notes / self._place.space).exists()

    def are_left_in_files(self, scope: NoteScope) -> bool:
        """Return whether there are files of notes that are not used, since notes are in the database."""
        return self._has_folder(scope) and not all(map(is_page, self._files(scope).list()))

    def _is_tracked(self, scope: NoteScope) -> Tracked:
        if scope == "user" or not data_path(self._app.path).inside:
            return frozenset
        return lambda: self._app.workspace.tracked_by_git(f"{FOLDER}/{MEMORY}/{self._place.space}")


class RootViews(Mapping[NoteScope, NoteView]):
    """The views of the notebooks that exist at the time of each call."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    def __getitem__(self, scope: NoteScope) -> NoteView:
        found = self._roots.find(scope)
        if found is None:
            raise KeyError(scope)
        return found.view

    def __iter__(self) -> Iterator[NoteScope]:
        return (notebook.scope for notebook in self._roots.existing())

    def __len__(self) -> int:
        return len(self._roots.existing())
