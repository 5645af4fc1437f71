"""Converts exports of chats to transcripts: ChatGPT, Claude, Slack, and Promptuary's own threads.

An export is unreadable JSON. ``as_transcript`` returns its messages as Markdown instead: a section for each chat, with
its title and its dates, and for each message a line that begins with the speaker. It recognises an export by its exact
shape; any other JSON is left alone. Pure: a callback supplies names of people from another file.

Only what somebody said is included: not system instructions, results of tools or thoughts of a model. Of a chat with
several branches, the current one is used.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import unescape
from typing import Any, Final, NamedTuple

Names = Callable[[], Mapping[str, str]]
"""Returns the names of people by their ids in messages."""

_SIGNS: Final = ('"mapping"', '"chat_messages"', '"ts"', '"pinned"', '"drift"')
"""Every export has one of these keys: other JSON is not even parsed."""
# Tuples, because any value may be compared with them: a list cannot be looked up in a set.
_SAID_IN: Final = ("text", "multimodal_text", "code")
_SAID_AS: Final = ("thread_broadcast", "bot_message", "me_message", "file_share")
_MAX_SPEAKERS: Final = 100
_STAMP: Final = re.compile(r"[0-9]{9,11}\.[0-9]{1,9}", re.ASCII)
_MENTION: Final = re.compile(r"<@([A-Z0-9]{1,20})(?:\|[^<>|]*)?>")
_LINK: Final = re.compile(r"<((?:https?|mailto):[^<>|\s]{1,2000})(?:\|([^<>|]{0,500}))?>")
_NOT_IN_NAMES: Final = re.compile(r"[^\w.'’&()+ -]+")
_FENCE: Final = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


class _Said(NamedTuple):
    """One message; ``date`` is seconds since 1970, if it is known."""

    speaker: str
    text: str
    date: int | None = None


class _Chat(NamedTuple):
    """One chat with its messages in order."""

    title: str
    messages: Sequence[_Said]
    date: int | None = None


def as_transcript(text: str, names: Names = dict) -> str | None:
    """Return the transcript of the export ``text``; ``None`` for other text. ``names`` is called at most once."""
    start = text.lstrip("\ufeff \t\r\n")
    if start[:1] not in {"[", "{"} or not any(sign in text for sign in _SIGNS):
        return None
    try:
        found = json.loads(start)
    except (ValueError, RecursionError):
        return None
    whole = found if isinstance(found, list) else [found]
    if not whole or not all(isinstance(one, dict) for one in whole):
        return None
    for reader in (_chatgpt, _claude, _history, _turn):
        chats = reader(whole)
        if chats is not None:
            return _render(chats)
    chats = _slack(whole, names)
    return None if chats is None else _render(chats)


def _chatgpt(whole: Sequence[dict[str, Any]]) -> list[_Chat] | None:
    if not all(isinstance(one.get("mapping"), dict) and {"title", "create_time"} <= one.keys() for one in whole):
        return None
    if not all(isinstance(node, dict) and "message" in node for one in whole for node in one["mapping"].values()):
        return None
    return [_Chat(_text(one["title"]), list(_branch(one)), _time(one.get("create_time"))) for one in whole]


def _branch(chat: Mapping[str, Any]) -> Iterator[_Said]:
    """Yield the messages from the first to the current one."""
    nodes, key, path = chat["mapping"], chat.get("current_node"), []
    if not isinstance(key, str) or key not in nodes:
        key = next(reversed(nodes), None)
    seen: set[str] = set()
    # The parents in a hostile export may form a cycle.
    while isinstance(key, str) and key not in seen and isinstance(node := nodes.get(key), dict):
        seen.add(key)
        path.append(node.get("message"))
        key = node.get("parent")
    for message in reversed(path):
        if not isinstance(message, dict):
            continue
        author = message.get("author")
        role = author.get("role") if isinstance(author, dict) else None
        hidden = isinstance(data := message.get("metadata"), dict) and data.get("is_visually_hidden_from_conversation")
        if role in ("user", "assistant") and not hidden:
            yield _Said(role, _content(message.get("content")), _time(message.get("create_time")))


def _content(content: object) -> str:
    """Return the text of a message of ChatGPT; pictures and files are named."""
    if not isinstance(content, dict) or content.get("content_type") not in _SAID_IN:
        return ""
    parts = content.get("parts") if isinstance(content.get("parts"), list) else [content.get("text")]
    said = []
    for part in parts or ():
        if isinstance(part, dict):
            said.append(_text(part.get("text")) or "[attachment]")
        else:
            said.append(_text(part))
    return "\n".join(one for one in said if one)


def _claude(whole: Sequence[dict[str, Any]]) -> list[_Chat] | None:
    if not all(isinstance(one.get("chat_messages"), list) and "uuid" in one for one in whole):
        return None
    return [
        _Chat(_text(one.get("name")), list(_claude_messages(one["chat_messages"])), _time(one.get("created_at")))
        for one in whole
    ]


def _claude_messages(messages: Sequence[object]) -> Iterator[_Said]:
    for message in messages:
        if not isinstance(message, dict) or message.get("sender") not in ("human", "assistant"):
            continue
        blocks = message.get("content")
        texts = [
            _text(block.get("text"))
            for block in (blocks if isinstance(blocks, list) else ())
            if isinstance(block, dict) and block.get("type") == "text"
        ]
        text = "\n\n".join(text for text in texts if text) or _text(message.get("text"))
        yield _Said("user" if message["sender"] == "human" else "assistant", text, _time(message.get("created_at")))


def _history(whole: Sequence[dict[str, Any]]) -> list[_Chat] | None:
    """Read what ``promptuary thread history --json`` prints."""
    if not all({"id", "kind", "pinned", "role", "content"} <= one.keys() for one in whole):
        return None
    return [_Chat("Thread", list(_messages(whole)))]


def _turn(whole: Sequence[dict[str, Any]]) -> list[_Chat] | None:
    """Read what ``promptuary thread show --json`` prints, one turn or several in a list."""
    if not all({"turn", "status", "created", "text", "drift"} <= one.keys() for one in whole):
        return None
    chats = []
    for one in whole:
        messages = list(_messages(one["messages"])) if isinstance(one.get("messages"), list) else []
        date = _time(one["created"])
        chats.append(
            _Chat(f"Turn {_text(str(one['turn'])[:20])}", messages or [_Said("user", _text(one["text"]))], date)
        )
    return chats


def _messages(items: Sequence[object]) -> Iterator[_Said]:
    for item in items:
        if isinstance(item, dict) and item.get("role") in ("user", "assistant"):
            yield _Said(item["role"], _text(item.get("content")))


def _slack(whole: Sequence[dict[str, Any]], names: Names) -> list[_Chat] | None:
    """Read a day of a channel."""
    if not all(one.get("type") == "message" and _STAMP.fullmatch(_text(one.get("ts"))) for one in whole):
        return None
    known = {user: name for one in whole if (user := _text(one.get("user"))) and (name := _profile_name(one))}
    ids = {_text(one.get("user")) for one in whole} | set(
        _MENTION.findall(" ".join(_text(one.get("text")) for one in whole))
    )
    if not ids <= known.keys() | {""}:
        known = {**names(), **known}
    messages = []
    for one in sorted(whole, key=lambda message: float(message["ts"])):
        user = _text(one.get("user"))
        speaker = known.get(user) or _text(one.get("username")) or user or "bot"
        if "subtype" not in one or one["subtype"] in _SAID_AS:
            messages.append(_Said(speaker, _slack_text(_text(one.get("text")), known), _time(float(one["ts"]))))
    return [_Chat("", messages)]


def slack_names(users: str) -> dict[str, str]:
    """Return the names of people by their ids from ``users.json`` of an export of Slack."""
    try:
        found = json.loads(users)
    except (ValueError, RecursionError):
        return {}
    people = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return {
        _text(person.get("id")): name
        for person in people
        if (name := _profile_name(person) or _text(person.get("name")))
    }


def _profile_name(one: Mapping[str, Any]) -> str:
    profile = one.get("user_profile") or one.get("profile")
    if not isinstance(profile, dict):
        return ""
    return next((name for key in ("real_name", "display_name", "name") if (name := _text(profile.get(key)))), "")


def _slack_text(text: str, names: Mapping[str, str]) -> str:
    text = _MENTION.sub(lambda match: f"@{names.get(match[1], match[1])}", text)
    text = _LINK.sub(lambda match: f"{match[2]} ({match[1]})" if match[2] else match[1], text)
    return unescape(text)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _time(value: object) -> int | None:
    """Return a time as seconds since 1970, given as such a number or as a date with a time in ISO 8601."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value[:40])
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            return None
        return int(moment.timestamp()) if 1970 <= moment.year < 2200 else None
    except (ValueError, OverflowError, OSError):
        return None


