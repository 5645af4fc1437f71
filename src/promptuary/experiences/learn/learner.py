"""Learns experiences from finished turns, and counts which of them were used."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from promptuary.base.messages import Item, Message
from promptuary.context.receipt import Receipt
from promptuary.context.replies import reply_items, turn_of_others
from promptuary.experiences.drafting import Lesson
from promptuary.experiences.learn.from_calls import lessons_from_calls
from promptuary.experiences.learn.from_model import SCHEMA, lesson_question, lessons_from_answer
from promptuary.experiences.learn.from_statements import lessons_from_statements
from promptuary.experiences.values import LAYER, Experience, ExperienceFields
from promptuary.memory.writeback.learning import turn_so_far
from promptuary.memory.writeback.snapshot import FinishedTurn, Foreign, TurnSnapshot, foreign_text
from promptuary.models.from_settings import chat_model

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.models.json_answers import Schema
    from promptuary.threads.prepared import Turn

_SCHEME: Final = "experience:"


class ExperienceLearner:
    """Learns the experiences of one principal: from tool calls, and from what the person said.

    What the person said is read by the model of the settings, if there is one. External lessons are stored with a mark,
    and not shown before somebody confirms them.
    """

    name = "experiences"
    schema: "Schema" = SCHEMA

    def __init__(self, app: "App") -> None:
        self._app, self._experiences = app, app.experiences()
        self.model = chat_model(app.settings, app.settings.experience_model) if app.settings.experience_model else None
        self._recorded: set[str] = set()

    def record(self, finished: FinishedTurn, foreign: Foreign) -> bool:
        """Store the lessons of a finished turn, and count the experiences that its prompt showed as used.

        An experience that is both shown and learnt again counts once.
        """
        again: set[str] = set()
        if finished.turn not in self._recorded:
            again = {experience.id for experience in self._store_lessons(finished, foreign)}
        if finished.receipt is not None:
            self._experiences.mark_all_used([key for key in used_experiences(finished.receipt) if key not in again])
        return self.model is not None

    def record_messages(self, messages: Sequence[Message], turn: "Turn | None") -> Sequence[Experience]:
        """Store and return the lessons of messages after the prompt of ``turn``, or of a turn of another program.

        When the turn finishes, nothing is added.
        """
        if turn is not None:
            finished, foreign = turn_so_far(self._app, turn, reply_items(messages, turn.id))
        else:
            name, items = turn_of_others(messages)
            finished, foreign = FinishedTurn(name, "", items), foreign_text(items, None)
        self._recorded.add(finished.turn)
        return self._store_lessons(finished, foreign)

    def question(self, turn: TurnSnapshot) -> Sequence[Message]:
        """Return what to ask the model."""
        return lesson_question(turn)

    def learn(self, turn: TurnSnapshot, answer: Mapping[str, Any] | None) -> None:
        """Store what may be stored of the model's answer."""
        if answer is not None:
            self._store(lessons_from_answer(answer, turn), turn.thread, turn.turn)

    def _store_lessons(self, finished: FinishedTurn, foreign: Foreign) -> list[Experience]:
        own = finished.items
        earlier = [item for item in finished.history if item.turn != finished.turn]
        found = lessons(own, foreign=foreign, earlier=earlier, stated=self.model is None)
        return self._store(found, finished.thread, finished.turn)

    def _store(self, found: Sequence[Lesson], thread: str, turn: str) -> list[Experience]:
        stored = []
        for lesson in found:
            fields: ExperienceFields = {**lesson.fields, "thread": thread, "turn": turn}
            if lesson.topic:
                value, said = (lesson.value, lesson.intent) if lesson.value else (lesson.intent, "")
                made = self._experiences.track_preference(lesson.topic, value, said=said, trust=lesson.trust, **fields)
            else:
                made = self._experiences.add(lesson.type, lesson.intent, lesson.solution, trust=lesson.trust, **fields)
            stored.append(made)
        return stored


def lessons(
    items: Sequence[Item], *, foreign: Foreign = "none", earlier: Sequence[Item] = (), stated: bool = True
) -> list[Lesson]:
    """Return the lessons in the messages of a turn; what the person says in them is read if ``stated`` is set."""
    asked = next((item for item in items if item.role == "user" and item.kind == "message"), None)
    from_words = lessons_from_statements(asked.words) if stated and asked is not None else []
    return [*from_words, *lessons_from_calls(items, foreign=foreign, earlier=earlier)]


def used_experiences(receipt: Receipt) -> list[str]:
    """Return the ids of the experiences that a prompt showed because they resemble its message."""
    return [
        entry.source.removeprefix(_SCHEME)
        for entry in receipt.entries
        if entry.layer == LAYER and entry.status != "out" and entry.score is not None
    ]
