"""Learns from finished turns: stores lessons in the transaction of the turn, and counts which experiences were used.

``recording`` (from tool calls) and ``stated`` (from what the person said) extract the lessons. Text from outside makes
a turn foreign: its lessons are stored with a mark, and not shown before somebody confirms them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from promptuary.base.messages import Item, Message
from promptuary.context.receipt import Receipt
from promptuary.context.replies import asked_item, reply_items, turn_of_others
from promptuary.experiences.learning.lessons import Lesson
from promptuary.experiences.learning.recording import learnt, reaches_out
from promptuary.experiences.learning.stated import stated
from promptuary.experiences.values import LAYER, Experience, ExperienceFields
from promptuary.memory.writeback.learning import own_file
from promptuary.memory.writeback.runner import foreign_turns
from promptuary.memory.writeback.snapshot import held_foreign_text
from promptuary.memory.writeback.values import FinishedTurn

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.threads.prepared import Turn

_SCHEME: Final = "experience:"


class ExperienceLearner:
    """Learns for one principal: from tool calls and, unless a model reads the turns, from what the person states."""

    name = "experiences"

    def __init__(self, app: "App") -> None:
        self._experiences, self._threads = app.experiences(), app.state().threads(app.principal)
        self._own_file, self._reads_words = own_file(app.workspace), not app.settings.experience_model
        self._recorded: set[str] = set()

    def record(self, finished: FinishedTurn) -> None:
        """Store the lessons of a finished turn, and count the experiences that its prompt showed as used.

        An experience that is both shown and learnt again counts once.
        """
        again: set[str] = set()
        if finished.turn not in self._recorded:
            taught = self._lessons(finished.turn, finished.thread, finished.history, finished.receipt)
            again = {one.id for one in self.store(taught, finished.thread, finished.turn)}
        self._experiences.mark_all_used([one for one in shown_for(finished.receipt) if one not in again])

    def record_messages(self, messages: Sequence[Message], turn: "Turn | None") -> Sequence[Experience]:
        """Store and return the lessons of messages after the prompt of ``turn``, or of a turn of another program."""
        if turn is None:
            name, items = turn_of_others(messages)
            return self.record_now(name, "", items, None)
        history = [*self._threads.history(turn.thread), asked_item(turn), *reply_items(messages, turn.id)]
        return self.record_now(turn.id, turn.thread, history, turn.receipt)

    def record_now(self, turn: str, thread: str, history: Sequence[Item], receipt: Receipt | None) -> list[Experience]:
        """Store and return the lessons of a turn that is not finished yet; when it finishes, nothing is added."""
        self._recorded.add(turn)
        return self.store(self._lessons(turn, thread, history, receipt), thread, turn)

    async def settle(self) -> None:
        """Do nothing: recorded experiences are indexed in the background."""

    def store(self, taught: Sequence[Lesson], thread: str = "", turn: str = "") -> list[Experience]:
        """Store lessons, and return them as they are stored."""
        stored = []
        for one in taught:
            fields: ExperienceFields = {**one.fields, "thread": thread, "turn": turn}
            if one.topic:
                value, said = (one.value, one.intent) if one.value else (one.intent, "")
                made = self._experiences.track_preference(one.topic, value, said=said, trust=one.trust, **fields)
            else:
                made = self._experiences.add(one.type, one.intent, one.solution, trust=one.trust, **fields)
            stored.append(made)
        return stored

    def _lessons(self, turn: str, thread: str, history: Sequence[Item], receipt: Receipt | None) -> list[Lesson]:
        own, earlier = [one for one in history if one.turn == turn], [one for one in history if one.turn != turn]
        # What a call repeats of a result is not stored; so results alone make a turn foreign only if anybody may have
        # written them.
        said = [item for item in history if item.role != "tool"]
        reached_out = any(reaches_out(call) for item in history for call in item.tool_calls)
        foreign = reached_out or self._is_foreign(thread, said, receipt)
        return (lessons if self._reads_words else learnt)(own, foreign=foreign, earlier=earlier)

    def _is_foreign(self, thread: str, history: Sequence[Item], receipt: Receipt | None) -> bool:
        """Return whether a turn held foreign text, by the rule of writeback: lessons come back into prompts, too."""
        earlier = foreign_turns(self._threads, thread) if thread else ()
        return held_foreign_text(history, receipt, foreign_turns=earlier, own_file=self._own_file)


def lessons(items: Sequence[Item], *, foreign: bool, earlier: Sequence[Item] = ()) -> list[Lesson]:
    """Return the lessons in the messages of a turn."""
    asked = next((item for item in items if item.role == "user" and item.kind == "message"), None)
    return [*learnt(items, foreign=foreign, earlier=earlier), *(stated(asked.words) if asked is not None else ())]


def shown_for(receipt: Receipt) -> list[str]:
    """Return the ids of the experiences that a prompt showed because they resemble its message."""
    return [
        entry.source.removeprefix(_SCHEME)
        for entry in receipt.entries
        if entry.layer == LAYER and entry.status != "out" and entry.score is not None
    ]
