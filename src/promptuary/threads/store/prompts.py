"""How the list of the messages of a prompt is stored: each message by the hash of its text.

A long list is cut into parts of the same length, which are contents themselves: turn after turn sends the same history,
so all parts but the last are stored once. An entry of a list is a letter and a hash. The letter is that of the role of
a message that has nothing else but its text; ``j`` for any other, whose JSON precedes the hash, or ``r`` if something
was taken out of that; or ``p`` for a part.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from promptuary.base.messages import Message
from promptuary.database.columns import to_text
from promptuary.database.contents import Contents, hash_of

_ROLES: Final = {"system": b"s", "user": b"u", "assistant": b"a", "tool": b"t"}
_LETTERS: Final = {letter[0]: role for role, letter in _ROLES.items()}
_JSON: Final = ord("j")
_REDACTED: Final = ord("r")
_PART: Final = ord("p")
_PLAIN: Final = ["role", "content"]
_AT_ONCE: Final = 16
"""How many messages a part has. A list of fewer is one with the turn."""
_HASH: Final = 32
_LENGTH: Final = 4


class Sent(NamedTuple):
    """A message of a prompt: the hash of its text, and its role, or the JSON of everything but the text."""

    content: bytes
    role: str
    rest: str = ""
    is_redacted: bool = False

    def message(self, text: str) -> Message:
        """Return the message with its text."""
        if not self.rest:
            return cast("Message", {"role": self.role, "content": text})
        return cast("Message", json.loads(self.rest) | {"content": text})


def sent_as(message: Mapping[str, Any], digest: bytes) -> Sent:
    """Return ``message`` as it is stored; its text is stored under ``digest``."""
    if list(message) == _PLAIN and message["role"] in _ROLES:
        return Sent(digest, message["role"])
    # In the order of the keys of the message; its text is elsewhere.
    return Sent(digest, "", to_text({**message, "content": ""}))


def put_messages(
    messages: Sequence[Message], contents: Contents, *, also: Sequence[bytes] = ()
) -> tuple[bytes, list[bytes]]:
    """Store the texts of ``messages``; return the list, and the hashes of the texts.

    ``also`` are the hashes of other texts that the caller stores: all are looked up together.
    """
    entries = [sent_as(message, hash_of(message["content"])) for message in messages]
    whole = len(messages) - 1 - (len(messages) - 1) % _AT_ONCE if messages else 0
    firsts = range(0, whole, _AT_ONCE)
    parts = [b"".join(map(_entry, entries[first : first + _AT_ONCE])) for first in firsts]
    digests = list(map(_hash_of_part, parts))
    contents.look_up([*digests, *(entry.content for entry in entries[whole:]), *also])
    listed = b""
    for first, part, digest in zip(firsts, parts, digests, strict=True):
        if not contents.has(digest):  # otherwise its texts are there, too
            _put_texts(messages[first : first + _AT_ONCE], entries[first : first + _AT_ONCE], contents)
            contents.put_part(part)
        listed += b"p" + digest
    _put_texts(messages[whole:], entries[whole:], contents)
    return listed + b"".join(map(_entry, entries[whole:])), [entry.content for entry in entries]


def put_entries(entries: Sequence[Sent], contents: Contents) -> bytes:
    """Return the list of ``entries``, whose texts are stored."""
    whole = len(entries) - 1 - (len(entries) - 1) % _AT_ONCE if entries else 0
    parts = (b"".join(map(_entry, entries[first : first + _AT_ONCE])) for first in range(0, whole, _AT_ONCE))
    return b"".join(b"p" + contents.put_part(part) for part in parts) + b"".join(map(_entry, entries[whole:]))


def entries_of(listed: bytes, contents: Contents) -> list[Sent]:
    """Return the entries of a list, those of its parts included."""
    found: list[Sent] = []
    for entry in _read(listed):
        found += entries_of(contents.get_part(entry), contents) if isinstance(entry, bytes) else [entry]
    return found


def add_names(listed: bytes, contents: Contents, found: set[bytes]) -> None:
    """Add the hashes of the texts and parts that a list names to ``found``; a part that is there is not read again."""
    for entry in _read(listed):
        if not isinstance(entry, bytes):
            found.add(entry.content)
        elif entry not in found:
            found.add(entry)
            add_names(contents.get_part(entry), contents, found)


def _hash_of_part(part: bytes) -> bytes:
    return hashlib.sha256(part).digest()


def _put_texts(messages: Sequence[Message], entries: Sequence[Sent], contents: Contents) -> None:
    for message, entry in zip(messages, entries, strict=True):
        contents.put(message["content"], entry.content)


def _entry(entry: Sent) -> bytes:
    if not entry.rest:
        return _ROLES[entry.role] + entry.content
    rest = entry.rest.encode("utf-8", "surrogatepass")
    letter = b"r" if entry.is_redacted else b"j"
    return letter + len(rest).to_bytes(_LENGTH, "big") + rest + entry.content


def _read(listed: bytes) -> Iterator[Sent | bytes]:
    """Yield the entries of a list, and the hash of each part."""
    place = 0
    while place < len(listed):
        letter, rest, place = listed[place], "", place + 1
        if letter in (_JSON, _REDACTED):
            end = place + _LENGTH + int.from_bytes(listed[place : place + _LENGTH], "big")
            rest, place = listed[place + _LENGTH : end].decode("utf-8", "surrogatepass"), end
        digest, place = listed[place : place + _HASH], place + _HASH
        if place > len(listed) or not (letter in _LETTERS or letter in (_JSON, _REDACTED, _PART)):
            raise ValueError("a prompt is not what was written")
        yield digest if letter == _PART else Sent(digest, _LETTERS.get(letter, ""), rest, letter == _REDACTED)