def _render(chats: Sequence[_Chat]) -> str:
    """Return the chats as Markdown; the front matter says who speaks, so that nothing else is taken for a turn."""
    said = [chat._replace(messages=[message for message in chat.messages if message.text]) for chat in chats]
    names = {message.speaker: _name(message.speaker) for chat in said for message in chat.messages}
    starts = frozenset(name.lower() for name in names.values())
    named = ", ".join(list(dict.fromkeys(names.values()))[:_MAX_SPEAKERS])
    sections = ["\n".join(_lines(chat, names, starts)) for chat in said if chat.messages]
    return "\n\n".join([f"---\nspeakers: [{named}]\n---", *sections]) + "\n"


def _lines(chat: _Chat, names: Mapping[str, str], starts: frozenset[str]) -> Iterator[str]:
    if title := " ".join(chat.title.split())[:200]:
        yield f"## {title}\n"
    day = None
    for message in chat.messages:
        date = message.date if message.date is not None else chat.date
        if date is not None and date // 86_400 != day:
            shown = datetime.fromtimestamp(date, UTC)
            yield f"{'' if day is None else chr(10)}{shown:%Y-%m-%d %H:%M}\n"
            day = date // 86_400
        yield f"{names[message.speaker]}: {_inside(message.text, starts)}"


def _inside(text: str, starts: frozenset[str]) -> str:
    """Return a message in which lines that look like the beginning of another message are indented."""
    first, *lines = text.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines):
        name, colon, _ = line[:200].partition(":")
        if colon and name.strip("*_ ").lower() in starts:
            lines[number] = f" {line}"
    if lines and lines[-1].lstrip().startswith("#"):
        lines[-1] = f"    {lines[-1]}"
    if len(_FENCE.findall(text)) % 2:
        lines.append("```")
    return "\n".join([first, *lines])


def _name(speaker: str) -> str:
    """Return a name that a turn can begin with: up to four words of letters, digits and a few marks."""
    words = _NOT_IN_NAMES.sub(" ", speaker).split()[:4]
    plain = " ".join(word[:24] for word in words).lstrip("0123456789_.'’&()+- ")
    return plain or "someone"
