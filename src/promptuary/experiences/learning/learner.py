"""Learns from finished turns: stores lessons in the transaction of the turn, and counts which experiences were used.

``recording`` (from tool calls) and ``stated`` (from what the person said) extract the lessons. Text from outside makes
a turn foreign: its lessons are stored with a mark, and not shown before somebody confirms them.
"""

from collections.abc import Sequence
from typing import Final

from promptuary.core.blocks import Trust
from promptuary.core.experiences import Experience, ExperienceFields
from promptuary.core.messages import Item
from promptuary.core.receipts import Receipt
from promptuary.core.threads import FinishedTurn
from promptuary.experiences.experiences import Experiences
from promptuary.experiences.learning.lessons import Lesson
from promptuary.experiences.learning.recording import learnt, reaches_out
from promptuary.experiences.learning.stated import stated

LAYER: Final = "experience"
"""The layer that shows experiences."""
_SCHEME: Final = "experience:"
_WEB: Final = "url:"
_MOST_ITEMS: Final = 200
"""How many of the last messages of a history are checked for text from outside."""


class ExperienceLearner:
    """Learns for one principal: from tool calls and, if ``reads_words``, from what the person states."""

    name = "experiences"

    def __init__(self, experiences: Experiences, *, reads_words: bool = True) -> None:
        self._experiences, self._reads_words = experiences, reads_words
        self._recorded: set[str] = set()

    def record(self, finished: FinishedTurn) -> None:
        """Store the lessons of a finished turn, and count the experiences that its prompt showed as used.

        An experience that is both shown and learnt again counts once.
        """
        again: set[str] = set()
        if finished.turn not in self._recorded:
            foreign = held_foreign_text(finished.history, finished.receipt)
            taught = self._lessons(finished.items, foreign=foreign)
            again = {one.id for one in self.store(taught, finished.thread, finished.turn)}
        self._experiences.mark_all_used([one for one in shown_for(finished.receipt) if one not in again])

    def record_now(self, turn: str, thread: str, history: Sequence[Item], receipt: Receipt | None) -> list[Experience]:
        """Store and return the lessons of a turn that is not finished yet; when it finishes, nothing is added."""
        foreign = held_foreign_text(history, receipt)
        self._recorded.add(turn)
        own = [item for item in history if item.turn == turn]
        return self.store(self._lessons(own, foreign=foreign), thread, turn)

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

    def _lessons(self, items: Sequence[Item], *, foreign: bool) -> list[Lesson]:
        return lessons(items, foreign=foreign) if self._reads_words else learnt(items, foreign=foreign)


def lessons(items: Sequence[Item], *, foreign: bool) -> list[Lesson]:
    """Return the lessons in the messages of a turn."""
    asked = next((item for item in items if item.role == "user" and item.kind == "message"), None)
    return [*learnt(items, foreign=foreign), *(stated(asked.words) if asked is not None else ())]


def shown_for(receipt: Receipt) -> list[str]:
    """Return the ids of the experiences that a prompt showed because they resemble its message."""
    return [
        entry.source.removeprefix(_SCHEME)
        for entry in receipt.entries
        if entry.layer == LAYER and entry.status != "out" and entry.score is not None
    ]


def held_foreign_text(history: Sequence[Item], receipt: Receipt | None) -> bool:
    """Return whether a turn saw text from outside: in its prompt, or in recent attachments or tool results.

    Experiences themselves do not count: what is shown of them was confirmed.
    """
    entries = receipt.entries if receipt is not None else ()
    if any(one.status != "out" and one.trust is Trust.EXTERNAL and one.layer != LAYER for one in entries):
        return True
    return any(
        item.imported
        or any(one.source.startswith(_WEB) for one in item.attachments)
        or any(map(reaches_out, item.tool_calls))
        for item in history[-_MOST_ITEMS:]
    )
