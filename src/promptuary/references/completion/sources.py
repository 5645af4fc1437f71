"""Completion in a workspace: the functions of ``CompletionSources`` over its files, its symbols and git."""

import posixpath
import time
from collections.abc import Callable, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Final, Generic, TypeVar

from promptuary.base.concurrency import Task, begin, foreground
from promptuary.base.errors import SourceError
from promptuary.base.references import Completion, MenuItem
from promptuary.references.completion.complete import LIMIT, complete
from promptuary.references.completion.menu import (
    HELP,
    CompletionSources,
    NoteLine,
    ResourceLine,
    Size,
    extensions_of,
    size_hint,
)
from promptuary.references.completion.symbols import Symbols
from promptuary.references.selection import count_lines
from promptuary.tokens.counting import Counter
from promptuary.workspace.documents.names import needs_program
from promptuary.workspace.git.repository import Repository
from promptuary.workspace.matching.ranker import MatchKind, PathMatch, Preferences, Ranker
from promptuary.workspace.workspace import Workspace

_OF_A_SERVER: Final = "what your MCP server of this name has"
_CACHE_SECONDS: Final = 3.0
_REST: Final = 10
"""The least time for which a value is cached, as a multiple of the time that it took to compute."""
_COMMITS: Final = 50
_ANCESTORS: Final = 9
_CHANGED: Final = 1_000
"""The most changed files that are preferred: if more have changed, as in a new repository, that says little."""
_MEASURED_BYTES: Final = 1024 * 1024
_KEYSTROKE: Final = 0.010
"""Seconds that a keystroke may wait for what only improves a menu."""

Value = TypeVar("Value")


