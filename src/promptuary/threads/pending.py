"""Stores what the ledger lacks of the turns that wait for their replies, so that they can be found after a restart.

It is stored as the state of a layer with this name. The texts of the prompt are only in the ledger; the results of
tools are here in full, until the turn is finished and they are in the history.
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from promptuary.base.blocks import Attachment, Detail
from promptuary.base.messages import Item, Message, Prompt, ToolCall
from promptuary.base.values import Json
from promptuary.layers.layer import LayerState, StateKey
from promptuary.references.expansion import Expansion, TokenUse
from promptuary.threads.prepared import Turn
from promptuary.threads.records import TurnRecord
from promptuary.threads.store.store import ThreadStore

_LAYER: Final = "pending"
_VERSION: Final = 2
_MAX_TURNS: Final = 16
"""How many turns of a thread may wait at once; of older ones, only what is in the ledger is known."""


def pending_key(thread: str) -> StateKey:
    return StateKey(_LAYER, "thread", thread)


def pending_state(turn: Turn, stored: LayerState | None) -> LayerState:
    """Return the state to store for a turn that waits for its reply, beside those that wait already."""
    prompt, sent = turn.prompt, {item.id: item for item in turn.said}
    content = prompt.message["content"]
    value: Json = {
        "turn": turn.id,
        "earlier": list(turn.earlier),
        "parts": [len(prompt.stable), len(prompt.history), len(prompt.live)],
        "layers": list(turn.layers),
        "length": len(content),
        "words": len(content) - turn.expansion.words_start,
        "attachments": [_attachment_json(one) for one in turn.expansion.attachments],
        "noted": turn.noted,
        "said": [_item_json(item) for item in turn.said],
        "loop": [item.id if sent.get(item.id) == item else _item_json(item) for item in turn.loop],
    }
    # The turn that it continues does not wait any more.
    others = [one for one in _waiting(stored) if one["turn"].partition(".")[0] != turn.root]
    return LayerState(pending_key(turn.thread), _VERSION, [*others, value][-_MAX_TURNS:])


def no_pending(thread: str, stored: LayerState | None, turn: str) -> Sequence[LayerState]:
    """Return the states to store when ``turn`` no longer waits."""
    waiting = _waiting(stored)
    others = [one for one in waiting if one["turn"] != turn]
    return [LayerState(pending_key(thread), _VERSION, others or None)] if len(others) < len(waiting) else []


def _waiting(stored: LayerState | None) -> list[dict[str, Any]]:
    value = stored.value if stored is not None and stored.version == _VERSION else None
    return value if isinstance(value, list) else []


def found(store: ThreadStore, thread: str, number: int | None = None) -> Turn | None:
    """Return a turn of ``thread``, by default the last, if it waits for its reply, whoever prepared it. Blocks."""
    record = store.turn(thread, number)
    if record is None or record.status != "prepared":
        return None
    (stored,) = store.states([pending_key(thread)])
    # Nothing for one that was prepared by a version that did not store this state.
    value: dict[str, Any] = next((one for one in _waiting(stored) if one["turn"] == record.id), {})
    before = [one for number in value.get("earlier", ()) if (one := store.turn(thread, number)) is not None]
    return _turn(value, record, before)


def _turn(value: dict[str, Any], record: TurnRecord, before: Sequence[TurnRecord]) -> Turn:
    messages = list(record.messages)
    stable, history, live = value.get("parts", (0, len(messages) - 1, 0))
    at = stable + history + live
    prompt = Prompt(
        messages[:stable],
        messages[stable : stable + history],
        messages[stable + history : at],
        messages[at],
        messages[at + 1 :],
    )
    receipt, root = record.receipt, record.root
    said = tuple(_item(one, root) for one in value.get("said", ()))
    by_id = {item.id: item for item in said}
    loop = tuple(by_id[one] if isinstance(one, str) else _item(one, root) for one in value.get("loop", ()))
    return Turn(
        record.id,
        record.thread,
        record.number,
        record.text,
        prompt,
        replace(receipt, earlier=[one.receipt for one in before]),
        _expansion(value, record, prompt.message),
        layers=tuple(value.get("layers", ())),
        said=said,
        loop=loop,
        earlier=tuple(value.get("earlier", ())),
        noted=bool(value.get("noted")),
    )


def _expansion(value: dict[str, Any], record: TurnRecord, message: Message) -> Expansion:
    """Return what was attached to the message, and where its words begin.

    If something was forgotten since, the message is shorter: then only the names of the attachments are known.
    """
    content, receipt = message["content"], record.receipt
    start = max(len(content) - value.get("words", len(content)), 0)
    attached = [_attachment(one) for one in value.get("attachments", ())]
    if value.get("length", len(content)) != len(content):
        attached = [replace(one, start=start, end=start) for one in attached if one.source not in record.forgotten]
    return Expansion(
        text=content[start:],
        messages=(message,),
        outcomes=(),
        blocks=(),
        spend=TokenUse(0, receipt.window, receipt.window, receipt.window),
        general_warnings=tuple(receipt.warnings),
        blocked=receipt.blocked,
        attachments=tuple(attached),
        words_start=start,
    )


def _attachment_json(one: Attachment) -> Json:
    return [one.source, one.label, one.revision, one.detail, list(one.lines or ()), one.start, one.end]


def _attachment(value: Any) -> Attachment:
    source, label, revision, detail, lines, start, end = value
    return Attachment(source, label, revision, Detail(detail), (lines[0], lines[1]) if lines else None, start, end)


def _item_json(item: Item) -> Json:
    return {
        "id": item.id,
        "role": item.role,
        "kind": item.kind,
        "content": item.content,
        "tool_calls": [[call.id, call.name, call.arguments] for call in item.tool_calls],
        "tool_call_id": item.tool_call_id,
        "stands_for": list(item.stands_for),
        "is_error": item.is_error,
    }


def _item(value: dict[str, Any], turn: str) -> Item:
    calls = tuple(ToolCall(*one) for one in value["tool_calls"])
    return Item(**{**value, "tool_calls": calls, "stands_for": tuple(value["stands_for"]), "turn": turn})
