"""Runs over HTTP: a model answers, its events are streamed, and calls wait for what the client says.

The client agrees to tools of the server that write, and answers for tools of its own, with a request that names the
run: its id is known to nobody else, and counts only for the owner who began it.
"""

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from promptuary.api.operations import encode
from promptuary.api.problems import problem_of
from promptuary.api.values import CallAnswer, CallWaits, OfferedTool, RunBegun, event_name
from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError, RunFailedError
from promptuary.base.messages import ToolCall
from promptuary.base.principals import Owner
from promptuary.engine import Promptuary
from promptuary.models.chat_model import TextPiece
from promptuary.server.asgi import Receive, Send, until_gone
from promptuary.server.errors import NOT_FOUND, Refusal
from promptuary.server.proxy.upstreams import is_configured
from promptuary.server.tokens import Token, TokenStore
from promptuary.threads.run_values import RunEnded, RunEvent, RunResult, Tool, TurnExtended, TurnPrepared
from promptuary.threads.values import Rerun

if TYPE_CHECKING:
    from promptuary.config.prices import Price

_MAX_RUNS: Final = 200
"""How many runs go on at once."""
_MAX_OWN_RUNS: Final = 32
"""How many of them are of one owner."""
_LETTERS: Final = 4
"""The characters of a token, where a service has not said how many it made."""
_ANSWER_SECONDS: Final = 600.0
"""How long a call waits for the client."""
_KEEP_ALIVE_SECONDS: Final = 15.0


class _Run(Struct):
    """A run: whose it is, and the calls that wait for the client."""

    owner: Owner
    user: str
    waiting: dict[str, "asyncio.Future[CallAnswer]"]


class _Meter:
    """What a run has used so far. Without a ``price`` it costs nothing."""

    def __init__(self, store: TokenStore, token: Token) -> None:
        self._store, self._token = store, token
        self._sent, self._letters, self._is_counted = 0, 0, False
        self.price: Price | None = None
        self.result: RunResult | None = None

    def note(self, event: RunEvent) -> None:
        match event:
            case TurnPrepared(turn) | TurnExtended(turn):
                self._sent += turn.receipt.tokens
            case TextPiece(text):
                self._letters += len(text)
            case RunEnded(result):
                self.result = result
            case _:
                pass

    async def count_request(self) -> None:
        """Count a further request. Raises ``PromptuaryError`` if others have used the rest of the limit meanwhile."""
        if (excess := await concurrency.run(lambda: self._store.count_request(self._token))) is not None:
            raise PromptuaryError(excess)

    async def count(self) -> None:
        """Add the tokens and the money to what the token used today, once."""
        if not self._is_counted:
            self._is_counted = True
            tokens, money = self._use()
            await concurrency.shielded(concurrency.run(lambda: self._store.add_use(self._token, 0, tokens, money)))

    def _use(self) -> tuple[int, float]:
        """Return the tokens and the money: as the service counted them, else as they can be counted."""
        if self.result is not None:
            counted = self.result.usage.input_tokens + self.result.usage.output_tokens
            return counted or self.result.tokens.all_requests, self.result.cost or 0.0
        said = self._letters // _LETTERS
        return self._sent + said, self.price.cost(self._sent, said, 0) if self.price else 0.0


