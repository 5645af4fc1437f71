"""Converts values of the core to rows of the database, and back.

An invalid row raises ``ValueError``.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from promptuary.base.blocks import Attachment, Detail
from promptuary.base.messages import Item, ToolCall
from promptuary.context.receipt import Receipt, receipt_from_json, receipt_json
from promptuary.database.columns import from_column, row_checksum, to_column, to_text
from promptuary.database.contents import Contents, hash_of, marked, pack, unpack
from promptuary.layers.layer import LayerState, StateKey
from promptuary.threads.records import Glance, SeenTurn, SentMessage, SentText, ThreadInfo, TurnHead, TurnRecord
from promptuary.threads.store.prompts import Sent, entries_of, put_messages
from promptuary.threads.store.values import state_text

Row = tuple[Any, ...]
"""A value from the database; it may be anything if the file is damaged."""

Values = dict[str, Any]

_FIXED: Final = (
    "id",
    "thread",
    "place",
    "role",
    "kind",
    "tool_calls",
    "tool_call_id",
    "stands_for",
    "turn",
    "attached",
)
"""The columns of an item that its checksum covers."""

_NONE: Final = "[]"
_BEGINNING: Final = 300
"""How many characters of its text a turn in a listing has."""
_SHOWN: Final = 4_000
"""How many characters of its text a turn has that is seen alone."""


def of_item(item: Item, thread: int, place: int, contents: Contents) -> Values:
    """Return the row of ``item``."""
    row = _fixed(item, thread, place) | {"pinned": item.pinned, "content": contents.put(item.content)}
    return row | {"checksum": _item_checksum(row, row["content"])}


def _fixed(item: Item, thread: int, place: int) -> Values:
    """Return the columns of an item that its checksum covers."""
    calls = [[call.id, call.name, call.arguments] for call in item.tool_calls]
    return {
        "id": to_column(item.id),
        "thread": thread,
        "place": place,
        "role": to_column(item.role),
        "kind": to_column(item.kind),
        "tool_calls": to_column(to_text(calls)),
        "tool_call_id": to_column(item.tool_call_id),
        "stands_for": to_column(to_text(item.stands_for)),
        "turn": to_column(item.turn),
        "attached": to_column(_attached_text(item)),
    }


def changed_item(row: Row, item: Item, digest: bytes) -> Values:
    """Return what forgetting changes in ``row``, which becomes ``item``; ``digest`` is the hash of its text."""
    fixed = _fixed(item, thread=row[10], place=row[9])
    changed = {name: fixed[name] for name in ("thread", "tool_calls", "attached")}
    return changed | {"checksum": _item_checksum(fixed, digest)}


def _item_checksum(row: Values, digest: bytes) -> int:
    return row_checksum(*[row[name] for name in _FIXED], digest)


def to_item(row: Row) -> Item:
    """Return the item of a row, or raise ``ValueError`` if it differs from what was written."""
    number, role, pinned, kind, calls, call, stands_for, turn, attached, place, thread, checksum, *content = row
    fixed = (number, thread, place, role, kind, calls, call, stands_for, turn, attached, content[0])
    if checksum != row_checksum(*fixed):
        raise ValueError("an item is not what was written")
    words_start, attachments, is_error, whole_tokens = _attached(from_column(attached))
    return Item(
        id=from_column(number),
        role=from_column(role),  # type: ignore[arg-type]  # what was written was a role
        content=unpack(*content),
        tool_calls=()
        if calls == _NONE
        else tuple(ToolCall(*map(_text, one)) for one in json.loads(from_column(calls))),
        tool_call_id=from_column(call),
        pinned=bool(pinned),
        kind=from_column(kind),  # type: ignore[arg-type]  # likewise
        stands_for=() if stands_for == _NONE else tuple(map(_text, json.loads(from_column(stands_for)))),
        turn=from_column(turn),
        attachments=attachments,
        words_start=words_start,
        is_error=is_error,
        whole_tokens=whole_tokens,
    )


def _attached_text(item: Item) -> str:
    """Return the metadata of ``item`` as JSON: what was attached, whether a tool failed, what it stands for costs.

    Empty for most items.
    """
    if not item.attachments and not item.words_start and item.is_error is None and not item.whole_tokens:
        return ""
    each = [
        [one.source, one.label, one.revision, one.detail, one.lines, one.start, one.end] for one in item.attachments
    ]
    rest = [item.is_error, item.whole_tokens] if item.whole_tokens else [item.is_error]
    return to_text([item.words_start, each, *(rest if rest != [None] else ())])


def _attached(text: str) -> tuple[int, tuple[Attachment, ...], bool | None, int]:
    if not text:
        return 0, (), None, 0
    words_start, each, *rest = json.loads(text)
    failed, tokens = rest[0] if rest else None, rest[1] if len(rest) > 1 else 0
    return int(words_start), tuple(map(_attachment, each)), None if failed is None else bool(failed), int(tokens)


def _attachment(value: Any) -> Attachment:
    source, label, revision, detail, lines, start, end = value
    between = None if lines is None else (int(lines[0]), int(lines[1]))
    return Attachment(_text(source), _text(label), _text(revision), Detail(detail), between, int(start), int(end))


def of_turn(
    turn: TurnRecord, thread: int, user: str, contents: Contents, stored: tuple[bytes, bytes] | None = None
) -> tuple[Values, list[bytes]]:
    """Return the row of ``turn``, in which ``user`` acted, and the hashes of the texts of its messages.

    ``stored`` are the columns with its text and messages, if it is there already: what was sent does not change.
    """
    receipt, sent = receipt_text(turn.receipt), list[bytes]()
    if stored is None:
        messages, sent = put_messages(turn.messages, contents, also=(hash_of(turn.text), hash_of(receipt)))
        text = contents.put(turn.text)
    else:
        text, messages = stored
    row: Values = {
        "number": turn.number,
        "id": to_column(turn.id),
        "thread": thread,
        "created": to_column(turn.created),
        "status": to_column(turn.status),
        "text": text,
        "messages": messages,
        "receipt": contents.put(receipt, is_receipt=True),
        "user": to_column(user),
        "tokens": turn.receipt.tokens,
        "reply_tokens": turn.reply_tokens,
        "cost": turn.cost,
    }
    fixed = (row["id"], thread, turn.number, row["status"], row["user"])
    texts = (row["text"], messages, row["receipt"])
    return row | {"checksum": turn_checksum(fixed, turn.reply_tokens, turn.cost, texts)}, sent


def turn_checksum(fixed: Sequence[object], reply_tokens: int, cost: float | None, texts: Sequence[bytes]) -> int:
    """Return the checksum of a turn; ``texts`` are those of its columns that name texts."""
    return row_checksum(*fixed, *texts, reply_tokens, cost)


def to_turn(row: Row, contents: Contents) -> TurnRecord:
    """Return the turn of a row, or raise ``ValueError`` if it differs from what was written."""
    number, thread, count, created, status, text, messages, receipt, user, _, replied, cost, _ = _checked_turn(row)
    sent = entries_of(messages, contents)
    return TurnRecord(
        id=from_column(number),
        thread=from_column(thread),
        number=int(count),
        created=from_column(created),
        status=from_column(status),  # type: ignore[arg-type]  # what was written was a status
        text=contents.get(text),
        messages=tuple(entry.message(contents.get(entry.content)) for entry in sent),
        # A thread may have been renamed since.
        receipt=replace(receipt_from_json(json.loads(contents.get(receipt))), thread=from_column(thread)),
        user=from_column(user),
        forgotten=_forgotten([text, receipt, *(entry.content for entry in sent)], sent, contents),
        reply_tokens=int(replied),
        cost=cost,
    )


def to_turn_head(row: Row, contents: Contents) -> TurnHead:
    """Return a turn of a listing, or raise ``ValueError`` if it differs from what was written."""
    number, thread, count, created, status, text, _, stored, _, _, replied, cost, _ = _checked_turn(row)
    receipt = receipt_from_json(json.loads(contents.get(stored)))
    return TurnHead(
        thread=from_column(thread),
        number=int(count),
        created=from_column(created),
        status=from_column(status),  # type: ignore[arg-type]  # what was written was a status
        text=contents.beginning(text, _BEGINNING),
        tokens=receipt.tokens,
        window=receipt.window,
        reserve=receipt.reserve,
        layers=receipt.by_layer(),
        omitted=sum(entry.status == "out" for entry in receipt.entries),
        reply_tokens=int(replied),
        cost=cost,
        id=from_column(number),
        shortened=sum(entry.status == "degraded" for entry in receipt.entries),
    )


def to_seen_turn(row: Row, contents: Contents, beside: tuple[int, int], compacted: Sequence[Row]) -> SeenTurn:
    """Return a turn without most of its texts; ``beside`` are the numbers of the turns before and after it.

    ``compacted`` are the items of its thread that stand for others.
    """
    number, thread, count, created, status, text, messages, stored, user, _, replied, cost, _ = _checked_turn(row)
    sent = entries_of(messages, contents)
    summarised, shortened = _counts(compacted, {entry.content for entry in sent})
    return SeenTurn(
        id=from_column(number),
        thread=from_column(thread),
        number=int(count),
        created=from_column(created),
        status=from_column(status),  # type: ignore[arg-type]  # what was written was a status
        text=contents.beginning(text, _SHOWN),
        receipt=replace(receipt_from_json(json.loads(contents.get(stored))), thread=from_column(thread)),
        messages=tuple(_sent_message(entry, contents) for entry in sent),
        user=from_column(user),
        reply_tokens=int(replied),
        cost=cost,
        earlier=beside[0],
        later=beside[1],
        summarised=summarised,
        shortened=shortened,
    )


def _counts(compacted: Sequence[Row], sent: set[bytes]) -> tuple[int, int]:
    """Return how many messages were sent as summaries, and how many shortened."""
    made = {from_column(item) for item, *_ in compacted}
    there = [
        (from_column(kind), json.loads(from_column(ids))) for _, kind, ids, content in compacted if content in sent
    ]
    summarised = sum(len(set(ids) - made) for kind, ids in there if kind == "summary")
    return summarised, sum(kind != "summary" for kind, _ in there)


def to_glance(row: Row, replies: Sequence[Row], contents: Contents) -> Glance:
    """Return the beginnings of what was said in a turn, and its receipt; of its replies the last with a text."""
    text, receipt = row[5], json.loads(contents.get(row[7]))
    answers = (contents.beginning(content, _BEGINNING) for (content,) in replies)
    answer = next((one for one in answers if one.strip()), "")
    return Glance(contents.beginning(text, _BEGINNING), answer, receipt_from_json(receipt))


def _sent_message(entry: Sent, contents: Contents) -> SentMessage:
    message = entry.message("")
    calls = (ToolCall(one["id"], one["name"], one["arguments"][:_SHOWN]) for one in message.get("tool_calls", ()))
    return SentMessage(message["role"], contents.beginning(entry.content, _BEGINNING), tuple(calls))


def to_sent_text(row: Row, contents: Contents, message: int, start: int, most: int) -> SentText | None:
    """Return a part of the text of a message of a turn; ``None`` if there is no such message."""
    sent = entries_of(_checked_turn(row)[6], contents)
    if not 0 <= message < len(sent):
        return None
    text = contents.get(sent[message].content)
    start = min(max(0, start), len(text))
    return SentText(sent[message].message("")["role"], text[start : start + most], start, len(text))


def _checked_turn(row: Row) -> Row:
    number, _, count, _, status, text, messages, receipt, user, home, replied, cost, checksum = row
    if checksum != turn_checksum((number, home, count, status, user), replied, cost, (text, messages, receipt)):
        raise ValueError("a turn is not what was written")
    return row


def receipt_text(receipt: Receipt) -> str:
    """Return a receipt as it is stored."""
    return to_text(receipt_json(receipt))


def _forgotten(texts: Sequence[bytes], sent: Sequence[Sent], contents: Contents) -> tuple[str, ...]:
    """Return the notes that were removed from the texts of a turn."""
    parts = [contents.get(text) for text in dict.fromkeys(texts) if text in contents.redacted]
    parts += [entry.rest for entry in sent if entry.is_redacted]
    return tuple(dict.fromkeys(address for part in parts for address in marked(part)))


def of_key(key: StateKey) -> Values:
    """Return the columns of a state's key."""
    return {"layer": to_column(key.layer), "scope": to_column(key.scope), "name": to_column(key.name)}


def of_state(state: LayerState) -> Values:
    """Return the row of ``state``."""
    packed = pack(state_text(state))
    value: Values = {
        "version": state.version,
        "sha256": packed.sha256,
        "packed": packed.packed,
        "body": packed.body,
    }
    return of_key(state.key) | value


def to_state(key: StateKey, row: Row) -> LayerState:
    """Return the state of a row."""
    version, *content = row
    return LayerState(key, int(version), json.loads(unpack(*content)))


def to_thread(row: Row) -> ThreadInfo:
    """Return the thread of a row."""
    name, created, updated, turns, items = row
    return ThreadInfo(from_column(name), from_column(created), from_column(updated), int(turns), int(items))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is not text")
    return value
