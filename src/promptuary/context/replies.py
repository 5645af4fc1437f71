"""Parses the answers of models and the results of tools into messages of a thread. Pure.

It accepts OpenAI's chat completions and responses and Anthropic's messages, as objects of their clients or as dicts,
whole or in parts, and everything that ``render`` writes. No client is imported: the fields of an object come from its
``model_dump``. What a provider did internally (reasoning, searches that it ran) is left out.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from promptuary.base.errors import PromptuaryError
from promptuary.base.ids import new_id
from promptuary.base.messages import EMPTY, Answer, Item, Message, ToolCall, WireToolCall
from promptuary.base.text import one_line

if TYPE_CHECKING:
    from promptuary.threads.prepared import Turn

_TAKEN: Final = (
    "a reply is text, or what a model answered: a chat completion or a response of OpenAI's API or a message of "
    "Anthropic's, as an object or a dict, whole or its messages and content blocks, with the results of tools"
)
_ROLES: Final = "a reply is made of messages of the assistant and of tools"
_CALL: Final = "a tool call has an id, a name and arguments (text or an object)"
_DEEPEST: Final = 4
"""The deepest nesting of lists that is read: a list of answers that are lists of blocks, and some more."""

_OTHERS: Final = ("user", "system", "developer")

_TEXTS: Final = {"text": "text", "output_text": "text", "input_text": "text", "refusal": "refusal"}
"""The parts of a message that hold words, and the field that has them."""
_CALLS: Final = {
    "tool_use": ("id", "input"),
    "function_call": ("call_id", "arguments"),
    "custom_tool_call": ("call_id", "input"),
}
"""The parts that call a tool: the names of their id and of their arguments."""
_RESULTS: Final = {
    "tool_result": ("tool_use_id", "content"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call_output": ("call_id", "output"),
}
"""The parts that are the result of a tool: the names of the call's id and of the result."""
_OWN: Final = frozenset(
    {
        *("reasoning", "thinking", "redacted_thinking", "compaction", "program", "program_output", "additional_tools"),
        *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "tool_search_call"),
        *("tool_search_output", "mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
        *("server_tool_use", "mcp_tool_use", "mcp_tool_result", "container_upload", "web_search_tool_result"),
        *("web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result"),
        *("text_editor_code_execution_tool_result", "tool_search_tool_result"),
    }
)
"""Reasoning and tools that a provider runs internally: their outcome is in the words."""
_MEDIA: Final = frozenset({"image", "input_image", "image_url", "document", "input_file", "file"})
"""What a tool may return beside words: a history stores only words, and mentions the rest."""


def reply_items(reply: Answer, turn: str) -> list[Item]:
    """Return the reply of a model as entries of the history; anything else is refused."""
    return [item_of(message, turn) for message in reply_messages(reply)]


def asked_item(turn: "Turn") -> Item:
    """Return the message of a turn as an item of the history.

    Its id is derived from the turn's: if two callers finish the turn at the same time, the store refuses the second.
    """
    return Item(
        f"item-of-{turn.root}",
        "user",
        turn.prompt.message["content"],
        turn=turn.id,
        attachments=turn.expansion.attachments,
        words_start=turn.expansion.words_start,
    )


def turn_of_others(messages: Sequence[Message]) -> tuple[str, list[Item]]:
    """Return a turn of another program, which begins with what the person said: an id for it, and its items."""
    first = messages[0] if messages else None
    is_said = isinstance(first, Mapping) and first.get("role") == "user" and isinstance(first.get("content"), str)
    if first is None or not is_said:
        raise PromptuaryError("the messages of a turn begin with that of the person: role user, and content as text")
    turn = new_id("turn")
    return turn, [Item(new_id("item"), "user", first["content"], turn=turn), *reply_items(messages[1:], turn)]


def said_items(messages: Iterable[object], turn: str) -> list[Item]:
    """Return what was said as entries of a history: replies and results as in a reply, and what others said, too."""
    items: list[Item] = []
    for one in messages:
        message = _fields(one)
        role = message.get("role") if isinstance(message, Mapping) else None
        if role not in _OTHERS:
            items += reply_items([message], turn)
            continue
        content = message.get("content") or ""
        parts = [] if isinstance(content, str) else _parts(content)
        results = [part for part in parts if _kind(part) in _RESULTS]
        items += reply_items(results, turn) if results else []
        words = content if isinstance(content, str) else "".join(_shown(part) for part in parts if part not in results)
        if words or not results:
            items.append(Item(new_id("item"), role, words, turn=turn))
    return items


def reply_messages(reply: Answer) -> list[Message]:
    """Return the reply of a model and the results of tools as messages; anything else is refused."""
    if isinstance(reply, str):
        return [{"role": "assistant", "content": reply}]
    reading = _Reading()
    reading.read(reply)
    reading.close()
    return reading.messages


