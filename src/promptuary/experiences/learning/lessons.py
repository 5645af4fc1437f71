"""A lesson of a turn, before it is validated and stored as an experience."""

from typing import Any

from msgspec import Struct, field

from promptuary.experiences.values import ExperienceFields
from promptuary.memory.values import NoteTrust


class Lesson(Struct, frozen=True):
    """Something to store: what was wanted, what was done about it, and further fields.

    ``trust`` says whose words it holds. External ones are not shown before they are confirmed. ``topic`` is what a
    preference is about: another value of the same topic contradicts it. ``value`` is what is preferred of the topic, if
    ``intent`` says that in a sentence.
    """

    type: str
    intent: str
    solution: Any
    fields: ExperienceFields = field(default_factory=ExperienceFields)
    trust: NoteTrust = "agent"
    topic: str = ""
    value: str = ""
