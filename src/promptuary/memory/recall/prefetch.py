"""Selects notes concurrently with the rest of a turn, from when the message arrives until its prompt is built.

The ranking of the search is always ready in time. A model gets as long as the policy allows: depending on
``RecallPolicy.mode``, a turn waits for it, or uses the ranking and offers the model's selection to the next turn, once.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from promptuary.memory.recall.select import Selector
from promptuary.memory.recall.visible import key_of
from promptuary.memory.values import MemoryResult, NoteHit
from promptuary.search.values import note_text, why_text

BY_MODEL: Final = "selected by the model"
BY_MODEL_LATE: Final = "selected by the model for the message before"
_MAX_LENGTH: Final = 30.0
"""Seconds after which the next turn does not wait for a model that was too late for its turn, either."""
_GRACE: Final = 0.1
"""Seconds that a turn waits for a model in the mode ``hybrid_async``: most of it runs beside other work."""


class Selected(Struct, frozen=True):
    """The notes that were selected, the most useful first, each with why; ``remarks`` are for the person."""

    hits: Sequence[tuple[NoteHit, str]] = ()
    remarks: tuple[str, ...] = ()


class _Selection(Struct):
    """A selection in progress. ``chosen`` asks the model, if there is one; ``taken`` is what was used."""

    words: str
    began: float
    found: asyncio.Task[MemoryResult]
    chosen: asyncio.Task[list[NoteHit]] | None
    taken: Selected | None = None
    unused: bool = True


class Prefetch:
    """The selections of the threads of one principal, one per thread. Used on one event loop."""

    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self._selections: dict[str, _Selection] = {}
        self._late: dict[str, asyncio.Task[list[NoteHit]]] = {}

    @property
    def asks_model(self) -> bool:
        """Whether a model selects: it takes long, so it should begin early."""
        return self._selector.has_model

    def begin(self, thread: str, words: str) -> None:
        """Start selecting for a message. A selection that came too late for the previous one is offered to this one."""
        before = self._selections.pop(thread, None)
        _drop(self._late.pop(thread, None))
        if before is not None and before.unused and before.chosen is not None:
            self._late[thread] = before.chosen
        found = asyncio.create_task(self._selector.find(words))
        chosen = asyncio.create_task(self._choose(words, found)) if self._selector.has_model else None
        self._selections[thread] = _Selection(words, time.monotonic(), found, chosen)

    async def take(self, thread: str, words: str) -> Selected:
        """Return what is selected for a message so far: the same each time a turn asks."""
        selection = self._selections.get(thread)
        if selection is None or selection.words != words:
            self.begin(thread, words)
            selection = self._selections[thread]
        if selection.taken is None:
            selection.taken = self._with_late(thread, await self._now(selection))
        return selection.taken

    def cancel(self) -> None:
        """Cancel all selections in progress."""
        for selection in self._selections.values():
            _drop(selection.found)
            _drop(selection.chosen)
        for task in self._late.values():
            _drop(task)
        self._selections.clear()
        self._late.clear()

    async def _choose(self, words: str, found: asyncio.Task[MemoryResult]) -> list[NoteHit]:
        async with asyncio.timeout(max(_MAX_LENGTH, self._selector.policy.timeout)):
            return await self._selector.choose(words, await asyncio.shield(found))

    async def _now(self, selection: _Selection) -> Selected:
        # Shielded: a turn that gives up must not stop what serves the next one.
        found = await asyncio.shield(selection.found)
        remarks = tuple(map(note_text, found.notes))
        ranked = Selected([(hit, why_text(hit.why)) for hit in self._selector.rank(found)], remarks)
        chosen = selection.chosen
        if chosen is None:
            return ranked
        await asyncio.wait([chosen], timeout=self._patience(selection))
        if not chosen.done():
            return ranked
        selection.unused = False
        try:
            return Selected([(hit, BY_MODEL) for hit in chosen.result()], remarks)
        except TimeoutError:
            return ranked
        except Exception as error:  # noqa: BLE001  (a model of somebody else may raise anything)
            reason = f"notes were selected without the model: {type(error).__name__}: {error}"
            return Selected(ranked.hits, (*remarks, reason))

    def _patience(self, selection: _Selection) -> float:
        policy = self._selector.policy
        if policy.mode == "hybrid_async":
            return _GRACE
        # The model ends at its own timeout; wait a moment longer, so that it can report that.
        return max(0.0, selection.began + policy.timeout - time.monotonic()) + _GRACE

    def _with_late(self, thread: str, selected: Selected) -> Selected:
        """Return ``selected`` with what the model chose for the message before, if it has answered since."""
        late = self._late.pop(thread, None)
        _drop(late)
        if late is None or not late.done() or late.cancelled() or late.exception() is not None:
            return selected
        known = {key_of(hit.header) for hit, _ in selected.hits}
        more = [(hit, BY_MODEL_LATE) for hit in late.result() if key_of(hit.header) not in known]
        return Selected([*selected.hits, *more], selected.remarks)


def _drop(task: "asyncio.Task[MemoryResult] | asyncio.Task[list[NoteHit]] | None") -> None:
    if task is None:
        return
    if not task.done():
        task.cancel()
    elif not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not report it as never retrieved
