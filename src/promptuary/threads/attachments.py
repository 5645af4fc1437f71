"""What is kept in view of a thread, managed by hand: the same objects as ``#`` and ``@`` in a message.

A path is tracked for the thread; any other reference (``@diff``, ``@url:…``) is queued for its next message.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from promptuary import concurrency
from promptuary.core.counting import TokenCounter
from promptuary.core.errors import Code, SourceError
from promptuary.core.layers import Json
from promptuary.core.ports.threads import Change, KeptState, StateStore
from promptuary.core.references import Reference
from promptuary.layers.tracked.layer import Line, TrackedFiles
from promptuary.references.scan import scan
from promptuary.threads.turn import QUEUE

_PATHS = frozenset({"file", "path"})


@dataclass(frozen=True, slots=True)
class View:
    """What is tracked, the most wanted first, and what goes with the next message."""

    tracked: Sequence[Line]
    queued: Sequence[str]


class InView:
    """What a thread keeps in view."""

    def __init__(self, thread: str, store: StateStore, files: TrackedFiles, counter: TokenCounter) -> None:
        self._thread, self._store, self._files, self._counter = thread, store, files, counter

    async def add(self, word: str) -> None:
        """Track a path, or queue a reference; raise ``SourceError`` if it cannot be had or is neither."""
        found = _reference(word)
        if found and found.sigil == "@" and found.kind not in _PATHS:
            queued = self._queued()
            if found.raw not in queued:
                await self._keep(self._state(QUEUE, [*queued, found.raw]))
            return
        state = await self._files.track(self._tracked(), _path(word), self._counter)
        await self._keep(self._state(self._files.id, state, self._files.state_version))

    async def drop(self, word: str) -> None:
        """Untrack a path or take a reference off the queue; raise ``SourceError`` if it is in neither."""
        queued = self._queued()
        if word in queued:
            await self._keep(self._state(QUEUE, [one for one in queued if one != word]))
            return
        state = self._files.untrack(self._tracked(), _path(word))
        await self._keep(self._state(self._files.id, state, self._files.state_version))

    async def pin(self, path: str, *, on: bool = True) -> None:
        """Put a tracked file before all others, or let it go back."""
        state = self._files.pin(self._tracked(), _path(path), on=on)
        await self._keep(self._state(self._files.id, state, self._files.state_version))

    async def clear(self) -> None:
        """Track nothing and queue nothing, whichever version kept it."""
        kept = self._kept()
        known = kept.value if kept and kept.version == self._files.state_version else None
        files = self._state(self._files.id, self._files.clear(known), self._files.state_version)
        await self._keep(files, self._state(QUEUE, []))

    async def list(self) -> View:
        """Return what is in view."""
        return View(await self._files.listed(self._tracked(), self._counter), self._queued())

    def _tracked(self) -> Json:
        kept = self._kept()
        if kept is not None and kept.version != self._files.state_version:
            reason = f"what {self._thread} tracks was kept by another version ({kept.version}); update, or clear it"
            raise SourceError(Code.READ_FAILED, reason)
        return kept.value if kept else None

    def _kept(self) -> KeptState | None:
        return self._store.state(self._files.id, f"thread:{self._thread}")

    def _queued(self) -> Sequence[str]:
        kept = self._store.state(QUEUE, f"thread:{self._thread}")
        return list(kept.value) if kept and isinstance(kept.value, list) else []

    def _state(self, layer: str, value: Json, version: int = 1) -> KeptState:
        return KeptState(layer, f"thread:{self._thread}", version, value)

    async def _keep(self, *states: KeptState) -> None:
        await concurrency.run(lambda: self._store.apply(Change(self._thread, states=states)))


def _reference(word: str) -> Reference | None:
    """Return the reference that ``word`` is, all of it; a word without a sign is a path as it stands."""
    found = scan(word) if word.startswith(("@", "#")) else []
    return found[0] if len(found) == 1 and found[0].raw == word else None


def _path(word: str) -> str:
    found = _reference(word)
    return found.value + found.suffix if found else word
