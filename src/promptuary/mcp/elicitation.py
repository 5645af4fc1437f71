"""Calls that wait for an answer of the client, in the protocol of 2026.

In it a server asks by answering a call with its questions; the client then repeats the call with the answers and with
the mark of the waiting call. The work of that call does not start again: it has been waiting, and continues.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError

from promptuary.mcp.client import Client

Result = TypeVar("Result")

_MAX_WAITING: Final = 64
_MAX_SECONDS: Final = 300.0


class PausedCalls:
    """The waiting calls of all clients."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[float, Client, asyncio.Task[Any]]] = {}

    async def run(
        self,
        client: Client,
        work: Callable[[], Awaitable[Result]],
        *,
        state: str | None,
        answers: Mapping[str, Any] | None,
    ) -> Result | types.InputRequiredResult:
        """Run ``work``, or resume the call that ``state`` marks; return its result, or its questions.

        Raises ``MCPError`` if no call waits under ``state``.
        """
        if not client.is_modern:
            return await work()
        if state is None:
            task = asyncio.ensure_future(_start(work))
        else:
            client, task = self._resume(client, state)
            client.take_answers(dict(answers or {}))
        waiting = asyncio.ensure_future(client.asked.wait())
        try:
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            waiting.cancel()
        return task.result() if task.done() else self._pause(client, task)

    def close(self) -> None:
        """Cancel every waiting call."""
        for _, _, task in self._waiting.values():
            task.cancel()
        self._waiting.clear()

    def _pause(self, client: Client, task: "asyncio.Task[Any]") -> types.InputRequiredResult:
        self._give_up_old_ones()
        client.asked.clear()
        mark = secrets.token_urlsafe(24)
        self._waiting[mark] = (time.monotonic(), client, task)
        requests: dict[str, Any] = {
            name: question.request for name, question in client.questions.items() if not question.answer.done()
        }
        return types.InputRequiredResult(input_requests=requests or None, request_state=mark)

    def _resume(self, client: Client, state: str) -> "tuple[Client, asyncio.Task[Any]]":
        found = self._waiting.pop(state, None)
        if found is None:
            raise MCPError(code=types.INVALID_PARAMS, message="no call waits under this requestState; call again")
        _, before, task = found
        # Over HTTP only the mark identifies the client; what it declares now counts.
        if before is not client:
            before.take_over(client)
        return before, task

    def _give_up_old_ones(self) -> None:
        now = time.monotonic()
        for mark, (since, _, task) in list(self._waiting.items()):
            if now - since > _MAX_SECONDS or len(self._waiting) >= _MAX_WAITING:
                task.cancel()
                del self._waiting[mark]


async def _start(work: Callable[[], Awaitable[Result]]) -> Result:
    return await work()
