"""Converts between items of OpenAI's responses, as the Agents SDK has them, and our messages. Pure.

One response of a model is one message: its texts, its calls, and the items that only the provider reads.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from promptuary.integrations.conversation import assistant, tool_call, tool_result, user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptuary.base.messages import Message

ItemFields = dict[str, Any]
"""An item, as a dict."""


def item_groups(items: Sequence[ItemFields]) -> list[list[ItemFields]]:
    """Return the items in groups: those of one response of a model together, each other item alone."""
    groups: list[list[ItemFields]] = []
    for item in items:
        if _by_model(item) and groups and _by_model(groups[-1][0]):
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def _by_model(item: ItemFields) -> bool:
    return item.get("role", "assistant") == "assistant" and not str(item.get("type", "")).endswith("_output")


def as_ours(group: Sequence[ItemFields]) -> Message:
    """Return a group as a message."""
    first = group[0]
    if not _by_model(first):
        if "role" in first:
            return user("\n\n".join(one["text"] for one in content_parts(first.get("content")) if "text" in one))
        return tool_result(first.get("call_id", ""), _shown(first.get("output")))
    texts = [
        one["text"]
        for item in group
        for one in content_parts(item.get("content"))
        if one.get("type") in {"output_text", "input_text"}
    ]
    calls = [
        tool_call(item["call_id"], item.get("name") or item["type"], item.get("arguments") or item)
        for item in group
        if "call_id" in item
    ]
    return assistant("".join(texts), calls)


def content_parts(content: Any) -> list[ItemFields]:
    return [{"type": "input_text", "text": content}] if isinstance(content, str) else list(content or ())


def _shown(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, default=str)


def items_of(message: Message) -> list[ItemFields]:
    """Return a message as items."""
    if message["role"] == "tool":
        call = message.get("tool_call_id", "")
        return [{"type": "function_call_output", "call_id": call, "output": message["content"]}]
    calls: list[ItemFields] = [
        {"type": "function_call", "call_id": one["id"], "name": one["name"], "arguments": one["arguments"]}
        for one in message.get("tool_calls", ())
    ]
    said = {"role": message["role"], "content": message["content"]}
    return [*([said] if message["content"] or not calls else []), *calls]
