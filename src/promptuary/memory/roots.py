"""The places where notes are stored, each opened on first use: reading creates nothing on disk."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptuary.base.clock import now_in_seconds
from promptuary.base.errors import NoteFileError, PromptuaryError
from promptuary.base.principals import NoteScope
from promptuary.database.binding import BoundDatabase
from promptuary.memory.notebook.external_edits import Tracked
from promptuary.memory.notebook.notebook import Notebook
from promptuary.memory.notebook.pages import MemoryPages
from promptuary.memory.places import MEMORY, MemoryPlace
from promptuary.memory.store.files import NoteFiles
from promptuary.memory.store.journal import NoteJournal
from promptuary.memory.values import NoteView
from promptuary.workspace.data_folder.data_path import data_path
from promptuary.workspace.data_folder.notes_folders import notes_below, person_notes, workspace_notes
from promptuary.workspace.data_folder.private_folder import unignore
from promptuary.workspace.disk.protected_folders import FOLDER

if TYPE_CHECKING:
    from promptuary.app import App

_STATE: Final = "state.db"
_PERSONS: Final = "person"
"""The owner of the database of a person's own notes, which is in the folder of these."""

OnChange = Callable[[NoteScope, Collection[str]], None]
"""Called with the ids of notes that were changed."""


class Roots:
    """The notebooks at ``place``, by scope: those of the project, and those of the person unless a group acts."""

    def __init__(self, app: "App", place: MemoryPlace, on_change: OnChange) -> None:
        self._app, self._place, self._on_change = app, place, on_change
        # A group does not see a person's own notes.
        self._scopes: Sequence[NoteScope] = ("project", "user") if place.principal.group is None else ("project",)
        self._notebooks: dict[NoteScope, Notebook] = {}
        self._persons: BoundDatabase | None = None
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
        space, root = self._place.space, self._app.path
        if scope == "project":
            if not create and not data_path(root).has(f"{MEMORY}/{space}"):
                return None
            base, database = workspace_notes(root), self._app.state().database
        else:
            if not create and not (self._app.person_notes / space).exists():
                return None
            base = person_notes(self._app.person_notes)
            database = self._persons = _persons_state(base / _STATE)
        return Notebook(
            scope,
            NoteFiles(base, space),
            NoteJournal(database, space),
            self._place.principal,
            tracked=self._is_tracked(scope),
            clock=now_in_seconds,
            on_change=self._on_change,
        )

    def _is_tracked(self, scope: NoteScope) -> Tracked:
        if scope == "user" or not data_path(self._app.path).inside:
            return frozenset
        return lambda: self._app.workspace.tracked_by_git(f"{FOLDER}/{MEMORY}/{self._place.space}")


def _persons_state(path: Path) -> BoundDatabase:
    """Return the database of the person's own notes. Notes that are there before it may be anybody's."""
    database = BoundDatabase(path)
    if database.binding is None:
        database.bind(_PERSONS, notes_below(path.parent) if database.is_unused else ())
    return database


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
