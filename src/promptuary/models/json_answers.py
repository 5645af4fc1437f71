"""Asks any chat model for one JSON object, and rejects every answer that does not fit the schema.

A model that can enforce a schema (``JsonChatModel``) gets it as a parameter; any other gets it in the prompt. Either
way the answer may be wrapped in prose, a code fence or thoughts, and may be nonsense: the one object that fits is taken
out of it, and everything else is a ``ModelAnswerError``. The search is bounded, whatever a model writes.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from promptuary.base.errors import ModelAnswerError

if TYPE_CHECKING:
    from promptuary.base.messages import Message
    from promptuary.models.protocols import ChatModel, JsonChatModel

Schema = Mapping[str, Any]
"""A JSON schema that uses ``type enum properties required items`` and nothing else that restricts."""

_LONGEST: Final = 400_000
_MOST_STARTS: Final = 64
"""How many opening braces are tried: prose has few, and each may cost a pass over the text."""
_THOUGHTS: Final = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


async def complete_json(
    model: "ChatModel | JsonChatModel", messages: Sequence["Message"], schema: Schema, *, max_tokens: int
) -> dict[str, Any]:
    """Return the JSON object that ``model`` answers with. Raises ``ModelAnswerError`` if it is not one of ``schema``.

    What the model itself raises is passed on.
    """
    held = getattr(model, "complete_json", None)
    if held is not None:
        text = await held(messages, schema, max_tokens=max_tokens)
    else:
        text = await model.complete([*messages, instruction(schema)], max_tokens=max_tokens)
    return json_object(text, schema)


def instruction(schema: Schema) -> "Message":
    """Return the instruction to answer in JSON, for a model that cannot enforce a schema."""
    shape = json.dumps(schema, ensure_ascii=False)
    return {
        "role": "user",
        "content": f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{shape}",
    }


def json_object(answer: object, schema: Schema) -> dict[str, Any]:
    """Return the one object in a model's answer that fits ``schema``.

    Raises ``ModelAnswerError`` if there is none, or if there are two that differ.
    """
    if not isinstance(answer, str):
        raise ModelAnswerError("the model did not answer with text")
    problems: list[str] = []
    fitting: list[dict[str, Any]] = []
    for found in _objects(_THOUGHTS.sub("", answer[:_LONGEST], count=1)):
        problem = mismatch(found, schema)
        if problem:
            problems.append(problem)
        elif found not in fitting:
            fitting.append(found)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ModelAnswerError(f"the model answered with {len(fitting)} different JSON objects where one was asked for")
    raise ModelAnswerError(f"the model answered without the JSON that was asked for: {(problems or ['no object'])[0]}")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a text, from left to right, none inside another."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    at, tried = text.find("{"), 0
    while at >= 0 and tried < _MOST_STARTS:
        tried += 1
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            found, end = None, at + 1
        if isinstance(found, dict):
            yield found
        at = text.find("{", end)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def mismatch(value: object, schema: Schema, place: str = "the answer") -> str:
    """Return how ``value`` does not fit ``schema``; empty if it does."""
    wanted = schema.get("type", ())
    kinds = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    if kinds and not any(_is(value, kind) for kind in kinds):
        return f"{place} is not of type {' or '.join(kinds)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} is none of the choices: {', '.join(map(str, schema['enum']))}"
    if isinstance(value, list) and "items" in schema:
        inner = (mismatch(one, schema["items"], f"an item of {place}") for one in value)
        return next(filter(None, inner), "")
    if isinstance(value, dict):
        return _mismatch_of_object(value, schema, place)
    return ""


def wrong_arguments(tool: str, given: Mapping[str, Any], schema: Schema) -> str:
    """Return what is wrong with the arguments of a call, and what the tool takes; empty if nothing is.

    An argument that the tool does not know is also an error: otherwise it would be ignored silently.
    """
    known: Mapping[str, Schema] = schema.get("properties", {})
    unknown = next((name for name in given if name not in known), None)
    problem = mismatch(given, schema, "the call") if unknown is None else f"there is no argument {unknown[:60]!r}"
    needed = schema.get("required", ())
    takes = ", ".join(f"{name} (needed)" if name in needed else name for name in known)
    return f"{problem}; {tool} takes {takes}" if problem else ""


def _mismatch_of_object(value: Mapping[str, Any], schema: Schema, place: str) -> str:
    missing = next((name for name in schema.get("required", ()) if name not in value), None)
    if missing is not None:
        return f"{place} lacks {missing!r}"
    properties: Mapping[str, Schema] = schema.get("properties", {})
    inner = (mismatch(value[name], shape, repr(name)) for name, shape in properties.items() if name in value)
    return next(filter(None, inner), "")


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])
