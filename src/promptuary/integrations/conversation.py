"""What all adapters share: a thread of ours as the conversation of another framework's agent.

A framework passes the person's message and what was said since; it gets back what to send. Which request of which turn
that is follows only from these texts, so nothing is lost if the process is restarted between two requests. The thread
is the conversation: its history is sent, not the one that the framework remembers.

If a prompt cannot be assembled, ``PromptuaryError`` is raised before the model is asked: without what the person
referred to, an answer is worth nothing. If an answer cannot be recorded, the run continues, and a warning is logged.

It does not depend on any framework.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from promptuary import blocking
from promptuary.base.errors import ConflictError, PromptuaryError
from promptuary.base.messages import Message, WireToolCall, as_message
from promptuary.memory.tool_texts import answer_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptuary import Turn
    from promptuary.blocking import Promptuary

logger = logging.getLogger(__name__)

_BLOCKED: Final = "This message does not fit into the window of {:,} tokens: {}"


def checked_facade(given: object) -> blocking.Promptuary:
    """Return the facade. Raises ``PromptuaryError`` if it is something else."""
    if not isinstance(given, blocking.Promptuary):
        kind = f"{type(given).__module__}.{type(given).__qualname__}"
        raise PromptuaryError(
            f"adapters take promptuary.blocking.Promptuary, also where an event loop is running; not {kind}"
        )
    return given


def checked_thread(given: object) -> str:
    """Return the name of a thread. Raises ``PromptuaryError`` if it is something else."""
    if not isinstance(given, str):
        raise PromptuaryError(f"thread is the name of a thread, such as 'review', and not {given!r:.60}")
    return given


class Request(Struct, frozen=True):
    """What to send: first ``system``, then ``messages``, then ``loop``.

    ``messages`` end with the person's message and what it points at; their roles are user, assistant or tool. ``loop``
    is what followed it: a message, or the index of one in ``said``, which is sent as the framework has it, with
    everything that only the framework knows about it.
    """

    turn: Turn
    system: str
    messages: Sequence[Message]
    loop: Sequence[Message | int]


class Conversation:
    """One thread. ``on_turn`` is called with every request before it is sent, for example to show receipts."""

    def __init__(
        self, promptuary: Promptuary, thread: str = "main", *, on_turn: Callable[[Turn], None] | None = None
    ) -> None:
        self.promptuary, self.thread = checked_facade(promptuary), checked_thread(thread)
        self._on_turn = on_turn
        self._turn: Turn | None = None

    def request(self, text: str, said: Sequence[Message], earlier: Sequence[Message] = ()) -> Request:
        """Return the next request for the person's message ``text``, which ``said`` followed.

        ``said`` are messages of the model and its tools, and messages of the role user that the framework inserted.
        ``earlier`` is what the framework remembers from before ``text``: a new thread begins with it.
        """
        threads, spoken = self.promptuary.threads, [one for one in said if one["role"] != "user"]
        turn = self._waiting(text, spoken) if said else None
        if turn is None:
            self.begin(earlier)
            self._give_up()
            turn = threads.prepare(text, thread=self.thread)
        answered = max((place + 1 for place, one in enumerate(spoken) if one["role"] == "tool"), default=0)
        if new := spoken[len(turn.said) : answered]:  # unanswered tool calls are sent as they are
            turn = threads.extend(turn, new)
        self._turn = turn
        self._report(turn)
        return Request(turn, _system(turn), _messages(turn), _loop(turn, said))

    def finish(self, text: str, said: Sequence[Message]) -> None:
        """Record what was said after the person's message ``text``; a turn that waits for tools keeps waiting.

        Raises nothing: the answer is worth more than its record.
        """
        spoken = [one for one in said if one["role"] != "user"]
        if not spoken or _unanswered(spoken):
            return
        try:
            self._record(text, spoken)
        except Exception as error:  # noqa: BLE001  (whatever it is, the agent has its answer)
            logger.warning("the answer in thread %r was not recorded: %s", self.thread, error)

    def _record(self, text: str, spoken: Sequence[Message]) -> None:
        if (turn := self._waiting(text, spoken)) is None:
            raise PromptuaryError("no turn with this message waits for an answer")
        self.promptuary.threads.finish(turn, spoken[len(turn.said) :])
        self._turn = None

    def tools(self) -> list[Mapping[str, Any]]:
        """Return the tools for notes in the format of MCP: a name, a description, a schema."""
        return [dict(one) for one in self.promptuary.memory.tools("mcp")]

    def call_tool(self, name: str, arguments: Mapping[str, object] | str) -> str:
        """Return the answer of a tool for notes, as text. An error is also an answer for the model."""
        turn = self._turn
        read = None if turn is None else [as_message(item) for item in turn.said]
        try:
            answer = self.promptuary.memory.call_tool(name, arguments, turn=turn, messages=read)
        except PromptuaryError as error:
            logger.warning("the tool %r failed in thread %r: %s", name, self.thread, error)
            answer = {"error": str(error)}
        return answer_text(answer)

    def _waiting(self, text: str, spoken: Sequence[Message]) -> Turn | None:
        """Return the waiting turn of ``text``, if ``spoken`` begins with what was said in it."""
        for turn in (self._turn, self.promptuary.threads.pending(thread=self.thread)):
            if turn is not None and turn.text == text:
                said = [as_message(item) for item in turn.said]
                if said == list(spoken[: len(said)]):
                    return turn
        return None

    def _give_up(self) -> None:
        """Abandon the turn of a run that failed."""
        turn, self._turn = self._turn, None
        if turn is not None:
            with suppress(ConflictError):  # another process has finished it
                self.promptuary.threads.abandon(turn)
                logger.warning("turn %d of thread %r got no answer, and is abandoned", turn.number, self.thread)

    def begin(self, earlier: Sequence[Message]) -> bool:
        """Begin the thread with what the framework remembers, unless the thread exists; return whether it was begun."""
        threads = self.promptuary.threads
        if not earlier or self.thread in {one.id for one in threads.list()}:
            return False
        threads.import_(json.dumps(_exported(self.thread, earlier)), thread=self.thread)
        return True

    def _report(self, turn: Turn) -> None:
        told = turn.receipt.earlier[-1].warnings if turn.receipt.earlier else ()
        for warning in turn.receipt.warnings:
            if warning not in told:
                logger.warning("%s", warning)
        if self._on_turn is not None:
            self._on_turn(turn)
        if turn.receipt.blocked:
            self.promptuary.threads.abandon(turn)
            raise PromptuaryError(_BLOCKED.format(turn.receipt.window, "; ".join(turn.receipt.warnings) or "no room"))


def tool_call(key: str, name: str, arguments: str | Mapping[str, Any]) -> WireToolCall:
    """Return a tool call in the format of messages."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    return {"id": key, "name": name, "arguments": text}