class Completer:
    """Completes references in one workspace. Keep it between keystrokes: it caches listing, ranking and symbols.

    With ``ignored``, files hidden by ignore files are offered, too. ``notes`` returns the notes of the current user,
    ``servers`` the resources of each MCP server of the person.
    """

    def __init__(
        self,
        workspace: Workspace,
        counter: Counter,
        *,
        ignored: bool = False,
        notes: Callable[[], Sequence[NoteLine]] = tuple,
        servers: Mapping[str, Callable[[], Sequence[ResourceLine]]] | None = None,
    ) -> None:
        self._workspace = workspace
        self._listing = workspace.everything() if ignored else workspace.listing
        self._counter = counter
        self._ranker = Ranker(self._listing)
        self._symbols = Symbols(workspace)
        # Git does not know our own ignore files.
        shown = (lambda paths: paths) if ignored else workspace.without_ignored
        self._changed = _Cached(lambda: frozenset(shown(self._some_changed())))
        self._notes = _Cached(notes)
        self._resources = {name: _Cached(listed) for name, listed in (servers or {}).items()}
        self._kinds = {**HELP, **dict.fromkeys(self._resources, _OF_A_SERVER)}
        self._commits = _Cached(lambda: self._ask(lambda git: git.recent(_COMMITS)) or [])
        self._ancestors = _Cached(lambda: self._ask(lambda git: git.ancestors(_ANCESTORS)) or 0)
        self._branches = _Cached(lambda: self._ask(lambda git: [*git.branches(), *git.tags()]) or [])

    def complete(self, text: str, *, limit: int = LIMIT, timeout: float = 0.0, hints: bool = True) -> Completion:
        """Return the menu for the end of ``text``, from the files that are listed so far.

        ``timeout`` is how many seconds it may wait for the first listing. Without ``hints``, no file is read to measure
        it.
        """
        listing = self._listing.start()
        if listing.stale():
            listing.refresh()
        sources = self._sources(timeout, hints=hints)
        if timeout:  # a command: it waits for background work
            if not listing.complete:
                listing.wait(timeout)
            self._ranker.wait_until_sorted(timeout)
            return complete(text, sources, limit=limit)
        with foreground:
            return complete(text, sources, limit=limit)

    def hint(self, item: MenuItem) -> str:
        """Return the hint of a row, measured now if the menu skipped it; empty if there is none."""
        if item.hint or not item.path or not self._allowed(item.path):
            return item.hint
        return size_hint(self._measure(item.path))

    def _sources(self, timeout: float, *, hints: bool) -> CompletionSources:
        patience = max(timeout, _KEYSTROKE)
        partial = False

        def changed() -> frozenset[str]:
            nonlocal partial
            known = self._changed.soon(patience)
            partial |= known is None  # git, which may take seconds, is still running
            return known or frozenset()

        def rank(query: str, limit: int, kinds: Sequence[MatchKind]) -> Sequence[PathMatch]:
            nonlocal partial
            preferred = Preferences(changed(), self._workspace.usage.scores())
            found = self._ranker.rank(query, limit=limit, kinds=kinds, preferred=preferred)
            partial |= self._ranker.is_partial
            return found

        def paths() -> Sequence[str]:
            nonlocal partial
            partial |= not self._listing.complete
            return self._listing.paths

        def symbols(query: str) -> Sequence[tuple[str, str]]:
            nonlocal partial
            found = self._symbols.search(query, timeout=timeout)
            partial |= not self._symbols.complete
            return found

        def resources(server: str) -> Sequence[ResourceLine]:
            nonlocal partial
            found = self._resources[server].soon(patience) if server in self._resources else ()
            partial |= found is None  # it is being asked, or started
            return found or ()

        return CompletionSources(
            resources=resources,
            kinds=self._kinds,
            rank=rank,
            query=self._query,
            spelled=self._spelled,
            recent=lambda limit: self._recent(changed(), limit),
            extensions=lambda folder: extensions_of(paths(), folder),
            commits=self._commits.get,
            branches=self._branches.get,
            ancestors=self._ancestors.get,
            symbols=symbols,
            notes=self._notes.get,
            allowed=self._allowed,
            measure=self._measure,
            # A caller that waits for the listing, such as a command, can wait for sizes, too.
            measuring=patience if hints else 0.0,
            scanning=lambda: partial,
        )

    def _some_changed(self) -> Sequence[str]:
        return nsmallest(_CHANGED, foreground.yielding(self._ask(Repository.changed) or ()))

    def _query(self, typed: str) -> str:
        if not typed.startswith(("./", "../", "/")):
            return typed
        try:
            path = self._workspace.standpoint.readings(typed, absolute=True)[0]
        except SourceError:
            return typed
        return f"{path}/" if path and typed.endswith("/") else path

    def _spelled(self, path: str) -> str:
        inside = self._workspace.standpoint.inside
        plain = path.rstrip("/")
        if not inside or self._workspace.interpret(plain).path == plain:
            return path
        return posixpath.relpath(plain, inside) + path[len(plain) :]

    def _recent(self, changed: frozenset[str], limit: int) -> Sequence[str]:
        """Return changed files, then those used most and most recently, at most ``limit`` that exist."""
        used = self._workspace.usage.scores()
        first = sorted(changed, key=lambda path: (-used.get(path, 0.0), path))
        others = sorted(used.keys() - changed, key=lambda path: (-used[path], path))
        there = (path for path in (*first, *others) if self._workspace.kind_of(path) == "file")
        return list(islice(there, limit))

    def _allowed(self, path: str) -> bool:
        return self._workspace.access.refusal("read", path) is None

    def _measure(self, path: str) -> Size | None:
        size = self._workspace.size_of(path)
        if size is None or size > _MEASURED_BYTES or needs_program(path):
            return None if size is None else (size, None, None)
        try:
            text = self._workspace.read(path).text
        except SourceError:
            return size, None, None
        return size, count_lines(text), self._counter.count(text)

    def _ask(self, question: Callable[[Repository], Value]) -> Value | None:
        try:
            with self._workspace.repository() as repository:
                return question(repository)
        except SourceError:
            return None


class _Cached(Generic[Value]):
    """A value that is recomputed in the background when it is older than a few seconds, so no keystroke waits.

    One that takes long is computed less often.
    """

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute = compute
        self._known: tuple[float, Value] | None = None
        self._computing: Task[None] | None = None
        self._took = 0.0

    def get(self) -> Value:
        """Return the value, possibly a stale one; the first time, wait for it."""
        known = self._known
        if known is None:
            return self._computed()
        if time.monotonic() - known[0] > max(_CACHE_SECONDS, _REST * self._took):
            self._begin()
        return known[1]

    def soon(self, timeout: float) -> Value | None:
        """Return the value, possibly a stale one; ``None`` while it is computed for the first time.

        The first caller waits for that, up to ``timeout`` seconds.
        """
        if self._known is None:
            wait = timeout if self._computing is None else 0
            self._begin().wait(wait)
        return self.get() if self._known is not None else None

    def _begin(self) -> Task[None]:
        """Compute it in the background, unless that is already running."""
        if self._computing is None or self._computing.wait(0):
            self._computing = begin(self._compute_again)
        return self._computing

    def _compute_again(self) -> None:
        self._computed()

    def _computed(self) -> Value:
        began = time.monotonic()
        value = self._compute()
        self._took = time.monotonic() - began
        self._known = (time.monotonic(), value)
        return value
