"""Reads Gemini's transcript of a session: messages by id, each written again when something is added to it. Pure.

A later line may replace all messages, or remove those from one on. The results of tools are stored with their calls.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from promptuary.hooks.agents import AGENTS, typed_text

_CONTEXT = "<session_context>"
"""The beginnings of messages that Gemini writes in the person's name."""


def gemini_messages(entries: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the messages of a session with their ids, as they are after the last entry."""
    for identifier, entry in _standing(entries).items():
        match entry.get("type"):
            case "user":
                said = _typed_text(entry)
                if said:
                    yield identifier, {"role": "user", "content": said}
            case "gemini":
                yield from ((identifier, message) for message in _answer_messages(entry))
            case _:
                pass


def _standing(entries: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        match entry:
            case {"$set": {"messages": list() as messages}}:
                found = {str(message.get("id")): message for message in messages if isinstance(message, dict)}
            case {"$rewindTo": str() as first}:
                last = first if first in found else next(iter(found), "")
                while found and found.popitem()[0] != last:
                    pass
            case {"id": str() as identifier, "type": "user" | "gemini"}:
                found[identifier] = entry
            case _:
                pass
    return found


def _typed_text(entry: Mapping[str, Any]) -> str:
    """Return what the person typed, without context from hooks or Gemini, and without results of tools."""
    shown = entry.get("displayContent") or entry.get("content")
    texts = [typed_text(AGENTS["gemini"], text) for text in _texts(shown)]
    return "\n\n".join(text for text in texts if text.strip() and not text.startswith(_CONTEXT))


def _answer_messages(entry: Mapping[str, Any]) -> Iterator[Any]:
    calls = entry.get("toolCalls")
    known = [call for call in calls if isinstance(call, dict) and call.get("id")] if isinstance(calls, list) else []
    text = "\n\n".join(_texts(entry.get("content")))
    if text or known:
        yield {"role": "assistant", "content": text, **({"tool_calls": list(map(_call, known))} if known else {})}
    for call in known:
        failed = call.get("status") not in {"success", None}
        yield {
            "role": "tool",
            "tool_call_id": str(call["id"]),
            "content": _result(call.get("result")),
            "is_error": failed,
        }


def _call(one: Mapping[str, Any]) -> dict[str, Any]:
    named = {"name": str(one.get("name")), "arguments": json.dumps(one.get("args") or {})}
    return {"id": str(one["id"]), "type": "function", "function": named}


def _result(value: Any) -> str:
    """Return the answer of a tool as text."""
    responses = (
        [part.get("functionResponse") for part in value if isinstance(part, dict)] if isinstance(value, list) else []
    )
    found = [
        response["response"]
        for response in responses
        if isinstance(response, dict) and isinstance(response.get("response"), dict)
    ]
    return "\n".join(str(response.get("output") or response.get("error") or json.dumps(response)) for response in found)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content] if content else []
    parts = content if isinstance(content, list) else []
    return [
        part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str) and part["text"]
    ]
