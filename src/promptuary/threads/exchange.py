"""Threads as files: written as JSON or Markdown, and read back from JSON. Pure.

Anybody may have written a file: every field is checked, all ids are replaced, and the items are marked as imported, so
that nothing is learnt from them as if it had been said here. Turns are written but not read: the ledger records what
was sent from here and by whom, which a file cannot prove.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.blocks import Attachment, Detail
from promptuary.base.errors import PromptuaryError
from promptuary.base.ids import new_id
from promptuary.base.messages import IMPORTED, SPEAKERS, Item, ItemKind, Replacement, ToolCall, as_message
from promptuary.base.text import one_line, visible
from promptuary.context.receipt import receipt_json
from promptuary.threads.records import ThreadChange, TurnRecord

FORMAT: Final = "promptuary-thread"
VERSION: Final = 1
LARGEST: Final = 128 << 20
"""The most bytes of an export that are read."""
_MOST_ITEMS: Final = 200_000
_MOST_NAMES: Final = 10_000
_LONGEST_NAME: Final = 4_000
_NO_EXPORT: Final = "this is not an export of a thread (promptuary thread export writes one)"
_ESCAPED: Final = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")


class Exported(Struct, frozen=True):
    """A thread to write: ``items`` as ``laid_out`` returns them, ``standing`` the ids of those in the history now."""

    thread: str
    items: Sequence[Item]
    standing: frozenset[str]
    turns: Sequence[TurnRecord]
    tracked: Sequence[str]
    queued: Sequence[str]


class ReadThread(Struct, frozen=True):
    """A thread that was read: its name in the file, its items with new ids, and its tracked files."""

    thread: str
    items: Sequence[Item]
    tracked: Sequence[str]
    turns: int


def laid_out(history: Sequence[Item], said: Sequence[Item]) -> list[Item]:
    """Return everything that was said, in the order of the history.

    Compacted items come before the items that replaced them, and messages before summaries.
    """
    root = {item.id: item.id for item in history}
    for item in reversed(said):  # an item is always newer than those that it replaces
        if item.id in root:
            for one in item.stands_for:
                root.setdefault(one, root[item.id])
    behind: dict[str, list[Item]] = {item.id: [] for item in history}
    for item in said:
        if item.id in root:
            behind[root[item.id]].append(item)
    return [item for one in history for item in sorted(behind[one.id], key=lambda item: bool(item.stands_for))]


def to_text(one: Exported) -> str:
    """Return a thread as JSON, with control characters and lone surrogates escaped."""
    known = {item.id for item in one.items}
    value = {
        "format": FORMAT,
        "version": VERSION,
        "thread": one.thread,
        "tracked": list(one.tracked),
        "queued": list(one.queued),
        "items": [_written(item, known, one.standing) for item in one.items],
        "turns": [_written_turn(turn) for turn in one.turns],
    }
    # Escape what a file cannot hold or a terminal would interpret: the JSON still means the same.
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False, indent=1))


def _written(item: Item, known: set[str], standing: frozenset[str]) -> dict[str, Any]:
    value: dict[str, Any] = {"id": item.id, "turn": item.turn, "kind": item.kind, **as_message(item)}
    value |= {"pinned": True} if item.pinned else {}
    value |= {"compacted": True} if item.id not in standing else {}
    behind = [each for each in item.stands_for if each in known]
    value |= {"stands_for": behind} if behind else {}
    value |= {"words_start": item.words_start} if item.words_start else {}
    if item.attachments:
        names = Attachment.__struct_fields__
        value["attachments"] = [{name: getattr(each, name) for name in names} for each in item.attachments]
    return value


def _written_turn(turn: TurnRecord) -> dict[str, Any]:
    return {
        "id": turn.id,
        "number": turn.number,
        "created": turn.created,
        "status": turn.status,
        "user": turn.user,
        "text": turn.text,
        "receipt": receipt_json(turn.receipt),
        "reply_tokens": turn.reply_tokens,
        "cost": turn.cost,
        "forgotten": list(turn.forgotten),
    }


def to_markdown(one: Exported) -> str:
    """Return a thread for people: what was said, in order, with the originals of what was compacted.

    Hidden characters are spelled out, so that a terminal that shows the file interprets nothing a model wrote.
    """
    numbers, known = {turn.id: turn for turn in one.turns}, {item.id for item in one.items}
    parts = [f"# Thread {one_line(one.thread)}"]
    for item in one.items:
        if any(each in known for each in item.stands_for):
            continue
        turn = numbers.get(item.turn)
        when = f" (turn {turn.number}, {turn.created})" if turn is not None else ""
        parts.append(f"## {'Summary' if item.kind == 'summary' else item.role.capitalize()}{when}")
        parts += [visible(item.content)[0]] if item.content.strip() else []
        parts += [
            f"Calls `{one_line(call.name)}`:\n\n{_fenced(visible(call.arguments)[0])}" for call in item.tool_calls
        ]
    if one.tracked:
        parts.append("## Tracked files\n\n" + "\n".join(f"- `{one_line(path)}`" for path in one.tracked))
    return "\n\n".join(parts) + "\n"


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def from_text(text: str) -> ReadThread:
    """Return the thread that ``to_text`` wrote. Raises ``PromptuaryError``, with the reason, if ``text`` is not one."""
    try:
        value = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise PromptuaryError(f"{_NO_EXPORT}: it is not JSON") from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise PromptuaryError(_NO_EXPORT)
    if value.get("version") != VERSION:
        raise PromptuaryError(
            f"this thread was exported by another version of Promptuary (format {value.get('version')!r}); upgrade it"
        )
    try:
        given = _listed(value, "items", _MOST_ITEMS)
        return ReadThread(
            _short(value, "thread"),
            list(_renamed([_item(one) for one in given])),
            [_checked_name(one) for one in _listed(value, "tracked", _MOST_NAMES)],
            len(_listed(value, "turns", _MOST_ITEMS)),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise PromptuaryError(f"this export cannot be imported: {one_line(str(error))[:200]}") from error


def _renamed(items: Sequence[Item]) -> Iterator[Item]:
    """Yield the items with new ids, marked as imported, whatever turn they belonged to."""
    ids: dict[str, str] = {}
    turns: dict[str, str] = {}
    for item in items:
        if not item.id or item.id in ids:
            raise ValueError(f"the id {item.id!r} is empty or occurs twice")
        unknown = [one for one in item.stands_for if one not in ids]
        if unknown:
            raise ValueError(f"{item.id!r} stands for {unknown[0]!r}, which does not come before it")
        ids[item.id] = new_id("item")
        turn = turns.setdefault(item.turn, new_id(IMPORTED))
        behind = tuple(ids[one] for one in item.stands_for)
        yield replace(item, id=ids[item.id], turn=turn, stands_for=behind)


def changes(thread: str, items: Sequence[Item]) -> Iterator[ThreadChange]:
    """Yield the changes that create a thread of imported items: few, because each costs as much as the whole thread."""
    standing: set[str] = set()
    said: list[Item] = []
    replacements: list[Replacement] = []
    for item in items:
        plain = replace(item, pinned=False)
        if gone := tuple(one for one in dict.fromkeys(item.stands_for) if one in standing):
            standing.difference_update(gone)
            replacements.append(Replacement(gone, plain))
        else:
            said.append(plain)
        standing.add(item.id)
    yield ThreadChange(thread, items=said, replacements=replacements)
    if pins := [(item.id, True) for item in items if item.pinned]:
        yield ThreadChange(thread, pinned=pins)


def _item(value: Any) -> Item:
    if not isinstance(value, Mapping):
        raise TypeError("an item is not an object")
    role, kind, content = value["role"], value.get("kind", "message"), _string(value, "content")
    if role not in SPEAKERS:
        raise ValueError(f"the role of an item is user, assistant or tool, not {role!r}")
    if kind not in get_args(ItemKind):
        raise ValueError(f"{kind!r} is not a kind of item")
    calls = tuple(
        ToolCall(*(_string(one, name) for name in ("id", "name", "arguments"))) for one in _some(value, "tool_calls")
    )
    failed = value.get("is_error")
    if calls and role != "assistant":
        raise ValueError(f"only an assistant calls tools, not a {role}")
    if role == "tool" and not value.get("tool_call_id"):
        raise ValueError("the result of a tool does not say which call it answers")
    return Item(
        id=_short(value, "id"),
        role=role,
        content=content,
        tool_calls=calls,
        tool_call_id=str(value.get("tool_call_id", "")) if role == "tool" else "",
        pinned=value.get("pinned") is True,
        kind=kind,
        stands_for=tuple(_checked_name(one) for one in _some(value, "stands_for")),
        turn=_checked_name(value.get("turn", "")),
        attachments=tuple(_attachment(one, content) for one in _some(value, "attachments")),
        words_start=_place(value.get("words_start", 0), content),
        is_error=failed if role == "tool" and isinstance(failed, bool) else None,
    )


def _attachment(value: Any, content: str) -> Attachment:
    lines, start, end = value["lines"], _place(value["start"], content), _place(value["end"], content)
    if start > end:
        raise ValueError("an attachment ends before it begins")
    between = None if lines is None else (_whole(lines[0]), _whole(lines[1]))
    source, label, revision = (_short(value, name) for name in ("source", "label", "revision"))
    return Attachment(source, label, revision, Detail(value["detail"]), between, start, end)


def _place(value: Any, content: str) -> int:
    if not 0 <= _whole(value) <= len(content):
        raise ValueError(f"{value!r} is not a position in the content")
    return int(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _listed(value: Mapping[str, Any], name: str, most: int) -> list[Any]:
    found = value.get(name, [])
    if not isinstance(found, list) or len(found) > most:
        raise ValueError(f"{name} is not a list of at most {most:,}")
    return found


def _some(value: Mapping[str, Any], name: str) -> list[Any]:
    return _listed(value, name, _MOST_NAMES)


def _string(value: Mapping[str, Any], name: str) -> str:
    found = value[name]
    if not isinstance(found, str):
        raise TypeError(f"{name} is not text")
    return found


def _short(value: Mapping[str, Any], name: str) -> str:
    return _checked_name(_string(value, name))


def _checked_name(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_NAME:
        raise ValueError("a name is not text, or is too long")
    return value
