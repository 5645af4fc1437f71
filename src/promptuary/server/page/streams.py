"""How a run is told to the page: to its script as it goes on, or to nobody until it has ended."""

from collections.abc import Coroutine
from typing import Any, Final, assert_never

from promptuary.api.problems import Problem
from promptuary.base.text import beginning
from promptuary.models.chat_model import Retrying, TextPiece
from promptuary.present.runs import ending_line, retry_line, took_line
from promptuary.server.runs import Events
from promptuary.threads.run_values import CallBegun, CallEnded, RunEnded, RunEvent, TurnExtended, TurnPrepared

_MAX_RESULT: Final = 4_000
"""The most characters of the result of a tool that are shown while a run goes on."""


class StreamedRun(Events):
    """Sends what a script shows of a run: the events of the API have whole prompts, which a page does not need."""

    async def tell(self, event: RunEvent) -> None:
        """Send what is shown of an event."""
        match event:
            case TurnPrepared(turn) | TurnExtended(turn):
                sent = {"tokens": turn.receipt.tokens, "window": turn.receipt.window}
                await self.send("prepared", sent | {"number": turn.number, "warnings": turn.receipt.warnings})
            case Retrying():
                await self.send("waiting", {"text": retry_line(event).removesuffix(", Ctrl-C stops")})
            case TextPiece(text):
                await self.send("text", {"text": text})
            case CallBegun(call):
                await self.send("call", call)
            case CallEnded(call, result, is_error):
                shown = {"id": call.id, "text": beginning(result, _MAX_RESULT), "is_error": is_error}
                await self.send("result", shown)
            case RunEnded(result):
                await self.send(
                    "ended", {"text": ending_line(result), "took": took_line(result, 0).rpartition("; ")[0]}
                )
            case _:
                assert_never(event)


class SilentRun(Events):
    """Sends nothing. ``problem`` is what went wrong, if anything did."""

    problem: Problem | None = None

    async def begin(self) -> None:
        """Send nothing: what is answered depends on how the run ends."""

    async def tell(self, event: RunEvent) -> None:
        """Leave out an event."""

    async def send(self, name: str, value: object) -> None:
        """Keep a problem, and leave out everything else."""
        del name
        if isinstance(value, Problem):
            self.problem = value

    async def keep_alive_during(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work."""
        await work

    async def end(self) -> None:
        """Send nothing."""
