"""Identifies the messages of a conversation that somebody else keeps, by all that was said up to each of them. Pure.

A link is the hash of a message and of the link before it, so two conversations share a link exactly if they begin with
the same messages. What a client changes between two requests is no part of it: marks for caches, ids of tool calls,
blanks at the end, the spelling of arguments.

The ids of the items of such a conversation are made of its links. A message may be several items: what the client put
before and after the person's words, the words, and what was attached to them.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Final, Literal

from promptuary.base.messages import SPEAKERS, Item, Message

_PREFIX: Final = "sent-"
_LENGTH: Final = 32

Part = Literal["", "before", "after", "attached"]
"""The message or the words in it, what the client put before and after the words, what was attached here."""


def links(messages: Sequence[Message], link: str = "") -> list[str]:
    """Return the link of each message; ``link`` is that of the message before them."""
    found = []
    for message in messages:
        digest = hashlib.sha256(f"{link}\0{message['role']}\0{message['content'].rstrip()}".encode("utf-8", "replace"))
        for call in message.get("tool_calls", ()):
            digest.update(f"\0{call['name']}\0{_arguments(call['arguments'])}".encode("utf-8", "replace"))
        found.append(link := digest.hexdigest()[:_LENGTH])
    return found


def without_instructions(messages: Sequence[Message]) -> Sequence[Message]:
    """Return a conversation without the instructions in front, which clients change from one request to the next."""
    first = next((place for place, message in enumerate(messages) if message["role"] in SPEAKERS), len(messages))
    return messages[first:]


def item_id(link: str, thread: str, part: Part = "", again: str = "") -> str:
    """Return the id of an item: other threads may hold the same message, and this one may have it ``again``."""
    return "-".join([f"{_PREFIX}{link}", thread_mark(thread), *([again] if again else []), *([part] if part else [])])


def link_of(item: Item) -> str:
    """Return the link of an item; empty if it is none of such a conversation."""
    return item.id[len(_PREFIX) : len(_PREFIX) + _LENGTH] if item.id.startswith(_PREFIX) else ""


def thread_mark(thread: str) -> str:
    """Return what stands for a thread in the ids of its items."""
    return hashlib.sha256(thread.encode("utf-8", "replace")).hexdigest()[:8]


def thread_of(item: Item) -> str:
    """Return what stands for the thread of an item."""
    return item.id[len(_PREFIX) + _LENGTH + 1 :][:8]


def is_attached(item: Item) -> bool:
    """Return whether an item is what was attached here to a message."""
    return item.id.startswith(_PREFIX) and item.id.endswith("-attached")


def id_range(link: str) -> tuple[str, str]:
    """Return the bounds of the ids of the items of a message, in whatever thread."""
    return f"{_PREFIX}{link}-", f"{_PREFIX}{link}."


def _arguments(text: str) -> str:
    """Return arguments in one spelling: services and clients write the same JSON in several."""
    try:
        return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text
