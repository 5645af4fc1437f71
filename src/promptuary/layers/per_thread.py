"""A layer with a separate instance for each thread or session, for state that these must not share."""

from collections.abc import Callable
from typing import Final

from promptuary.layers.layer import Changed, Ending, Incoming, Layer, LayerContext, Recall, RecallRequest, Reply
from promptuary.workspace.access import Access

_MAIN: Final = "main"


class PerThread(Layer):
    """A separate layer for each session, created by ``make`` for a thread and what its session may see.

    With ``apart``, each thread without a session also has a separate layer; otherwise they share one.
    """

    def __init__(self, make: Callable[[str, Access], Layer], *, apart: bool) -> None:
        self._make, self._apart = make, apart
        self._made: dict[tuple[object, ...], Layer] = {}
        pattern = self._made[_MAIN, None] = make(_MAIN, Access())
        self.id, self.slot, self.band, self.scope = pattern.id, pattern.slot, pattern.band, pattern.scope
        self.budget, self.state_version = pattern.budget, pattern.state_version
        # These are class attributes in other layers, and instance attributes here.
        self.timeouts = pattern.timeouts  # type: ignore[misc]

    async def init(self, context: LayerContext) -> None:
        await self._of(context).init(context)

    async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
        """Look at the person's message."""
        return await self._of(context).on_message(message, context)

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | str | None:
        """Return what to put into the window."""
        return await self._of(context).recall(request, context)

    async def after_model(self, reply: Reply, context: LayerContext) -> None:
        await self._of(context).after_model(reply, context)

    async def store(self, reply: Reply, context: LayerContext) -> None:
        """Save what was learnt."""
        await self._of(context).store(reply, context)

    async def complete(self, ending: Ending, context: LayerContext) -> None:
        """Clean up after the turn."""
        await self._of(context).complete(ending, context)

    async def dispose(self) -> None:
        """Release everything."""
        for layer in self._made.values():
            await layer.dispose()

    def _of(self, context: LayerContext) -> Layer:
        access = context.access
        thread = context.thread if self._apart or access.session is not None else _MAIN
        key = (thread, access.session_key)
        if key not in self._made:
            # When a session was pinned again, its previous layer is no longer needed.
            self._made = {one: layer for one, layer in self._made.items() if one[0] != thread or not one[1]}
            self._made[key] = self._make(thread, access)
        return self._made[key]