def item_of(message: Message, turn: str) -> Item:
    """Return a message as a new item of the history."""
    return Item(
        new_id("item"),
        message["role"],
        message["content"],
        tool_calls=tuple(ToolCall(**call) for call in message.get("tool_calls", ())),
        tool_call_id=message.get("tool_call_id", ""),
        turn=turn,
        is_error=message.get("is_error"),
    )


class _Said(Struct):
    """A message of the assistant while its parts are read.

    Adjacent words are joined: a provider splits them where it cites. Words with a call or a thought between them become
    paragraphs.
    """

    texts: list[str] = field(default_factory=list)
    calls: list[WireToolCall] = field(default_factory=list)
    adjacent: bool = False
    in_parts: bool = False

    def say(self, text: str) -> None:
        """Add words."""
        if self.adjacent:
            self.texts[-1] += text
        elif text:
            self.texts.append(text)
            self.adjacent = True

    def add(self, part: Mapping[str, Any]) -> None:
        """Add a part of a message: words, or a call."""
        self.in_parts, kind = True, _kind(part)
        if kind in _TEXTS:
            self.say(_text(part.get(_TEXTS[kind]), f"the {_TEXTS[kind]} of a part of type {kind!r}"))
            return
        self.adjacent = False
        if kind in _CALLS:
            name, arguments = _CALLS[kind]
            self.calls.append(_wire_call(part.get(name), part.get("name"), part.get(arguments)))
        elif kind not in _OWN:
            raise PromptuaryError(f"{_TAKEN}; a part of type {kind!r} is none of these")

    def message(self) -> Message:
        content = "\n\n".join(self.texts)
        if self.in_parts and content == EMPTY and not self.calls:
            content = ""
        message: Message = {"role": "assistant", "content": content}
        return {**message, "tool_calls": self.calls} if self.calls else message


class _Reading(Struct):
    """The messages read so far, and the open message of the assistant, to which standalone parts are added."""

    messages: list[Message] = field(default_factory=list)
    open: _Said | None = None

    def close(self) -> None:
        """End the message that is open."""
        if self.open is not None:
            self.messages.append(self.open.message())
        self.open = None

    def read(self, value: object, depth: int = 0) -> None:
        """Read an answer, a message, a part of one, or a list of these."""
        match _fields(value):
            case {"choices": choices}:
                self._message(_only_choice(choices))
            case {"role": _} as message:
                self._message(message)
            case {"type": _} as part:
                self._part(part)
            case {"output": output} as response:
                self._output(output, response, depth)
            case {"message": message}:
                self._message(message)
            case {"messages": messages}:
                self._many(messages, depth)
            case many if not isinstance(many, Mapping):
                self._many(many, depth)
            case other:
                raise PromptuaryError(f"{_TAKEN}; not {_described(other)}")

    def _many(self, many: object, depth: int) -> None:
        if not isinstance(many, Iterable) or isinstance(many, str | bytes | Mapping) or depth == _DEEPEST:
            raise PromptuaryError(f"{_TAKEN}; not {_described(many)}")
        self.close()
        for one in many:
            self.read(one, depth + 1)
        self.close()

    def _output(self, output: object, response: Mapping[str, Any], depth: int) -> None:
        if not output:
            why = response.get("error") or response.get("incomplete_details") or "its output is empty"
            raise PromptuaryError(f"the response says nothing: {one_line(str(why))[:200]}")
        self._many(output, depth)

    def _message(self, value: object) -> None:
        message = _fields(value)
        if not isinstance(message, Mapping):
            raise PromptuaryError(f"{_TAKEN}; a message is not {_described(message)}")
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            self._assistant(message, content)
        elif role == "tool":
            self._result(message.get("tool_call_id"), content, message.get("is_error"))
        elif role == "user" and (results := _only_results(content)):
            for part in results:
                self._part(part)
        else:
            raise PromptuaryError(f"{_ROLES}, not of {role!r}: give what came after the prompt, without the prompt")

    def _assistant(self, message: Mapping[str, Any], content: object) -> None:
        self.close()
        if message.get("function_call"):
            raise PromptuaryError(f"{_CALL}; a function_call has no id: offer the function as a tool instead")
        said = self.open = _Said()
        # Providers leave out, or set to null, the content of a message that only calls tools or that refuses.
        if isinstance(content, str | None):
            said.say(content or _text(message.get("refusal") or "", "the refusal of a message"))
        else:
            for part in _parts(content):
                said.add(part)
        calls = message.get("tool_calls") or ()
        if not isinstance(calls, Iterable):
            raise PromptuaryError(f"{_CALL}; the tool_calls of a message are not {_described(calls)}")
        said.calls += map(_call, calls)

    def _part(self, part: Mapping[str, Any]) -> None:
        kind = _kind(part)
        if kind in _RESULTS:
            call, result = _RESULTS[kind]
            self._result(part.get(call), part.get(result), part.get("is_error"))
        elif kind in _TEXTS or kind in _CALLS:
            self.open = self.open or _Said()
            self.open.add(part)
        elif kind not in _OWN:
            raise PromptuaryError(f"{_TAKEN}; what is of type {kind!r} is none of these")
        elif self.open is not None:
            self.open.adjacent = False

    def _result(self, call: object, content: object, failed: object) -> None:
        self.close()
        if failed is not None and not isinstance(failed, bool):
            raise PromptuaryError(f"is_error of a tool's message is true or false, not {_described(failed)}")
        text = content if isinstance(content, str) else "".join(map(_shown, _parts(content or ())))
        message: Message = {"role": "tool", "content": text}
        if call:
            message["tool_call_id"] = _text(call, "the id of the call that a tool answers")
        if failed is not None:
            message["is_error"] = failed
        self.messages.append(message)


