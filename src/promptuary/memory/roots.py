"""The places where notes are stored, each opened on first use: reading creates nothing on disk."""

import threading
from collections.abc import Callable, Iterator, Mapping

from promptuary.core.errors import NoteFileError, PromptuaryError
from promptuary.core.notes import NoteScope, NoteView
from promptuary.memory.notebook.notebook import Notebook

OpenRoot = Callable[[bool], Notebook | None]
"""Opens the notes of one place; ``None`` if there are none yet and ``create`` is not set."""


class Roots:
    """The notebooks of one principal, by scope."""

    def __init__(self, openers: Mapping[NoteScope, OpenRoot], close: Callable[[], None]) -> None:
        self._openers = openers
        self.close = close
        """Closes what the openers opened."""
        self._opened: dict[NoteScope, Notebook] = {}
        self._lock = threading.RLock()

    def existing(self) -> list[Notebook]:
        return [found for scope in self._openers if (found := self.find(scope)) is not None]

    def find(self, scope: NoteScope) -> Notebook | None:
        """Return the notebook of a scope, if there is one."""
        return self._open(scope, create=False)

    def made(self, scope: NoteScope) -> Notebook:
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
            if scope not in self._opened and scope in self._openers:
                found = self._opened_by(self._openers[scope], create=create)
                if found is not None:
                    self._opened[scope] = found
            return self._opened.get(scope)

    @staticmethod
    def _opened_by(opener: OpenRoot, *, create: bool) -> Notebook | None:
        try:
            return opener(create)
        except OSError as error:
            raise NoteFileError(f"The notes cannot be read ({error.strerror}); check the disk.") from error


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