def assistant(text: str, calls: Sequence[WireToolCall] = ()) -> Message:
    message: Message = {"role": "assistant", "content": text}
    return {**message, "tool_calls": list(calls)} if calls else message


def tool_result(key: str, text: str, *, failed: bool = False) -> Message:
    message: Message = {"role": "tool", "content": text, "tool_call_id": key}
    return {**message, "is_error": True} if failed else message


def user(text: str) -> Message:
    """Return a message of the person, or one that a framework sends in this role."""
    return {"role": "user", "content": text}


def persons_words(messages: Sequence[Message], place: int) -> tuple[int, str]:
    """Return where the person's words that end at ``place`` begin, and the words.

    Several messages without an answer between them belong together; but a message after the result of a tool may be the
    tool's.
    """
    start = place
    while start and messages[start - 1]["role"] == "user":
        start -= 1
    if start and messages[start - 1]["role"] == "tool":
        start = place
    return start, "\n\n".join(one["content"] for one in messages[start : place + 1])


def _system(turn: Turn) -> str:
    return "\n\n".join(one["content"] for one in turn.prompt.stable)


def _messages(turn: Turn) -> list[Message]:
    """Return the history, the live layers, and the person's message.

    Not every provider accepts instructions between messages: live layers are sent in the role of the user.
    """
    prompt = turn.prompt
    return [*prompt.history, *(user(one["content"]) for one in prompt.live), prompt.message]


def _loop(turn: Turn, said: Sequence[Message]) -> list[Message | int]:
    """Return what followed the person's message: unchanged where it fits, shortened where it does not."""
    loop = turn.prompt.loop
    sent, behind = loop[: len(turn.loop)], [user(one["content"]) for one in loop[len(turn.loop) :]]
    known = [place for place, one in enumerate(said) if one["role"] != "user"][: len(turn.said)]
    end = known[-1] + 1 if known else 0
    first: list[Message | int] = [*sent]
    if len(sent) == len(known):
        as_sent = dict(zip(known, sent, strict=True))
        first = [place if as_sent.get(place, said[place]) == said[place] else as_sent[place] for place in range(end)]
    return [*first, *range(end, len(said)), *behind]


def _unanswered(spoken: Sequence[Message]) -> bool:
    asked = {call["id"] for one in spoken for call in one.get("tool_calls", ())}
    return not asked <= {one.get("tool_call_id") for one in spoken}


def _exported(thread: str, messages: Sequence[Message]) -> Mapping[str, object]:
    """Return a conversation from elsewhere in the format in which a thread is imported."""
    items = [{"id": str(number), **message} for number, message in enumerate(messages)]
    return {"format": "promptuary-thread", "version": 1, "thread": thread, "items": items}
