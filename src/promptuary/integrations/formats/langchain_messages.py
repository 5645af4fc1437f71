"""Converts messages between LangChain's format and ours. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from promptuary.integrations.conversation import Request, assistant, tool_call, tool_result, user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import AnyMessage

    from promptuary.base.messages import Message


def as_ours(message: BaseMessage) -> Message:
    match message:
        case AIMessage():
            return assistant(
                str(message.text), [tool_call(one["id"] or "", one["name"], one["args"]) for one in message.tool_calls]
            )
        case ToolMessage():
            return tool_result(message.tool_call_id, str(message.text), failed=message.status == "error")
        case _:
            return user(str(message.text))


def joined_system(own: Sequence[SystemMessage], ours: str) -> SystemMessage | None:
    """Return the agent's instructions and ours; content blocks stay blocks, with their cache markers."""
    contents = [*(one.content for one in own), *([ours] if ours else [])]
    if all(isinstance(one, str) for one in contents):
        return SystemMessage("\n\n".join(map(str, contents))) if contents else None
    blocks = [part for one in contents for part in ([{"type": "text", "text": one}] if isinstance(one, str) else one)]
    return SystemMessage(content=blocks)


def sent_messages(request: Request, given: Sequence[BaseMessage], start: int, place: int) -> list[AnyMessage]:
    """Return the messages to send: pictures and the like stay with the person's words, ``given[start : place + 1]``."""
    said = [block for one in given[start : place + 1] if isinstance(one.content, list) for block in one.content]
    media = [one for one in said if isinstance(one, dict) and one.get("type") != "text"]
    text = request.messages[-1]["content"]
    asked = HumanMessage([{"type": "text", "text": text}, *media]) if media else HumanMessage(text)
    loop = [given[place + 1 + one] if isinstance(one, int) else _made(one) for one in request.loop]
    return cast("list[AnyMessage]", [*map(_made, request.messages[:-1]), asked, *loop])


def _made(message: Message) -> BaseMessage:
    match message["role"]:
        case "assistant":
            calls = message.get("tool_calls", ())
            made = [{"id": one["id"], "name": one["name"], "args": _object(one["arguments"])} for one in calls]
            return AIMessage(message["content"], tool_calls=made)
        case "tool":
            failed = message.get("is_error", False)
            return ToolMessage(
                message["content"],
                tool_call_id=message.get("tool_call_id", ""),
                status="error" if failed else "success",
            )
        case _:
            return HumanMessage(message["content"])


def _object(arguments: str) -> dict[str, Any]:
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = arguments
    return value if isinstance(value, dict) else {"arguments": value}