def _fields(value: object) -> Any:
    """Return the fields of a client's object; everything else unchanged."""
    dump = None if isinstance(value, type | Mapping) else getattr(value, "model_dump", None)
    return dump() if callable(dump) else value


def _kind(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    return kind if isinstance(kind, str) else _described(kind)


def _parts(content: object) -> list[Mapping[str, Any]]:
    """Return the parts of a message's content."""
    if not isinstance(content, Iterable) or isinstance(content, bytes | Mapping):
        raise PromptuaryError(f"the content of a message is text or a list of parts, not {_described(content)}")
    parts = [_fields(one) for one in content]
    for one in parts:
        if not isinstance(one, Mapping):
            raise PromptuaryError(f"a part of a message's content has a type, and is not {_described(one)}")
    return parts


def _only_results(content: object) -> Sequence[Mapping[str, Any]]:
    """Return the tool results of a message of the user; empty if it contains anything else."""
    parts = _parts(content) if isinstance(content, list | tuple) else []
    return parts if all(_kind(part) in _RESULTS for part in parts) else []


def _shown(part: Mapping[str, Any]) -> str:
    """Return a part of a tool's result as text."""
    kind = _kind(part)
    if kind in _TEXTS:
        return _text(part.get(_TEXTS[kind]), f"the {_TEXTS[kind]} of a part of type {kind!r}")
    if kind in _MEDIA:
        return f"({kind}, not kept)"
    raise PromptuaryError(f"the result of a tool is text, not a part of type {kind!r}")


def _only_choice(choices: object) -> object:
    if not isinstance(choices, Sequence) or isinstance(choices, str) or len(choices) != 1:
        count = len(choices) if isinstance(choices, Sequence) else 0
        raise PromptuaryError(f"the completion has {count} choices; give the message of the one that you took")
    choice = _fields(choices[0])
    match choice:
        case {"message": message}:
            return message
        case {"delta": _}:
            raise PromptuaryError(f"{_TAKEN}; not a chunk of a stream: put its chunks together first")
        case _:
            raise PromptuaryError(f"a choice of a completion has a message; this one is {_described(choice)}")


def _call(value: object) -> WireToolCall:
    match _fields(value):
        case {"id": key, "function": {"name": name, "arguments": arguments}}:
            return _wire_call(key, name, arguments)
        case {"id": key, "custom": {"name": name, "input": given}}:
            return _wire_call(key, name, given)
        case {"id": key, "name": name, "arguments": arguments}:
            return _wire_call(key, name, arguments)
        case other:
            raise PromptuaryError(f"{_CALL}; not {_described(other)}")


def _wire_call(key: object, name: object, arguments: object) -> WireToolCall:
    if not isinstance(key, str) or not isinstance(name, str) or not isinstance(arguments, str | Mapping):
        got = ", ".join(f"{label} is {_described(one)}" for label, one in _labelled(key, name, arguments))
        raise PromptuaryError(f"{_CALL}; here {got}")
    return {"id": key, "name": name, "arguments": arguments if isinstance(arguments, str) else _written(arguments)}


def _labelled(key: object, name: object, arguments: object) -> Iterable[tuple[str, object]]:
    every = (("its id", key, str), ("its name", name, str), ("its arguments", arguments, str | Mapping))
    return ((label, one) for label, one, kind in every if not isinstance(one, kind))


def _written(arguments: Mapping[str, Any]) -> str:
    """Return arguments as JSON text, as models write them."""
    try:
        return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise PromptuaryError(f"{_CALL}; these arguments are not JSON: {one_line(str(error))[:200]}") from error


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise PromptuaryError(f"{name} is text, not {_described(value)}")
    return value


def _described(value: object) -> str:
    """Return a short description of a value, which may be anything, of any size."""
    match value:
        case None:
            return "nothing (None)"
        case Mapping():
            keys = ", ".join(repr(key)[:40] for key, _ in zip(value, range(5), strict=False))
            return f"a dict with {keys or 'nothing in it'}"
        case str() | int() | float():
            return f"{type(value).__name__} {one_line(repr(value)[:60])}"
        case _:
            return f"an object of type {type(value).__name__}"
