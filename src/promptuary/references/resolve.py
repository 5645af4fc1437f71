"""Turns references into sources: concurrently, each with its own timeout and its own error."""

import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.blocks import Source
from promptuary.base.errors import Code, PromptuaryError, SourceError
from promptuary.base.languages import language_of
from promptuary.base.references import PATH_KINDS, Reference
from promptuary.references.locate import Notes, located
from promptuary.references.resolve_context import Kind, NoteKept, ResolveContext
from promptuary.references.selection import interpretations
from promptuary.workspace.workspace import Workspace

logger = logging.getLogger(__name__)

CONCURRENCY = 8
"""How many references are fetched at a time."""

_LETTER = re.compile("[A-Za-z]")
_COLOUR = re.compile("[0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8}")
_QUICK = frozenset({"file", "folder", "glob"})
_KIND_PREFIXES = tuple(f"{kind}:" for kind in sorted(PATH_KINDS))
_STALLED = 0.05
"""Seconds after which a quick kind counts as slow, and another thread is started for the rest."""


class Resolution(Struct, frozen=True):
    """The result of one reference: its sources, or the error."""

    reference: Reference
    sources: tuple[Source, ...] = ()
    error: SourceError | None = None
    done: NoteKept | None = None
    """The effect of a reference that attaches nothing."""


def classify(references: Iterable[Reference], workspace: Workspace) -> list[Reference]:
    """Return the references that count, with their paths relative to the workspace.

    A bare path gets the kind of what it names, or is dropped.
    """
    return told_apart(references, workspace)[0]


def told_apart(references: Iterable[Reference], workspace: Workspace) -> tuple[list[Reference], list[Reference]]:
    """Return the references that count, as ``classify`` does, and the bare ones that match nothing and stay text."""
    notes, counting, text = Notes(workspace), list[Reference](), list[Reference]()
    for one in references:
        found = _classified(one, workspace, notes) if one.bare else located(one, workspace)
        if found is None:
            text.append(one)
        else:
            counting.append(found)
    return counting, text


def _classified(reference: Reference, workspace: Workspace, notes: Notes) -> Reference | None:
    if reference.sigil == "#" and reference.value.lower().startswith(_KIND_PREFIXES) and not reference.quoted:
        return None  # a tracked path has no kind
    found = located(reference, workspace)
    kind = workspace.kind_of(found.value) if found.rooted else None
    if workspace.access.is_limited:
        return _by_spelling(reference, found, kind, workspace, notes)
    if kind == "folder" and reference.sigil == "@":
        return replace(found, kind="folder")
    if kind in {"file", "other"} or (kind == "outside" and _is_meant_as_file(found.value)):
        return replace(found, kind="file")
    *_, part = interpretations(reference)
    if reference.sigil == "@" and (note := notes.located(reference)) is not None:
        return note
    if reference.sigil == "#" and _is_meant_as_file(part.path) and workspace.access.refusal("read", part.path) is None:
        return replace(found, kind="file")
    return None


def _by_spelling(
    reference: Reference, found: Reference, kind: str | None, workspace: Workspace, notes: Notes
) -> Reference | None:
    """Return the kind of a bare path for people with restricted access: what they may not have counts as absent."""
    *_, part = interpretations(reference)
    if kind == "folder" and reference.sigil == "@":
        if workspace.access.allows("list", found.value):
            return replace(found, kind="folder")
    elif (kind == "file" and workspace.refusal(found.value) is None) or _is_meant_as_file(part.path):
        return replace(found, kind="file")
    note = notes.located(reference) if reference.sigil == "@" else None
    is_told = reference.raw.startswith("[[")  # reported as missing, if it is not there
    return None if note is None or not (is_told or workspace.refusal(note.value) is None) else note


def _is_meant_as_file(path: str) -> bool:
    """Return whether a path that does not exist is clearly meant as one: an error is more useful than silence.

    Without a folder, the ending must be that of a language: ``#asp.net``, ``#v1.2`` and the colour ``#fff`` are text.
    """
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if slash:
        return bool(folder and dot and _LETTER.search(ending))
    return bool(stem and not _COLOUR.fullmatch(stem) and (ending.lower() == "txt" or language_of(name)))


