"""Runs writeback after turns: a queue that survives a crash, and one thread that processes it.

The thread asks the model and carries out what ``decisions`` decides. A turn that fails is retried with increasing
delays; one that fails too often waits for the person and is never dropped. Without a model, the local extractor
proposes what the person stated, and nothing is written.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, assert_never

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError, StorageError
from promptuary.base.messages import Item, Message
from promptuary.base.text import one_line
from promptuary.context.receipt import Receipt
from promptuary.layers.layer import LayerState, StateKey
from promptuary.memory.values import Note, NoteDraft, new_note_id
from promptuary.memory.writeback.decisions import (
    Archive,
    Decision,
    Drop,
    HasSecret,
    Known,
    Outcome,
    Propose,
    Write,
    dispose,
    known_for,
    parsed,
    proposal_fingerprint,
)
from promptuary.memory.writeback.extract import statements
from promptuary.memory.writeback.prompts import SCHEMA, Prompts, question
from promptuary.memory.writeback.proposals import MemoryOf, Proposals, thread_reference
from promptuary.memory.writeback.snapshot import (
    NOTES,
    OwnFile,
    TurnSnapshot,
    from_text,
    nobodys,
    prompt_held_foreign_text,
    snapshot,
    to_text,
    wrote_a_note,
)
from promptuary.memory.writeback.store import NoteQueue
from promptuary.memory.writeback.values import FinishedTurn, Proposal, QueuedTurn
from promptuary.models.json_answers import Schema, complete_json
from promptuary.models.protocols import ChatModel, JsonChatModel
from promptuary.threads.records import ThreadChange
from promptuary.threads.store.store import ThreadStore

if TYPE_CHECKING:
    from promptuary.memory.pinned import TurnMemory

logger = logging.getLogger(__name__)

SOFT_DRAIN: Final = 1.5
"""The most seconds that a finished turn waits for its writeback."""
_LEASE: Final = 600.0
"""Seconds for which a turn is leased; if this process is killed, another takes the turn over after that."""
_ANSWER_TOKENS: Final = 2_000
_FIRST_PAUSE: Final = 30.0
_MOST_TRIES: Final = 7
_MOST_CANDIDATES: Final = 8
_LONGEST_ERROR: Final = 300

_FOREIGN: Final = "writeback"
"""The state of a thread that records which of its turns had foreign text in their prompts."""


TurnReader = Callable[[TurnSnapshot], object]
"""Reads a finished turn for a purpose other than notes. Blocks; if it raises, it is retried later."""


class Writeback:
    """Writeback of one principal. ``record`` belongs into the transaction that stores a finished turn.

    ``threads`` stores which turns had foreign text in their prompts. ``memory`` returns the memory of a thread.
    ``own_file`` returns which instruction files are the person's own. If ``model`` is ``None``, the local extractor is
    used. ``readers`` read each turn for purposes other than notes, by the name of the purpose. ``timeout`` is how many
    seconds the model has for one turn. The model is asked on a separate event loop, in a separate thread.
    """

    name = "writeback"

    def __init__(
        self,
        queue: NoteQueue,
        proposals: Proposals,
        memory: MemoryOf,
        *,
        threads: ThreadStore,
        model: ChatModel | JsonChatModel | None,
        has_secret: HasSecret,
        own_file: OwnFile = nobodys,
        prompts: Prompts = Prompts(),  # noqa: B008  (frozen)
        readers: Mapping[str, TurnReader] = MappingProxyType({}),
        soft_drain: bool = False,
        timeout: float = 120.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._queue, self._proposals, self._memory, self._threads = queue, proposals, memory, threads
        self._model, self._has_secret, self._own_file = model, has_secret, own_file
        self._readers = readers
        self._prompts, self._soft_drain, self._timeout, self._clock = prompts, soft_drain, timeout, clock
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None
        self._woken, self._idle, self._closed = threading.Event(), threading.Event(), threading.Event()
        self._taken: QueuedTurn | None = None
        self._written: set[str] = set()
        self._later = False

    def leave_for_later(self) -> None:
        """Ask no model in this process, which ends soon, unless somebody waits for it: ``catch_up`` does, elsewhere."""
        self._later = bool(self._model or self._readers) and not self._soft_drain

    def catch_up(self, timeout: float) -> Sequence[QueuedTurn]:
        """Process what is due, for at most ``timeout`` seconds; return the turns that still wait."""
        if timeout > 0:
            self.drain(timeout)
        return self._queue.waiting()

    def record(self, finished: FinishedTurn) -> None:
        """Store what a finished turn said, for writeback.

        If the person or the agent wrote a note in the turn, nothing is stored.
        """
        turn, thread, history, receipt = finished.turn, finished.thread, finished.history, finished.receipt
        own = finished.items
        foreign = self._foreign_turns(turn, thread, history, receipt)
        purposes = list(self._readers)
        if not (finished.noted or turn in self._written or wrote_a_note(own)) and self._may_teach(own):
            purposes.append(NOTES)
        if not purposes:
            return
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")
        one = snapshot(turn, thread, at, history, receipt, foreign_turns=foreign, own_file=self._own_file)
        for purpose in purposes:
            name = turn if purpose == NOTES else f"{turn}#{purpose}"
            said = to_text(replace(one, purpose=purpose))
            self._queue.add(QueuedTurn(name, thread, at, said, due=self._clock()))

    def _may_teach(self, own: Sequence[Item]) -> bool:
        return self._model is not None or any(statements(item.words) for item in own if item.role == "user")

    def _foreign_turns(self, turn: str, thread: str, history: Sequence[Item], receipt: Receipt) -> Collection[str]:
        """Return the turns of a history whose prompts held foreign text, including this one, and store them.

        The output of a layer is not in later prompts, but what the model made of it is.
        """
        before = foreign_turns(self._threads, thread)
        standing = {item.turn for item in history}
        found = [one for one in before if one in standing] + (
            [turn] if prompt_held_foreign_text(receipt, self._own_file) else []
        )
        if found != before:
            self._threads.apply(ThreadChange(thread, states=[LayerState(_foreign_key(thread), 1, found)]))
        return found

    def skip(self, turn: str) -> None:
        """Skip a turn: a note was written in it explicitly."""
        self._written.add(turn)

    def begin(self) -> None:
        """Process the queue in the background, including what an earlier process left."""
        if self._closed.is_set():
            return
        with self._lock:
            self._idle.clear()
            self._woken.set()
            if self._worker is None or not self._worker.is_alive():
                self._worker = concurrency.start_daemon(self._work, name="promptuary-writeback")

    async def settle(self) -> None:
        """Start processing after a turn was stored; with ``soft_drain``, or if no model is asked, wait briefly."""
        if self._later:
            return
        asks_nobody = self._model is None and not self._readers
        wait = SOFT_DRAIN if self._soft_drain or asks_nobody else 0.0
        await concurrency.run(lambda: self.drain(wait))

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

    def _extract(self, one: TurnSnapshot) -> list[Outcome]:
        """Propose what the person stated in the turn itself, that is, in their last message."""
        words = next((part.text for part in reversed(one.said) if part.speaker == "person"), "")
        done: list[Outcome] = []
        memory = self._memory(one.thread)
        for found in statements(words):
            if self._has_secret(found.text) or self._known(found.text, memory):
                continue
            draft = NoteDraft(found.text, kind=found.kind, source_ref=thread_reference(one.thread))
            mark = proposal_fingerprint("write", draft)
            proposal = Proposal(new_note_id(), "write", one.at, "extract", draft, mark, evidence=found.text)
            done.append(self._act(Propose(proposal), memory))
        return done

    def _known(self, text: str, memory: "TurnMemory") -> bool:
        """Return whether a note already says this."""
        one = Decision("upsert", NoteDraft(text, title=text))
        nothing = TurnSnapshot("", "", "", (), external=False)
        notes = [note for key in memory.similar(text, 1) if (note := memory.get(key))]
        known = Known(similar=notes[0] if notes else None)
        return isinstance(dispose(one, nothing, known, has_secret=self._has_secret, new_id=""), Drop)

    def _work(self) -> None:
        try:
            while not self._closed.is_set():
                self._woken.clear()
                while not self._closed.is_set() and (turn := self._queue.take(self._clock(), lease=_LEASE)):
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
        due = [one.due for one in self._queue.waiting() if one.due is not None]
        return max(min(due) - self._clock(), 1.0) if due else None

    def _attempt(self, turn: QueuedTurn) -> None:
        self._taken = turn
        failure: Exception | None = None
        try:
            # The thread may have been renamed since.
            self._read(replace(from_text(turn.text), thread=turn.thread))
        except Exception as error:  # noqa: BLE001  (the outermost loop: whatever a model or its client raises)
            failure = error
        with self._lock:  # once it is closed, the turn was given back
            if self._closed.is_set():
                return
            self._taken = None
            if failure is None:
                self._queue.done(turn.id, lease=turn.lease)
                return
            logger.warning("writeback of a turn failed: %s", one_line(str(failure)))
            due = None if turn.tries + 1 >= _MOST_TRIES else self._clock() + _FIRST_PAUSE * 4**turn.tries
            told = one_line(str(failure))[:_LONGEST_ERROR]
            self._queue.failed(turn.id, error=told, due=due, lease=turn.lease)

    def _read(self, one: TurnSnapshot) -> None:
        if one.purpose == NOTES:
            self.process(one)
        elif one.purpose in self._readers:  # if not, it was switched off since
            self._readers[one.purpose](one)

    def process(self, one: TurnSnapshot) -> list[Outcome]:
        """Ask the model about a turn and carry out what is allowed; return the outcome of each decision.

        Without a model, propose what the person stated.
        """
        if self._model is None:
            return self._extract(one)
        memory = self._memory(one.thread)
        notes = _candidates(one, memory)
        answer = self._answer(self._model, one, notes)
        if self._closed.is_set():
            raise PromptuaryError("writeback was closed before the model answered")
        done = []
        for decision in parsed(answer):
            known = known_for(decision, memory.get, memory.similar, memory.history)
            outcome = dispose(decision, one, known, has_secret=self._has_secret, new_id=new_note_id())
            done.append(self._act(outcome, memory))
        return done

    def _answer(self, model: ChatModel | JsonChatModel, one: TurnSnapshot, notes: Sequence[Note]) -> dict[str, Any]:
        return answered(model, question(one, notes, self._prompts), SCHEMA, timeout=self._timeout)

    def _act(self, outcome: Outcome, memory: "TurnMemory") -> Outcome:
        try:
            match outcome:
                case Write(draft, rev, _, reason):
                    memory.put(draft, if_rev=rev or None, reason=reason)
                case Archive(note, reason):
                    memory.archive(note.id, reason=reason)
                case Propose(proposal):
                    return outcome if self._proposals.add(proposal) else Drop("the same was proposed before")
                case Drop():
                    pass
                case _:
                    assert_never(outcome)
        except StorageError:
            raise  # retried later
        except PromptuaryError as error:  # the note was changed meanwhile, or the write path refuses it
            return Drop(one_line(str(error)))
        return outcome


def answered(
    model: ChatModel | JsonChatModel, asked: Sequence[Message], schema: Schema, *, timeout: float
) -> dict[str, Any]:
    """Return the answer of a model as JSON that fits ``schema``, asked on a separate event loop. Blocks."""

    async def ask() -> dict[str, Any]:
        answer = complete_json(model, asked, schema, max_tokens=_ANSWER_TOKENS)
        return await asyncio.wait_for(answer, timeout)

    return asyncio.run(ask())


def foreign_turns(threads: ThreadStore, thread: str) -> list[str]:
    """Return the finished turns of a thread whose prompts held foreign text."""
    (stored,) = threads.states([_foreign_key(thread)])
    return list(stored.value) if stored is not None and isinstance(stored.value, list) else []


def _foreign_key(thread: str) -> StateKey:
    return StateKey(_FOREIGN, "thread", thread)


def _candidates(one: TurnSnapshot, memory: "TurnMemory") -> list[Note]:
    """Return the notes that the conversation may be about: by what was said last, and by what the person said.

    Notes from elsewhere are left out: the model might follow them in a conversation that held no other foreign text.
    """
    last = one.said[-1].text if one.said else ""
    keys = [*memory.similar(one.persons_words[-2_000:], _MOST_CANDIDATES), *memory.similar(last[:2_000], 3)]
    found = [note for key in dict.fromkeys(keys) if (note := memory.get(key)) is not None]
    usable = [note for note in found if note.header.status == "active" and note.header.trust != "external"]
    return usable[:_MOST_CANDIDATES]
