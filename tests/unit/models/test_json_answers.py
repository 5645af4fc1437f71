"""JSON from models: the one object that fits is found in whatever they wrap it in, and nothing else is believed."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.errors import ModelAnswerError
from promptuary.base.messages import Message
from promptuary.models.json_answers import complete_json, json_object, mismatch
from promptuary.testing.scripted import ScriptedModel

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": ["string", "null"]},
    },
    "required": ["kind", "tags"],
}
GOOD = {"kind": "a", "tags": ["x"], "note": None}
TEXT = json.dumps(GOOD)


@pytest.mark.parametrize(
    "answer",
    [
        TEXT,
        f"\n\n  {TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"Sure! Here it is:\n{TEXT}\nAnything else?",
        f'<think>maybe {{"kind": "b", "tags": []}} ?</think>\n{TEXT}',
        f"The set {{1, 2}} says {TEXT}",
        f'{{"other": 1}} {TEXT}',
        f"{TEXT}\n{TEXT}",
    ],
)
def test_the_one_object_that_fits_is_found(answer: str) -> None:
    assert json_object(answer, SCHEMA) == GOOD


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("I would rather not.", "no object"),
        ('{"kind": "a"}', "lacks 'tags'"),
        ('{"kind": "c", "tags": []}', "none of the choices"),
        ('{"kind": "a", "tags": "x"}', "not of type array"),
        ('{"kind": "a", "tags": [1]}', "an item of 'tags'"),
        ('{"kind": "a", "tags": [], "note": 7}', "string or null"),
        ('{"kind": NaN, "tags": []}', "no object"),
        (f"[{TEXT[:-1]}", "no object"),
        (TEXT + '{"kind": "b", "tags": []}', "2 different"),
        ("{" * 100_000, "no object"),
        ('{"a":' * 50_000, "no object"),
    ],
)
def test_anything_else_is_an_error_that_says_why(answer: str, why: str) -> None:
    with pytest.raises(ModelAnswerError, match=why):
        json_object(answer, SCHEMA)


def test_an_answer_that_is_no_text_is_an_error() -> None:
    with pytest.raises(ModelAnswerError, match="text"):
        json_object(None, SCHEMA)


def test_true_is_no_number() -> None:
    assert mismatch(True, {"type": "integer"}) == "the answer is not of type integer"
    assert mismatch(True, {"type": "boolean"}) == ""


def test_a_model_that_cannot_be_held_to_a_schema_is_told_it() -> None:
    class Plain:
        asked: Sequence[Message] = ()

        async def complete(self, messages: Sequence[Message], *, max_tokens: int) -> str:
            self.asked = messages
            return TEXT

    model = Plain()

    assert asyncio.run(complete_json(model, [], SCHEMA, max_tokens=9)) == GOOD
    assert json.dumps(SCHEMA) in model.asked[-1]["content"]


def test_a_model_that_can_is_given_it() -> None:
    model = ScriptedModel([TEXT])

    assert asyncio.run(complete_json(model, [], SCHEMA, max_tokens=9)) == GOOD
    assert [(one.schema, one.messages) for one in model.asked] == [(SCHEMA, ())]


@given(st.text(alphabet='{}[]",:\\ anull01<think>/', max_size=300))
def test_nothing_but_an_object_that_fits_or_the_one_error_comes_out(text: str) -> None:
    try:
        found = json_object(text, SCHEMA)
    except ModelAnswerError:
        return
    assert mismatch(found, SCHEMA) == ""
