"""What finished turns teach: one pipeline for notes and experiences, with a queue that survives a crash.

In the transaction that stores a turn, each learner learns what needs no model: what the person stated, and what tool
calls taught. For what has to be looked up or asked, one snapshot of the turn waits in the queue, and one thread hands
it to the learners. A turn that fails is retried with increasing delays; one that fails too often waits for the person
and is never dropped.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.clock import now_in_seconds
from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.context.replies import asked_item, said_items, turn_of_others
from promptuary.layers.layer import Failure, LayerState, StateKey
from promptuary.memory.writeback.snapshot import (
    NOTES,
    FinishedTurn,
    Foreign,
    OwnFile,
    TurnSnapshot,
    foreign_text,
    from_text,
    has_foreign_text,
    snapshot,
    to_text,
)
from promptuary.memory.writeback.values import SEPARATOR, QueuedTurn
from promptuary.models.json_answers import complete_json

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from promptuary.app import App
    from promptuary.base.messages import Item, Message
    from promptuary.memory.writeback.values import Proposal
    from promptuary.models.json_answers import Schema
    from promptuary.models.protocols import ChatModel, JsonChatModel
    from promptuary.state import StateDatabase
    from promptuary.threads.prepared import Turn
    from promptuary.threads.store.store import ThreadStore
    from promptuary.workspace.workspace import Workspace

logger = logging.getLogger(__name__)

SOFT_DRAIN: Final = 1.5
"""The most seconds that a finished turn waits for what it teaches."""
_LEASE: Final = 600.0
"""Seconds for which a turn is leased; if this process is killed, another takes the turn over after that."""
_FIRST_PAUSE: Final = 30.0
_MAX_TRIES: Final = 7
_ANSWER_TOKENS: Final = 2_000
_MODEL_SECONDS: Final = 120.0
_MAX_ERROR: Final = 300

_FILE: Final = "file:"
_FOREIGN: Final = "writeback"
"""The state of a thread that records which of its turns had foreign text in their prompts."""


class Learner(Protocol):
    """Learns one kind of thing from turns, with ``model`` if there is one.

    ``name`` is its name in the queue and in receipts; ``schema`` is that of the model's answers.
    """

    name: str
    model: ChatModel | JsonChatModel | None
    schema: Schema

    def record(self, finished: FinishedTurn, foreign: Foreign) -> bool:
        """Store what a turn teaches by itself; return whether there is more to learn from it afterwards. Blocks.

        It is called in the transaction that stores the turn. If it raises, the turn is stored without it.
        """
        ...

    def question(self, turn: TurnSnapshot) -> Sequence[Message]:
        """Return what to ask the model about a turn."""
        ...

    def learn(self, turn: TurnSnapshot, answer: Mapping[str, Any] | None) -> None:
        """Decide about the model's answer, and carry that out; without a model, the answer is ``None``. Blocks."""
        ...


class NotLearntError(Exception):
    """A learner failed in the transaction of a turn."""

    def __init__(self, learner: str, cause: Exception) -> None:
        super().__init__(str(cause))
        self.learner, self.cause = learner, cause
        self.failure = Failure(learner, "record", "ERROR", one_line(f"{type(cause).__name__}: {cause}"))


