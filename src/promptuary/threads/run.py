"""Runs a turn: sends it to a model, calls the tools that the model asks for, extends the turn, and records the answer.

However it ends, nothing of the thread is lost. If the service breaks off or the run is cancelled, the part of the
answer that arrived is kept and marked; calls without a result get one that says so. If nothing has arrived, the turn is
abandoned: its references are queued again, and its message is only in the ledger.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Final, TypeVar, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.blocks import Omitted
from promptuary.base.errors import ConfigError, PromptuaryError, RunFailedError
from promptuary.base.messages import Message, ToolCall, as_message
from promptuary.base.references import Pasted
from promptuary.base.text import one_line
from promptuary.config.named_models import NO_MODEL
from promptuary.config.prices import Price
from promptuary.config.settings import Settings, talking_to
from promptuary.models.chat_model import (
    ChatEvent,
    ChatRequest,
    ModelUsage,
    Retrying,
    Stopped,
    StopReason,
    StreamingModel,
    TextPiece,
)
from promptuary.models.from_settings import AllAtOnce, given_model, streaming_model
from promptuary.threads.prepared import Turn
from promptuary.threads.run_values import (
    BROKEN_OFF,
    INTERRUPTED,
    OUT_OF_REQUESTS,
    AnyModel,
    CallBegun,
    CallEnded,
    Confirm,
    OnEvent,
    RunEnded,
    RunEvent,
    RunResult,
    RunStop,
    Tool,
    TurnExtended,
    TurnPrepared,
    summed,
)
from promptuary.threads.tool_calls import Toolbox
from promptuary.threads.turn import Thread

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

_LONGEST_ANSWER: Final = 4_000_000
"""The most characters of an answer: no model writes more, but a service may send anything."""
_NOT_CALLED: Final = "not called: the answer was interrupted"
_NOT_ALLOWED: Final = "not called: no more requests are allowed in this turn"


class RunModel(Struct, frozen=True):
    """A model to run turns with, and its prices, if they are known. A ``window`` of 0 means that it is not known."""

    model: StreamingModel
    window: int = 0
    price: Callable[[ModelUsage], float] | None = None

    @property
    def uses_tools(self) -> bool:
        """Whether it may call tools at all: a model that answers all at once never does."""
        return not isinstance(self.model, AllAtOnce)


class RunProgress(Struct, frozen=True):
    """The turn in which a tool is called, and what the model and its tools have said in it so far."""

    turn: Turn
    messages: Sequence[Message]


in_run: ContextVar[RunProgress | None] = ContextVar("in_run", default=None)
"""For built-in tools: the turn in which they are called."""


class RunOptions(Struct, frozen=True):
    """What a run may do, and who receives its events."""

    tools: Sequence[Tool] = ()
    left_out: Sequence[Omitted] = ()
    """Tools that are not described to the model, and why."""
    on_event: OnEvent | None = None
    confirm: Confirm | None = None
    max_requests: int = 50


class _Answer(Struct):
    """One answer of the model, as far as it has arrived, and the results of its calls."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0
    calls: list[ToolCall] = field(default_factory=list)
    results: list[CallEnded] = field(default_factory=list)
    usage: ModelUsage | None = None
    stop: StopReason | None = None

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def messages(self, missing: str, mark: str = "") -> list[Message]:
        """Return it as messages; a call without a result gets ``missing``. ``mark`` says how the answer ended."""
        if not self.calls:
            return [{"role": "assistant", "content": _marked(self.text, mark)}]
        done = {one.call.id for one in self.results}
        open_calls = [CallEnded(call, missing, is_error=True) for call in self.calls if call.id not in done]
        end: list[Message] = [{"role": "assistant", "content": mark}] if mark else []
        return [*self.so_far(), *map(_result_message, open_calls), *end]

    def so_far(self) -> list[Message]:
        """Return the calls, and their results so far."""
        calls: Message = {
            "role": "assistant",
            "content": self.text,
            "tool_calls": [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in self.calls],
        }
        return [calls, *map(_result_message, self.results)]


