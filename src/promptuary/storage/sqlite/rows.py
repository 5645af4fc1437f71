"""Values of the core as rows of the database, and back.

What cannot be a row of ours is ``ValueError``.
"""

import json
from typing import Any, Final, cast

from promptuary.core.json import receipt_from_json, receipt_json
from promptuary.core.messages import Item, Message, ToolCall
from promptuary.core.ports.threads import KeptState, Recorded, ThreadLine
from promptuary.storage.sqlite.columns import bound, freed
from promptuary.storage.sqlite.texts import Contents, pack, unpack
from promptuary.storage.values import settled_receipt, state_text, to_text

Row = tuple[Any, ...]
"""What the database gives; anything if it is damaged."""

Values = dict[str, str | bytes | int]

_NONE: Final = "[]"


def of_item(item: Item, thread: int, place: int, contents: Contents) -> Values:
    """Return the row of ``item``."""
    calls = [[call.id, call.name, call.arguments] for call in item.tool_calls]
    return {
        "id": bound(item.id),
        "thread": thread,
        "place": place,
        "pinned": item.pinned,
        "role": bound(item.role),
        "kind": bound(item.kind),
        "content": contents.put(item.content),
        "tool_calls": bound(to_text(calls)),
        "tool_call_id": bound(item.tool_call_id),
        "stands_for": bound(to_text(item.stands_for)),
        "turn": bound(item.turn),
    }


def to_item(row: Row) -> Item:
    """Return the item of a row."""
    number, role, pinned, kind, calls, call, stands_for, turn, *content = row
    return Item(
        id=freed(number),
        role=freed(role),  # type: ignore[arg-type]  # what was written was a role
        content=unpack(*content),
        tool_calls=() if calls == _NONE else tuple(ToolCall(*map(_text, one)) for one in json.loads(freed(calls))),
        tool_call_id=freed(call),
        pinned=bool(pinned),
        kind=freed(kind),  # type: ignore[arg-type]  # likewise
        stands_for=() if stands_for == _NONE else tuple(map(_text, json.loads(freed(stands_for)))),
        turn=freed(turn),
    )


def of_turn(turn: Recorded, thread: int, contents: Contents) -> Values:
    """Return the row of ``turn``."""
    messages = [{**message, "content": contents.put(message["content"])} for message in turn.messages]
    return {
        "number": turn.number,
        "id": bound(turn.id),
        "thread": thread,
        "created": bound(turn.created),
        "status": bound(turn.status),
        "text": contents.put(turn.text),
        "messages": contents.put(to_text(messages)),
        "receipt": contents.put(to_text(receipt_json(turn.receipt))),
    }


def to_turn(row: Row, contents: Contents) -> Recorded:
    """Return the turn of a row."""
    number, thread, count, created, status, text, messages, receipt = row
    return Recorded(
        id=freed(number),
        thread=freed(thread),
        number=int(count),
        created=freed(created),
        status=freed(status),  # type: ignore[arg-type]  # what was written was a status
        text=contents.get(text),
        messages=tuple(_message(one, contents) for one in json.loads(contents.get(messages))),
        receipt=settled_receipt(receipt_from_json(json.loads(contents.get(receipt)))),
    )


def of_state(state: KeptState) -> Values:
    """Return the row of ``state``."""
    kept = pack(state_text(state))
    return {
        "layer": bound(state.layer),
        "scope_key": bound(state.scope_key),
        "version": state.version,
        "sha256": kept.sha256,
        "packed": kept.packed,
        "body": kept.body,
    }


def to_state(layer: str, scope_key: str, row: Row) -> KeptState:
    """Return the state of a row."""
    version, *content = row
    return KeptState(layer, scope_key, int(version), json.loads(unpack(*content)))


def to_line(row: Row) -> ThreadLine:
    """Return the thread of a row."""
    name, created, updated, turns, items = row
    return ThreadLine(freed(name), freed(created), freed(updated), int(turns), int(items))


def _message(stored: dict[str, Any], contents: Contents) -> Message:
    stored["content"] = contents.get(stored["content"])
    return cast("Message", stored)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is no text")
    return value