def resolve(
    references: Sequence[Reference], context: ResolveContext, kinds: Mapping[str, Kind], *, timeout: float
) -> list[Resolution]:
    """Return the result of each reference, in order. ``timeout`` is in seconds for each, counted from its start."""
    race = _Race(references, lambda reference: _attempt(reference, context, kinds[reference.kind]), timeout)
    return [_told(one, context) for one in race.run(context.stopped)]


def _told(one: Resolution, context: ResolveContext) -> Resolution:
    return one if one.error is None else replace(one, error=context.disclose(one.reference.kind, one.error))


def remember(reference: Reference, context: ResolveContext) -> Resolution:
    """Return the result of an ``@remember:``. It has no timeout: the outcome must say what was done."""
    try:
        context.check_kind(reference.kind)
    except SourceError as error:
        return Resolution(reference, error=context.disclose(reference.kind, error))
    if context.remember is None:
        reason = 'this only shows a message and writes nothing; send it in a thread, or run `promptuary remember "…"`'
        return Resolution(reference, error=SourceError(Code.NOT_REMEMBERED, reason))
    try:
        return Resolution(reference, done=context.remember(reference))
    except SourceError as error:
        return Resolution(reference, error=context.disclose(reference.kind, error))


class _Race:
    """Daemon threads that take one reference after another, each reference with its timeout.

    A thread cannot be stopped: a late one is abandoned and another takes its place. Only the last reference to end
    wakes the caller: waking it for each would cost more than reading a file.
    """

    def __init__(
        self, references: Sequence[Reference], attempt: Callable[[Reference], Resolution], timeout: float
    ) -> None:
        self._references, self._attempt, self._timeout = references, attempt, timeout
        self._pending = deque(range(len(references)))
        self._started: dict[int, float] = {}
        self._results: dict[int, Resolution] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()

    def run(self, stopped: Callable[[], bool]) -> list[Resolution]:
        # Reading files keeps one interpreter busy: more threads only wait for each other. Git and servers do not.
        slow = sum(reference.kind not in _QUICK for reference in self._references)
        workers = min(CONCURRENCY, len(self._references), slow + 1)
        for _ in range(workers):
            self._start_worker()
        while self._references and not self._over.wait(min(self._until_next_timeout(), _STALLED)):
            if stopped():
                raise PromptuaryError("stopped while references were being resolved")
            if self._pending and workers < CONCURRENCY:
                self._start_worker()
                workers += 1
            for index in self._late():
                self._start_worker()
                self._end(index, Resolution(self._references[index], error=_timed_out(self._timeout)))
        return [self._results[index] for index in range(len(self._references))]

    def _start_worker(self) -> None:
        concurrency.start_daemon(self._work, name="promptuary-reference")

    def _work(self) -> None:
        while self._pending:
            try:
                index = self._pending.popleft()
            except IndexError:  # another thread was faster
                return
            with self._lock:
                self._started[index] = time.monotonic()
            self._end(index, self._attempt(self._references[index]))

    def _end(self, index: int, resolution: Resolution) -> None:
        """Record the result of a reference, unless it has one: results after the timeout are dropped."""
        with self._lock:
            if self._started.pop(index, None) is not None:
                self._results[index] = resolution
            if len(self._results) == len(self._references):
                self._over.set()

    def _until_next_timeout(self) -> float:
        """Return the seconds until the first of the running references is late."""
        now = time.monotonic()
        with self._lock:
            return max(min(self._started.values(), default=now) + self._timeout - now, 0.001)

    def _late(self) -> list[int]:
        now = time.monotonic()
        with self._lock:
            return [index for index, started in self._started.items() if now - started >= self._timeout]


def _attempt(reference: Reference, context: ResolveContext, kind: Kind) -> Resolution:
    try:
        context.check_kind(reference.kind)
        return Resolution(reference, tuple(kind(reference, context)))
    except SourceError as error:
        return Resolution(reference, error=error)
    except Exception:  # a bug in one kind must not lose the message; it is logged with its traceback
        logger.exception("resolving a %s reference failed", reference.kind)
        reason = "this is a bug in Promptuary; run again with --debug and report the output"
        return Resolution(reference, error=SourceError(Code.INTERNAL, reason))


def _timed_out(timeout: float) -> SourceError:
    return SourceError(Code.TIMEOUT, f"it took longer than {timeout:.2g} s; ask for less, or raise the timeout")