def _result_message(ended: CallEnded) -> Message:
    return {"role": "tool", "content": ended.result, "tool_call_id": ended.call.id, "is_error": ended.is_error}


def _marked(text: str, mark: str) -> str:
    return "\n\n".join(part for part in (text.rstrip() if mark else text, mark) if part)


class Run:
    """One run: ``answer`` is called once."""

    def __init__(self, thread: Thread, model: RunModel, options: RunOptions, requeue: Callable[[], None]) -> None:
        self._thread, self._model, self._options, self._requeue = thread, model, options, requeue
        self._toolbox = Toolbox(options.tools, options.confirm)
        self._answers: list[_Answer] = []
        self._turn: Turn | None = None
        self._unheard = False

    async def answer(self, text: str, pasted: Pasted = (), prompt: str = "") -> RunResult:
        """Return the answer to ``text``, recorded; ``prompt`` is where it is from."""
        tools = [tool.spec for tool in self._options.tools]
        try:
            self._turn = await self._thread.prepare(text, pasted, tools, prompt, self._options.left_out)
        except asyncio.CancelledError:  # the turn that was being recorded is abandoned already
            await concurrency.shielded(concurrency.run(self._requeue))
            raise
        try:
            await self._tell(TurnPrepared(self._turn))
            stop = await self._exchange()
        except asyncio.CancelledError:
            await concurrency.shielded(
                self._finish_or_abandon("interrupted", INTERRUPTED, "the answer was interrupted")
            )
            raise
        except Exception as error:
            if self._unheard:  # the receiver of events cannot take more of the answer
                await concurrency.shielded(
                    self._finish_or_abandon("interrupted", INTERRUPTED, "the answer was interrupted")
                )
                raise
            reason = str(error) if isinstance(error, PromptuaryError) else f"{type(error).__name__}: {error}"
            said = f"the answer broke off: {one_line(reason)}"
            result = await concurrency.shielded(self._finish_or_abandon("failed", BROKEN_OFF, said))
            if isinstance(error, PromptuaryError):
                raise RunFailedError(reason, result) from error
            raise
        return await self._finish(stop, "", "")

    async def _exchange(self) -> StopReason:
        """Alternate requests and answers until an answer calls no tool; return why the last one ended."""
        while True:
            turn = self._current
            if turn.receipt.blocked:
                raise PromptuaryError(_too_large(turn))
            answer = _Answer()
            self._answers.append(answer)
            await self._ask_model(turn, answer)
            if not answer.calls:
                return answer.stop or "end"
            if len(self._answers) >= self._options.max_requests:
                return "tools"
            await self._call_tools(turn, answer)
            await concurrency.shielded(self._extend(turn, answer))
            await self._tell(TurnExtended(self._current))

    async def _extend(self, turn: Turn, answer: _Answer) -> None:
        self._turn = await self._thread.extend(turn, answer.messages(_NOT_CALLED))
        self._answers[-1] = _Answer(usage=answer.usage)  # what it said is in the turn now

    async def _ask_model(self, turn: Turn, answer: _Answer) -> None:
        """Send ``turn`` to the model, and receive its answer."""
        specs = [tool.spec for tool in self._options.tools]
        request = ChatRequest(turn.prompt, specs, max_tokens=max(turn.receipt.reserve, 1))
        events = self._model.model.stream(request)
        try:
            async for event in events:
                await self._receive(event, answer)
        finally:
            # A generator that is not closed would end its connection only when it is garbage-collected.
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    async def _receive(self, event: ChatEvent, answer: _Answer) -> None:
        match event:
            case TextPiece(text):
                answer.pieces.append(text)
                answer.length += len(text)
                if answer.length > _LONGEST_ANSWER:
                    raise PromptuaryError(f"The answer is longer than {_LONGEST_ANSWER:,} characters.")
                await self._tell(event)
            case ToolCall():
                answer.calls.append(self._toolbox.with_unique_id(event))
            case ModelUsage():
                answer.usage = event
            case Retrying():
                await self._tell(event)
            case Stopped(reason):
                answer.stop = reason
            case _:
                assert_never(event)

    async def _call_tools(self, turn: Turn, answer: _Answer) -> None:
        """Call the tools that ``answer`` asks for, one after the other."""
        for call in answer.calls:
            await self._tell(CallBegun(call))
            token = in_run.set(RunProgress(turn, [*map(as_message, turn.said), *answer.so_far()]))
            try:
                ended = await self._toolbox.call(call, most=turn.receipt.window)
            finally:
                in_run.reset(token)
            answer.results.append(ended)
            await self._tell(ended)

    async def _finish(self, stop: RunStop, mark: str, note: str) -> RunResult:
        """Record the turn with the last answer."""
        turn, last = self._current, self._answers[-1]
        mark = OUT_OF_REQUESTS if stop == "tools" else mark
        if stop == "tools":
            note = f"the model wanted more than {self._options.max_requests} requests"
        messages = last.messages(_NOT_ALLOWED if stop == "tools" else _NOT_CALLED, mark)
        if note:
            turn = replace(turn, receipt=replace(turn.receipt, warnings=[*turn.receipt.warnings, note]))
        usages = [one.usage for one in self._answers if one.usage is not None and one.usage.is_known]
        usage = summed(usages)
        counted = len(usages) == len(self._answers) or (bool(usages) and stop in {"interrupted", "failed"})
        cost = self._model.price(usage) if self._model.price and counted else None
        receipt = await concurrency.shielded(self._thread.finish(turn, messages, cost))
        result = RunResult(turn, messages[-1]["content"], receipt, usage, cost, stop, len(self._answers))
        await self._tell(RunEnded(result))
        return result

    async def _finish_or_abandon(self, stop: RunStop, mark: str, note: str) -> RunResult | None:
        """Record what has arrived of the turn; if nothing has, abandon it."""
        last = self._answers[-1] if self._answers else _Answer()
        if last.pieces or last.calls or self._current.said:
            try:
                return await self._finish(stop, mark, note)
            except Exception:
                logger.exception("the part of an answer that arrived could not be stored")
                return None
        try:
            await self._thread.abandon(self._current, "failed" if stop == "failed" else "abandoned", unsaid=True)
            await concurrency.run(self._requeue)
        except PromptuaryError:
            logger.exception("a turn without an answer could not be abandoned")
        return None

    @property
    def _current(self) -> Turn:
        if self._turn is None:
            raise AssertionError("a run begins with its turn")
        return self._turn

    async def _tell(self, event: RunEvent) -> None:
        if self._options.on_event is None or self._unheard:
            return
        try:
            told = self._options.on_event(event)
            if isinstance(told, Awaitable):
                await told
        except Exception:
            self._unheard = True
            raise


def _too_large(turn: Turn) -> str:
    receipt = turn.receipt
    most = ", ".join(f"{layer} {tokens:,}" for layer, tokens in receipt.by_layer().items())
    return (
        f"This does not fit into the window: {receipt.tokens:,} tokens ({most}) of {receipt.window:,}, of which "
        f"{receipt.reserve:,} are kept for the reply. Send less, or choose a larger window."
    )


def run_model(settings: Settings, model: AnyModel | None) -> RunModel:
    """Return the model to run a turn with: the given one, or ``answer_model`` of the settings.

    Raises ``ConfigError``, which says how to configure one, if there is none.
    """
    name = settings.answer_model if model is None else model
    if not isinstance(name, str):
        return RunModel(given_model(name))
    if not name:
        raise ConfigError(NO_MODEL)
    found = settings.chat(name)
    window = talking_to(settings, name).effective_window
    return RunModel(streaming_model(settings, name), window, _charging(found.price) if found.price else None)


def _charging(price: Price) -> Callable[[ModelUsage], float]:
    return lambda used: price.cost(used.input_tokens, used.output_tokens, used.cached_tokens)