class Learning:
    """Learns from the turns of one principal in one database."""

    def __init__(self, app: App, state: StateDatabase, learners: Sequence[Learner]) -> None:
        self._app, self._state = app, state
        self._queue, self._threads = state.writeback_queue(app.principal), state.threads(app.principal)
        self._learners = {learner.name: learner for learner in learners}
        self._may_wait = True
        """Whether turns may be in the queue: of this process, or of one before."""
        self._asks_model = any(learner.model is not None for learner in learners)
        self._soft_drain = app.settings.writeback_wait_policy == "soft_drain"
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None
        self._woken, self._idle, self._closed = threading.Event(), threading.Event(), threading.Event()
        self._taken: QueuedTurn | None = None

    def record(self, finished: FinishedTurn, *, without: Collection[str] = ()) -> None:
        """Learn what a finished turn teaches at once, and queue it for what comes later.

        This belongs into the transaction that stores the turn. Raises ``NotLearntError`` if a learner fails; the caller
        repeats everything ``without`` it.
        """
        foreign: Foreign | None = None
        turn: TurnSnapshot | None = None
        for name, learner in self._learners.items():
            if name in without:
                continue
            try:
                foreign = foreign or self._mark_foreign(finished)
                if learner.record(finished, foreign):
                    turn = turn or snapshot(finished, now_in_seconds(), foreign)
                    self._enqueue(replace(turn, learner=name))
            except Exception as error:
                logger.exception("%s did not learn from a turn", name)
                raise NotLearntError(name, error) from error

    def _enqueue(self, turn: TurnSnapshot) -> None:
        row = turn.turn if turn.learner == NOTES else f"{turn.turn}{SEPARATOR}{turn.learner}"
        self._may_wait = True
        self._queue.add(QueuedTurn(row, turn.thread, turn.at, to_text(turn), due=time.time()))

    def _mark_foreign(self, finished: FinishedTurn) -> Foreign:
        """Return which foreign text a turn held, and store it for the turns that follow.

        The output of a layer is not in later prompts, but what the model made of it is.
        """
        if finished.receipt is None:
            return foreign_text(finished.history, None, earlier=[finished.before])
        own = own_file(self._app.workspace)
        stored = foreign_turns(self._threads, finished.thread)
        turns = {item.turn for item in finished.history}
        marks = [turn for turn in stored if turn in turns]  # others were undone
        if has_foreign_text(finished.receipt, own):
            marks.append(finished.turn)
        if marks != stored:
            self._threads.put_states(finished.thread, [LayerState(_key(finished.thread), 1, marks)])
        return foreign_text(finished.history, finished.receipt, earlier=["outside"] if marks else (), own_file=own)

    def learn_from_transcript(
        self, messages: Sequence[Message], *, thread: str, timeout: float, earlier: Sequence[Message] = ()
    ) -> Sequence[Proposal]:
        """Learn from a turn of another program; return the proposals from it so far.

        ``earlier`` are the messages of the conversation before it. Its prompts are unknown.
        """
        proposals = self._app.proposals(create=True)
        before = {proposal.id for proposal in proposals.all()}
        turn, items = turn_of_others(messages)
        try:
            with self._state.transaction():
                self.record(FinishedTurn(turn, thread, items, before=_foreign_text_before(earlier)))
        except NotLearntError as error:
            raise error.cause from error
        self.drain(timeout)
        return [proposal for proposal in proposals.all() if proposal.id not in before]

    async def settle(self) -> None:
        """Start processing after a turn was stored; with ``soft_drain``, or if no model is asked, wait briefly."""
        if self._app.learns_later and self._asks_model and not self._soft_drain:
            return
        if not self._may_wait:
            return
        if self._asks_model:
            await concurrency.run(lambda: self.drain(SOFT_DRAIN if self._soft_drain else 0.0))
        else:
            await concurrency.run(self._learn_here)

    def _learn_here(self) -> None:
        """Process what is due in this thread: that takes no model, so it is quick. What fails is retried later."""
        if self._worker is not None and self._worker.is_alive():
            self.drain(SOFT_DRAIN)
            return
        self._may_wait = False  # before it is looked: what another thread adds meanwhile sets it again
        deadline = time.monotonic() + SOFT_DRAIN
        while not self._closed.is_set() and (turn := self._queue.take(time.time(), lease=_LEASE)):
            self._attempt(turn)
            if time.monotonic() > deadline:
                self._may_wait = True
                self.begin()
                return
        if self._pause() is not None:
            self._may_wait = True
            self.begin()

    def begin(self) -> None:
        """Process the queue in the background, including what an earlier process left."""
        if self._closed.is_set():
            return
        with self._lock:
            self._idle.clear()
            self._woken.set()
            if self._worker is None or not self._worker.is_alive():
                self._worker = concurrency.start_daemon(self._work, name="promptuary-writeback")

    def drain(self, timeout: float) -> bool:
        """Process what is due, and return whether that finished within ``timeout`` seconds."""
        self.begin()
        return self._idle.wait(timeout)

    def close(self) -> None:
        """Wait briefly for the answer in progress; if it comes later, the next process retries that turn."""
        if self._worker is not None and self._worker.is_alive():
            self._idle.wait(SOFT_DRAIN)
        with self._lock:
            self._closed.set()
            self._woken.set()
            if self._taken is not None:
                self._queue.release(self._taken.id, lease=self._taken.lease)

    def _work(self) -> None:
        try:
            while not self._closed.is_set():
                self._woken.clear()
                while not self._closed.is_set() and (turn := self._queue.take(time.time(), lease=_LEASE)):
                    self._attempt(turn)
                pause = self._pause()
                with self._lock:  # turns recorded meanwhile are still pending
                    if not self._woken.is_set():
                        self._idle.set()
                self._woken.wait(pause)
        except Exception:  # the outermost loop: the database may have been closed or removed
            if not self._closed.is_set():
                logger.exception("writeback stopped; what waits is done by the next process")
        finally:
            self._idle.set()

    def _pause(self) -> float | None:
        """Return the seconds until the next turn is due; ``None`` if no retry is pending."""
        due = [turn.due for turn in self._queue.waiting() if turn.due is not None]
        return max(min(due) - time.time(), 1.0) if due else None

    def _attempt(self, queued: QueuedTurn) -> None:
        self._taken = queued
        failure: Exception | None = None
        try:
            # The thread may have been renamed since.
            self._read(replace(from_text(queued.text), thread=queued.thread))
        except Exception as error:  # noqa: BLE001  (the outermost loop: whatever a model or its client raises)
            failure = error
        with self._lock:  # once it is closed, the turn was given back
            if self._closed.is_set():
                return
            self._taken = None
            if failure is None:
                self._queue.done(queued.id, lease=queued.lease)
                return
            reason = one_line(str(failure))
            logger.warning("writeback of a turn failed: %s", reason)
            due = None if queued.tries + 1 >= _MAX_TRIES else time.time() + _FIRST_PAUSE * 4**queued.tries
            self._queue.failed(queued.id, error=reason[:_MAX_ERROR], due=due, lease=queued.lease)

    def _read(self, turn: TurnSnapshot) -> None:
        learner = self._learners.get(turn.learner)
        if learner is None:  # it was switched off since
            return
        answer = None
        if learner.model is not None:
            answer = _ask(learner.model, learner.question(turn), learner.schema)
            if self._closed.is_set():
                raise PromptuaryError("writeback was closed before the model answered")
        learner.learn(turn, answer)


