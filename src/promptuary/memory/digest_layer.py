"""The layer ``memory_digest``: a list of the notes before the conversation, the same bytes from turn to turn."""

from collections.abc import Callable
from typing import ClassVar

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.layers.layer import BudgetRange, Layer, LayerContext, Recall, RecallRequest, Slot
from promptuary.memory.recall.digest import Remembered, digest
from promptuary.memory.values import they_wait


class MemoryDigest(Layer):
    """The digest of the notes that the principal may see. ``remembered`` returns its input, and may block."""

    id = "memory_digest"
    slot = (Slot.STATIC + Slot.ENTITY) // 2
    band = "stable"
    scope = "execution"
    most: ClassVar = 600
    """The most tokens of a digest."""

    def __init__(
        self, remembered: Callable[[], Remembered], *, waiting: Callable[[], int] = lambda: 0, most: int = most
    ) -> None:
        self._remembered, self._waiting = remembered, waiting
        self.budget = BudgetRange(0, most)

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | None:
        """Return the digest, whatever the message is about.

        The first turn of a thread also tells the person how many notes wait to be adopted.
        """
        if request.budget < 1:
            return None
        known = await concurrency.run(self._remembered)
        recall = digest(known, request.budget, context.counter)
        waiting = 0 if request.history else await concurrency.run(self._waiting)
        return replace(recall or Recall(), notes=[they_wait(waiting)]) if waiting else recall
