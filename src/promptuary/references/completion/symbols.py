"""The symbols of a workspace, for completion. They are read in the background."""

import threading
from collections.abc import Sequence
from typing import NamedTuple

from promptuary.base import concurrency
from promptuary.base.errors import SourceError
from promptuary.base.languages import language_of
from promptuary.search.outline import definitions, has_grammar
from promptuary.workspace.workspace import Workspace


class _Symbol(NamedTuple):
    """A name and its place; ``minor``: it is a constant, a field or a declaration."""

    name: str
    place: str
    minor: bool


class Symbols:
    """Every definition with its place. The first search starts reading; later ones find what has been read so far."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._found: list[_Symbol] = []
        self._generation = -1
        self._starting = threading.Lock()
        self._done = threading.Event()

    def search(self, query: str, *, limit: int = 50, timeout: float = 0.0) -> Sequence[tuple[str, str]]:
        """Return the names that contain ``query``, each with its place; names that begin with it come first.

        ``timeout`` is how many seconds to wait until every file is read.
        """
        self._start()
        self._done.wait(timeout)
        wanted = query.lower()
        hits = [one for one in self._found if wanted in one.name.lower()]
        hits.sort(key=lambda one: (_rank(one.name, wanted), one.minor, len(one.name), one))
        return [(one.name, one.place) for one in hits[:limit]]

    @property
    def complete(self) -> bool:
        """Whether every file has been read."""
        return self._done.is_set()

    def _start(self) -> None:
        with self._starting:
            if self._generation == self._workspace.listing.generation:
                return
            self._generation = self._workspace.listing.generation
            self._done.clear()
        concurrency.start_daemon(self._read_all, name="promptuary-symbols")

    def _read_all(self) -> None:
        found: list[_Symbol] = []
        if not self._found:
            self._found = found
        self._workspace.listing.start().wait()
        self._generation = self._workspace.listing.generation
        for path in self._workspace.listing.paths:
            language = language_of(path)
            if language != "markdown" and has_grammar(language):
                found += self._read(path, language)
        self._found = found
        self._done.set()

    def _read(self, path: str, language: str) -> list[_Symbol]:
        try:
            text = self._workspace.read(path).text
        except SourceError:
            return []
        known = definitions(text, language, everything=True)
        return [_Symbol(one.name, f"{path}:{one.first}", one.role != "definition") for one in known]


def _rank(name: str, wanted: str) -> int:
    last = name.rsplit(".", 1)[-1].lower()
    if last == wanted or name.lower() == wanted:
        return 0
    return 1 if last.startswith(wanted) else 2 if name.lower().startswith(wanted) else 3
