"""What a server answers, as texts that can be shown to a model. Pure.

Only text is taken. Images and other data are named and left out; a structured answer counts if there is no text.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from promptuary.base.text import beginning, one_line, valid_unicode

_MOST_PARTS: Final = 200
_LONGEST: Final = 2_000_000
"""Characters of all parts together; a window has room for less."""


class ServerText(Struct, frozen=True):
    """A text of a server; ``left_out`` says what was in the answer that is no text, or too much."""

    text: str
    left_out: tuple[str, ...] = ()
    is_error: bool = False


def text_of_call(answer: Mapping[str, Any]) -> ServerText:
    """Return the result of a tool, from the object that a server sent."""
    parts, left_out = _parts(answer.get("content"))
    structured = answer.get("structuredContent")
    if not parts and structured is not None:
        parts = [json.dumps(structured, ensure_ascii=False)]
    return _bounded(parts, left_out, is_error=answer.get("isError") is True)


def text_of_resource(answer: Mapping[str, Any]) -> ServerText:
    """Return the content of a resource, from the object that a server sent."""
    said = answer.get("contents")
    parts, left_out = _parts({"type": "resource", "resource": one} for one in (said if isinstance(said, list) else ()))
    return _bounded(parts, left_out)


def _parts(content: object) -> tuple[list[str], list[str]]:
    """Return the texts in a list of content, and the names of the rest."""
    texts, left_out = list[str](), list[str]()
    for number, one in enumerate(content if isinstance(content, Iterable) else ()):
        if number >= _MOST_PARTS:
            left_out.append(f"everything after {_MOST_PARTS} parts")
            break
        if not isinstance(one, Mapping):
            continue
        match one.get("type"):
            case "text":
                texts.append(str(one.get("text", "")))
            case "resource_link":
                texts.append(str(one.get("uri", "")))
            case "resource" if isinstance(resource := one.get("resource"), Mapping) and "text" in resource:
                texts.append(str(resource["text"]))
            case kind:
                media = str(one.get("mimeType") or dict(one.get("resource") or {}).get("mimeType") or kind or "data")
                left_out.append(beginning(one_line(media), 60))
    return texts, left_out


def _bounded(parts: list[str], left_out: list[str], *, is_error: bool = False) -> ServerText:
    text = "\n\n".join(part.strip("\n") for part in parts)
    if len(text) > _LONGEST:
        left_out.append(f"{len(text) - _LONGEST:,} characters")
    return ServerText(valid_unicode(text[:_LONGEST]), tuple(dict.fromkeys(left_out)), is_error)
