"""Reads the transcripts of agents: their turns, as messages. Pure; lines of other kinds are ignored.

It takes only what was said and done: prompts that the person typed, answers, tool calls and their results. What an
agent itself writes into a prompt (reminders, output of commands) is not the person's.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptuary.hooks.gemini_transcript import gemini_messages

if TYPE_CHECKING:
    from promptuary.base.messages import Message

_MAX_LINES: Final = 20_000
_MAX_TURNS: Final = 20
"""The most turns to learn from at once: more are missed only if hooks were off."""
_MAX_LINE: Final = 1 << 20
_INJECTED: Final = ("<system-reminder>", "<command-", "<local-command", "<environment_context>", "<user_instructions>")
_KINDS: Final = frozenset({"message", "function_call", "function_call_output", "custom_tool_call"})


class TranscriptTurn(NamedTuple):
    """A turn: a mark that is the same at every reading, and its messages; the first is the person's.

    ``earlier`` are the messages of the turns before it.
    """

    mark: str
    messages: tuple[Any, ...]
    earlier: tuple[Any, ...] = ()


def turns(data: bytes, agent: str) -> list[TranscriptTurn]:
    """Return the turns of a transcript, the oldest first. A turn whose beginning was cut off is left out."""
    found: list[TranscriptTurn] = []
    for mark, message in _messages(data, agent):
        if _is_prompt(message):
            found.append(TranscriptTurn(mark, (message,)))
        elif found:
            found[-1] = found[-1]._replace(messages=(*found[-1].messages, message))
    return [turn for turn in found if len(turn.messages) > 1]


def turn_of_input(told: Mapping[str, Any]) -> TranscriptTurn | None:
    """Return the turn in the input of a hook, for use without a transcript; ``None`` if it has none."""
    prompt, reply = told.get("prompt"), told.get("prompt_response") or told.get("last_assistant_message")
    if not isinstance(prompt, str) or not isinstance(reply, str) or not prompt.strip() or not reply.strip():
        return None
    said: tuple[Message, ...] = ({"role": "user", "content": prompt}, {"role": "assistant", "content": reply})
    return TranscriptTurn(f"{prompt[:200]}\n{reply[:200]}", said)


def _messages(data: bytes, agent: str) -> Iterator[tuple[str, Any]]:
    if agent == "gemini":
        yield from gemini_messages(entry for _, entry in _entries(data))
        return
    for number, entry in _entries(data):
        message = _of_codex(entry) if agent == "codex" else _of_claude(entry)
        if message is not None:
            mark = entry.get("uuid") or entry.get("timestamp") or str(number)
            yield str(mark), message


def _entries(data: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    lines = data.decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines[-_MAX_LINES:]):
        if line.startswith("{") and len(line) <= _MAX_LINE:
            with suppress(ValueError, RecursionError):
                yield number, json.loads(line)


def _of_claude(entry: Mapping[str, Any]) -> Any:
    message = entry.get("message")
    if entry.get("type") not in {"user", "assistant"} or entry.get("isMeta") or entry.get("isSidechain"):
        return None
    if not isinstance(message, dict) or message.get("role") not in {"user", "assistant"}:
        return None
    content = message.get("content")
    if message["role"] == "user" and isinstance(content, list):
        texts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        if texts and len(texts) == len(content):
            content = "\n\n".join(str(text.get("text", "")) for text in texts)
        else:
            content = [part for part in content if isinstance(part, dict) and part.get("type") == "tool_result"]
    return {"role": message["role"], "content": content} if content else None


def _of_codex(entry: Mapping[str, Any]) -> Any:
    payload = entry.get("payload")
    if entry.get("type") != "response_item" or not isinstance(payload, dict) or payload.get("type") not in _KINDS:
        return None
    if payload["type"] != "message":
        return payload
    parts = payload.get("content")
    texts = [str(part.get("text", "")) for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    role = payload.get("role")
    if role not in {"user", "assistant"} or not any(texts):
        return None
    return {"role": role, "content": "\n\n".join(texts)}


def _is_prompt(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return (
        message.get("role") == "user"
        and isinstance(content, str)
        and bool(content.strip())
        and not content.lstrip().startswith(_INJECTED)
    )


def unknown_turns(found: Sequence[TranscriptTurn], known: str) -> list[TranscriptTurn]:
    """Return the last turns after the one that was learnt from, each with the messages before it."""
    marks = [turn.mark for turn in found]
    start = max(marks.index(known) + 1 if known in marks else 0, len(found) - _MAX_TURNS)
    earlier = tuple(message for turn in found[:start] for message in turn.messages)
    new: list[TranscriptTurn] = []
    for turn in found[start:]:
        new.append(turn._replace(earlier=earlier))
        earlier += turn.messages
    return new
