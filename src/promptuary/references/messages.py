"""Messages as people send them: with everything that they point at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptuary.base.references import KINDS, pasted_spans
from promptuary.references import kinds
from promptuary.references.expand import Limits, expand
from promptuary.references.message import ParsedMessage
from promptuary.references.resolve_context import ResolveContext

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.base.references import Pasted
    from promptuary.references.expansion import Expansion
    from promptuary.threads.options import ExpandRequest, Waiting
    from promptuary.tool_servers.servers import ToolServers


class Messages:
    """The messages of one principal."""

    def __init__(self, app: App, servers: ToolServers | None) -> None:
        self._app, self._servers = app, servers

    def expand(
        self, text: str, *, pasted: Pasted = (), recorded: bool = True, queue: Waiting | None = None
    ) -> Expansion:
        """Return ``text`` with everything it points at, and what is queued for it."""
        window = self._app.settings.effective_window
        message, limit = ParsedMessage(text, pasted_spans(text, pasted)), self._app.settings.limit_in(window)
        return self._expand(message, window, limit, recorded=recorded, along=queue)

    def of_turn(self, request: ExpandRequest, window: int) -> Expansion:
        """Return the message of a turn, which may write a note, for a window."""
        return self._expand(request.message, window, request.limit, along=request, turn=request)

    def _expand(
        self,
        message: ParsedMessage,
        window: int,
        limit: int,
        *,
        along: Waiting | ExpandRequest | None,
        turn: ExpandRequest | None = None,
        recorded: bool = True,
    ) -> Expansion:
        app, access = self._app, turn.access if turn else self._app.workspace.access
        settings, servers = app.settings, self._servers
        known = kinds.KINDS
        if servers is not None:
            known = {**known, **dict.fromkeys(servers.names, kinds.SERVER)}
            message = ParsedMessage(message.text, message.pasted, KINDS | {*servers.names})
        limits = Limits(window, int(window * settings.warn_share), limit, settings.timeout)
        with app.workspace.within(access).visit() as visit:
            context = ResolveContext(
                visit,
                app.counter,
                lambda query: app.find(query, access=access),
                lambda value: app.mentions.find(value, turn),
                remember=None
                if turn is None or turn.rehearsed
                else lambda reference: app.mentions.remember(reference, turn),
                stopped=app.stopping.is_set,
                model=settings.counted_model,
                advice=recorded,  # not needed while the message is being typed
                read_server=None if servers is None else servers.read,
            )
            also, brought = (along.also, along.brought) if along else ("", ())
            expansion = expand(message, context, known, limits, also=also, tracked=turn is None, brought=brought)
        if expansion.named and recorded:
            app.workspace.usage.record(expansion.named)
        return expansion
