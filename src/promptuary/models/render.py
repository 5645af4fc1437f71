"""Renders a prompt for a provider. Pure.

Roles are mapped to those that the provider knows. If the provider accepts cache marks, they are set at the end of the
stable part, of the history, and of the results of tools.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from promptuary.base.messages import EMPTY, Message, Prompt, WireImage
from promptuary.base.text import one_line

Provider = Literal["openai", "openai-responses", "anthropic", "text"]
"""The formats in which a prompt can be rendered."""

_CACHE_MARK = {"type": "ephemeral"}
_BEGINNING = {"role": "user", "content": [{"type": "text", "text": "(The conversation begins here.)"}]}


def openai_chat(prompt: Prompt) -> list[dict[str, Any]]:
    """Return the ``messages`` of an OpenAI-compatible chat completion."""
    return [_chat_message(message) for message in prompt.messages]


def _chat_message(message: Message) -> dict[str, Any]:
    rendered: dict[str, Any] = {"role": message["role"], "content": message["content"]}
    if images := message.get("images"):
        shown = [_image(one, lambda url: {"type": "image_url", "image_url": {"url": url}}, "text") for one in images]
        rendered["content"] = [*shown, {"type": "text", "text": message["content"]}]
    if "tool_calls" in message:
        rendered["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in message["tool_calls"]
        ]
    if "tool_call_id" in message:
        rendered["tool_call_id"] = message["tool_call_id"]
    return rendered


def _image(image: WireImage, shown: Callable[[str], dict[str, Any]], text: str) -> dict[str, Any]:
    """Return an image as a part of a message, made by ``shown`` from its data; without data, a remark."""
    if "data" not in image:
        return {"type": text, "text": _absent(image, "is not kept; attach it again to show it")}
    return shown(f"data:{image['media_type']};base64,{image['data']}")


def _absent(image: WireImage, why: str) -> str:
    return f"(The image {one_line(image['name'])} {why}.)"


def openai_responses(prompt: Prompt) -> list[dict[str, Any]]:
    """Return the ``input`` of an OpenAI response."""
    return [item for message in prompt.messages for item in _response_items(message)]


def _response_items(message: Message) -> list[dict[str, Any]]:
    if message["role"] == "tool":
        call = message.get("tool_call_id", "")
        return [{"type": "function_call_output", "call_id": call, "output": message["content"]}]
    calls = [
        {"type": "function_call", "call_id": one["id"], "name": one["name"], "arguments": one["arguments"]}
        for one in message.get("tool_calls", ())
    ]
    if calls and not message["content"]:
        return calls
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    images = message.get("images", ())
    shown = [_image(one, lambda url: {"type": "input_image", "image_url": url}, kind) for one in images]
    content = [*shown, {"type": kind, "text": message["content"] or EMPTY}]
    text = [{"type": "message", "role": message["role"], "content": content}]
    return [*text, *calls]


def anthropic(prompt: Prompt) -> dict[str, Any]:
    """Return ``system`` and ``messages`` of an Anthropic request, with marks where a cache may end."""
    system: list[dict[str, Any]] = [{"type": "text", "text": message["content"]} for message in prompt.stable]
    if system:
        system[-1] = {**system[-1], "cache_control": _CACHE_MARK}
    history = _merged(prompt.history)
    if history:
        history[-1]["content"][-1] = {**history[-1]["content"][-1], "cache_control": _CACHE_MARK}
    now = [*prompt.live, prompt.message, *prompt.loop]
    behind = len(now) - (now[-1]["role"] == "developer")
    loop = _merged(now[:behind])
    if prompt.loop:
        loop[-1]["content"][-1] = {**loop[-1]["content"][-1], "cache_control": _CACHE_MARK}
    messages = _joined(_joined(history, loop), _merged(now[behind:]))
    # Anthropic refuses a conversation that begins with the assistant: a greeting, a pinned answer.
    first = [] if messages[0]["role"] == "user" else [_BEGINNING]
    return {"system": system, "messages": [*first, *messages]}


def _merged(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages with alternating roles: neighbours of one role become one message of several blocks."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        merged = _joined(merged, [{"role": role, "content": _anthropic_blocks(message)}])
    return merged


def _joined(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if before and after and before[-1]["role"] == after[0]["role"]:
        middle = {"role": after[0]["role"], "content": [*before[-1]["content"], *after[0]["content"]]}
        return [*before[:-1], middle, *after[1:]]
    return [*before, *after]


def _anthropic_blocks(message: Message) -> list[dict[str, Any]]:
    if message["role"] == "tool":
        failed = {"is_error": message["is_error"]} if "is_error" in message else {}
        result = {"type": "tool_result", "tool_use_id": message.get("tool_call_id", ""), "content": message["content"]}
        return [{**result, **failed}]
    text: list[dict[str, Any]] = [{"type": "text", "text": message["content"]}] if message["content"] else []
    text = [*map(_anthropic_image, message.get("images", ())), *text]
    calls = [
        {"type": "tool_use", "id": one["id"], "name": one["name"], "input": _arguments(one["arguments"])}
        for one in message.get("tool_calls", ())
    ]
    return [*text, *calls] or [{"type": "text", "text": EMPTY}]


def _anthropic_image(image: WireImage) -> dict[str, Any]:
    def shown(_: str) -> dict[str, Any]:
        source = {"type": "base64", "media_type": image["media_type"], "data": image["data"]}
        return {"type": "image", "source": source}

    return _image(image, shown, "text")


def _arguments(text: str) -> Any:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": value}


def plain_text(prompt: Prompt) -> str:
    """Return the prompt as one text, for models without roles."""
    return "\n\n".join(f"[{message['role']}]\n{_plain(message)}" for message in prompt.messages) + "\n"


def _plain(message: Message) -> str:
    calls = [f"(calls {call['name']} with {call['arguments']})" for call in message.get("tool_calls", ())]
    images = [_absent(image, "is not shown: this form has text alone") for image in message.get("images", ())]
    return "\n".join([*([message["content"]] if message["content"] else []), *images, *calls])


FORMS: Mapping[Provider, Callable[[Prompt], Any]] = {
    "openai": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "text": plain_text,
}
"""How a prompt is rendered for each provider."""


def render_message(message: Message, provider: Provider) -> Any:
    """Return one message, without any other, in the form of a provider."""
    return FORMS[provider](Prompt((), (), (), message))