class Runs:
    """The runs that go on."""

    def __init__(self, store: TokenStore) -> None:
        self._store = store
        self._runs: dict[str, _Run] = {}

    def begin_request(self, workspace: Promptuary, token: Token, model: str) -> int | None:
        """Count a request to a model, and return how many more the token may send today; ``None``: any number. Blocks.

        Raises ``Refusal`` if the token may not use the model, or has used all that it may today, and ``ConfigError`` if
        there is none.
        """
        named = workspace.settings.chat(model) if not token.models or model in token.models else None
        # Not any service on this machine that needs no key: the operator has to name it.
        if named is None or not is_configured(workspace.settings, token, named):
            raise Refusal(404, "this token may not use that model, or there is none of that name", code="NO_MODEL")
        if (excess := self._store.count_request(token)) is not None:
            raise Refusal(429, excess, code="LIMIT")
        most = token.limits.requests
        return None if most is None else max(0, most - self._store.use_today(token).requests)

    def count_rerun(self, token: Token, rerun: Rerun) -> None:
        """Count what a model was sent and said when a past turn was run again. Blocks."""
        sent = rerun.turn.receipt.tokens if rerun.receipt is None else rerun.receipt.tokens
        self._store.add_use(token, tokens=sent + len(rerun.answer or "") // _LETTERS)

    def answer_call(self, token: Token, run: str, call: str, answer: CallAnswer) -> None:
        """Hand the answer of a client to the call that waits for it."""
        found = self._runs.get(run)
        if found is None or found.owner != token.principal.owner or found.user != token.principal.user:
            raise Refusal(404, NOT_FOUND)
        waiting = found.waiting.pop(call, None)
        if waiting is None or waiting.done():
            raise Refusal(409, "no such call waits in this run", code="NOT_WAITING")
        waiting.set_result(answer)

    async def answer(
        self, workspace: Promptuary, token: Token, arguments: Mapping[str, Any], receive: Receive, events: "Events"
    ) -> None:
        """Answer a request with the ``events`` of a run; it ends when the client goes away."""
        given = dict(arguments)
        own = [run for run in self._runs.values() if run.owner == token.principal.owner]
        if len(self._runs) >= _MAX_RUNS or len(own) >= _MAX_OWN_RUNS:
            raise Refusal(503, f"{len(own)} runs go on already; wait until one has ended", code="BUSY")
        model, meter = given["model"] or workspace.settings.answer_model or "", _Meter(self._store, token)
        if model:  # without one, the run says what to configure
            more = await concurrency.run(lambda: self.begin_request(workspace, token, model))
            meter.price = workspace.settings.chat(model).price
            given["max_requests"] = given["max_requests"] if more is None else min(given["max_requests"], 1 + more)
        name = secrets.token_urlsafe(24)
        waiting: dict[str, asyncio.Future[CallAnswer]] = {}
        tools = await self.tools(workspace, token, given)

        async def ask(call: ToolCall, asks: Any) -> CallAnswer:
            answer = waiting[call.id] = asyncio.get_running_loop().create_future()
            await events.send("call_waits", CallWaits(call, asks))
            try:
                return await asyncio.wait_for(answer, _ANSWER_SECONDS)
            except TimeoutError:
                return CallAnswer(agreed=False, result="nobody answered in time", is_error=True)
            finally:
                waiting.pop(call.id, None)

        async def confirm(call: ToolCall) -> bool:
            return (await ask(call, "consent")).agreed

        async def tell(event: RunEvent) -> None:
            meter.note(event)
            if isinstance(event, TurnExtended):
                await meter.count_request()
            elif isinstance(event, RunEnded):  # before the client knows, and can ask again
                await meter.count()
            await events.tell(event)

        async def work() -> None:
            await events.begin()
            await events.send("run_begun", RunBegun(name))
            try:
                await workspace.threads.run(**given, tools=tools(ask), on_event=tell, confirm=confirm)
            except PromptuaryError as error:
                meter.result = error.result if isinstance(error, RunFailedError) else meter.result
                await events.send("problem", problem_of(error))
            await events.end()

        self._runs[name] = _Run(token.principal.owner, token.principal.user, waiting)
        try:
            await until_gone(receive, events.keep_alive_during(work()))
        finally:
            del self._runs[name]
            await meter.count()  # also if the client has gone away: what it read was paid for

    async def tools(
        self, workspace: Promptuary, token: Token, given: dict[str, Any]
    ) -> Callable[[Callable[[ToolCall, str], Any]], list[Tool]]:
        """Take the tools out of the arguments of a run: those of the server by name, and those of the client itself.

        Return what makes them, given a function that asks the client.
        """
        names: list[str] = given.pop("tools")
        own: list[OfferedTool] = given.pop("client_tools")
        known = {tool.name: tool for tool in await workspace.threads.tools(thread=given["thread"])} if names else {}
        if unknown := [name for name in names if name not in known]:
            raise Refusal(
                400, f"there is no tool {unknown[0]!r:.80}; there are {', '.join(known)}", code="BAD_ARGUMENT"
            )
        chosen = [known[name] for name in dict.fromkeys(names)]
        if "write" not in token.scopes:
            chosen = [tool for tool in chosen if not tool.writes]

        def build(ask: Callable[[ToolCall, str], Any]) -> list[Tool]:
            return [*chosen, *(_client_tool(one, ask) for one in own)]

        return build


def _client_tool(offered: OfferedTool, ask: Callable[[ToolCall, str], Any]) -> Tool:
    """Return a tool that the client carries out."""

    async def call(arguments: Mapping[str, Any]) -> str:
        # The model's own id of the call is not known here; the client only needs one that is unique in the run.
        asked = ToolCall(secrets.token_hex(8), offered.spec.name, encode(arguments).decode())
        answer: CallAnswer = await ask(asked, "result")
        if answer.is_error or not answer.agreed:
            raise PromptuaryError(answer.result or ("the tool failed" if answer.agreed else "the client did not agree"))
        return answer.result

    # The client asks its person itself.
    return Tool(offered.spec, call, writes=False, timeout=_ANSWER_SECONDS)


class Events:
    """Sends the events of a run, one after another."""

    def __init__(self, send: Send) -> None:
        self._send, self._lock = send, asyncio.Lock()

    async def begin(self) -> None:
        """Send what precedes the first event."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def tell(self, event: RunEvent) -> None:
        """Send an event of the run itself."""
        await self.send(event_name(type(event)), event)

    async def send(self, name: str, value: object) -> None:
        """Send anything under a name."""
        data = b"event: " + name.encode() + b"\ndata: " + encode(value) + b"\n\n"
        await self._write(data)

    async def keep_alive_during(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work, and say now and then that the connection is still there."""
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({task}, timeout=_KEEP_ALIVE_SECONDS))[0]:
                await self._write(b": keep-alive\n\n")
            task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _write(self, data: bytes) -> None:
        async with self._lock:
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """Send what follows the last event."""
        async with self._lock:
            await self._send({"type": "http.response.body", "body": b""})