def _ask(model: ChatModel | JsonChatModel, question: Sequence[Message], schema: Schema) -> dict[str, Any]:
    """Return the answer of a model as JSON that fits ``schema``, asked on a separate event loop. Blocks."""

    async def ask() -> dict[str, Any]:
        answer = complete_json(model, question, schema, max_tokens=_ANSWER_TOKENS)
        return await asyncio.wait_for(answer, _MODEL_SECONDS)

    return asyncio.run(ask())


def own_file(workspace: Workspace) -> OwnFile:
    """Return a function that decides whether only the person can have written a file."""
    return lambda address: workspace.is_persons(address.removeprefix(_FILE))


def turn_so_far(app: App, turn: Turn, messages: Sequence[Item]) -> tuple[FinishedTurn, Foreign]:
    """Return a turn that is not finished, of which ``messages`` followed its prompt, and its foreign text."""
    threads = app.state(create=False).threads(app.principal)
    history = [*threads.history(turn.thread), asked_item(turn), *messages]
    marks = foreign_turns(threads, turn.thread)
    earlier: Sequence[Foreign] = ["outside"] if any(item.turn in marks for item in history) else ()
    foreign = foreign_text(history, turn.receipt, earlier=earlier, own_file=own_file(app.workspace))
    return FinishedTurn(turn.id, turn.thread, history, turn.receipt), foreign


def _foreign_text_before(messages: Sequence[Message]) -> Foreign:
    """Return the foreign text in earlier messages of another program; what cannot be read may hold any."""
    try:
        return foreign_text(said_items(messages, ""), None)
    except PromptuaryError:
        return "outside"


def foreign_turns(threads: ThreadStore, thread: str) -> list[str]:
    """Return the finished turns of a thread whose prompts held foreign text."""
    (stored,) = threads.states([_key(thread)])
    return list(stored.value) if stored is not None and isinstance(stored.value, list) else []


def _key(thread: str) -> StateKey:
    return StateKey(_FOREIGN, "thread", thread)
