"""Reads Gemini's transcript of a session: messages by id, each written again when something is added to it. Pure.

A later line may replace all messages, or remove those from one on. The results of tools are stored with their calls.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from promptuary.hooks.agents import AGENTS, typed

_CONTEXT = "<session_context>"
"""The beginnings of messages that Gemini writes in the person's name."""


def gemini_messages(entries: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the messages of a session with their ids, as they are after the last entry."""
    for identifier, entry in _standing(entries).items():
        match entry.get("type"):
            case "user":
                said = _typed(entry)
                if said:
                    yield identifier, {"role": "user", "content": said}
            case "gemini":
                yield from ((identifier, message) for message in _answered(entry))
            case _:
                pass


def _standing(entries: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        match entry:
            case {"$set": {"messages": list() as messages}}:
                found = {str(one.get("id")): one for one in messages if isinstance(one, dict)}
            case {"$rewindTo": str() as first}:
                last = first if first in found else next(iter(found), "")
                while found and found.popitem()[0] != last:
                    pass
            case {"id": str() as identifier, "type": "user" | "gemini"}:
                found[identifier] = entry
            case _:
                pass
    return found


def _typed(entry: Mapping[str, Any]) -> str:
    """Return what the person typed, without context from hooks or Gemini, and without results of tools."""
    shown = entry.get("displayContent") or entry.get("content")
    texts = [typed(AGENTS["gemini"], one) for one in _texts(shown)]
    return "\n\n".join(one for one in texts if one.strip() and not one.startswith(_CONTEXT))


def _answered(entry: Mapping[str, Any]) -> Iterator[Any]:
    calls = entry.get("toolCalls")
    known = [one for one in calls if isinstance(one, dict) and one.get("id")] if isinstance(calls, list) else []
    text = "\n\n".join(_texts(entry.get("content")))
    if text or known:
        yield {"role": "assistant", "content": text, **({"tool_calls": list(map(_call, known))} if known else {})}
    for one in known:
        failed = one.get("status") not in {"success", None}
        yield {
            "role": "tool",
            "tool_call_id": str(one["id"]),
            "content": _result(one.get("result")),
            "is_error": failed,
        }


def _call(one: Mapping[str, Any]) -> dict[str, Any]:
    named = {"name": str(one.get("name")), "arguments": json.dumps(one.get("args") or {})}
    return {"id": str(one["id"]), "type": "function", "function": named}


def _result(value: Any) -> str:
    """Return the answer of a tool as text."""
    responses = (
        [one.get("functionResponse") for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    )
    found = [one["response"] for one in responses if isinstance(one, dict) and isinstance(one.get("response"), dict)]
    return "\n".join(str(one.get("output") or one.get("error") or json.dumps(one)) for one in found)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content] if content else []
    parts = content if isinstance(content, list) else []
    return [one["text"] for one in parts if isinstance(one, dict) and isinstance(one.get("text"), str) and one["text"]]
