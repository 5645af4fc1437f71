"""A layer that is another object for each thread, for what threads must not share."""

from collections.abc import Callable

from promptuary.core.layers import Changed, Ending, Incoming, Layer, LayerContext, Recall, RecallRequest, Reply


class PerThread(Layer):
    """A layer of its own for each thread, made by ``make`` when the thread is first used."""

    def __init__(self, make: Callable[[str], Layer]) -> None:
        self._make = make
        self._made: dict[str, Layer] = {}
        pattern = self._of("main")
        self.id, self.slot, self.band, self.scope = pattern.id, pattern.slot, pattern.band, pattern.scope
        self.budget, self.state_version = pattern.budget, pattern.state_version
        # What is a constant of the class for others is one of the object here.
        self.timeouts = pattern.timeouts  # type: ignore[misc]

    async def init(self, context: LayerContext) -> None:
        """Prepare."""
        await self._of(context.thread).init(context)

    async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
        """Look at the person's message."""
        return await self._of(context.thread).on_message(message, context)

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | str | None:
        """Return what to put into the window."""
        return await self._of(context.thread).recall(request, context)

    async def after_model(self, reply: Reply, context: LayerContext) -> None:
        """Look at the reply."""
        await self._of(context.thread).after_model(reply, context)

    async def store(self, reply: Reply, context: LayerContext) -> None:
        """Save what was learnt."""
        await self._of(context.thread).store(reply, context)

    async def complete(self, ending: Ending, context: LayerContext) -> None:
        """Clean up after the turn."""
        await self._of(context.thread).complete(ending, context)

    async def dispose(self) -> None:
        """Release everything."""
        for layer in self._made.values():
            await layer.dispose()

    def _of(self, thread: str) -> Layer:
        if thread not in self._made:
            self._made[thread] = self._make(thread)
        return self._made[thread]
