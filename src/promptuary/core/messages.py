"""What is said in a thread: the items of a conversation, and the messages that a chat API takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NotRequired, TypedDict

from promptuary.core.blocks import Detail, Passage, path_of

Role = Literal["system", "developer", "user", "assistant", "tool"]
"""Who speaks, in the words of the chat APIs."""

SPEAKERS: Final = frozenset({"user", "assistant", "tool"})
"""The roles in a history. Instructions come from the layers of a turn, never from what was said before."""


class Message(TypedDict):
    """One message, in the shape every chat API takes; the two optional keys are those of tool use."""

    role: Role
    content: str
    tool_calls: NotRequired[list["WireToolCall"]]
    tool_call_id: NotRequired[str]


class WireToolCall(TypedDict):
    """A call of a tool as the model asked for it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool: ``arguments`` is the JSON that the model wrote."""

    id: str
    name: str
    arguments: str


ItemKind = Literal["message", "summary"]
"""A message as it was sent or received, or a summary that replaces compacted messages."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something that was attached to a message, as data beside the text that was sent.

    ``source`` says where it came from (``file:src/a.py``), ``revision`` is the SHA-256 of what was fetched, ``lines``
    are the first and last line that were attached. The body that the model saw is ``content[start:end]`` of the item;
    ``start == end`` if only its name was shown.
    """

    source: str
    label: str
    revision: str
    detail: Detail
    lines: tuple[int, int] | None
    start: int
    end: int

    @property
    def path(self) -> str:
        """The file it came from; empty if it came from none."""
        return path_of(self.source)


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a thread's history.

    ``content`` is exactly what was sent or received. ``pinned`` items are never compacted. ``stands_for`` holds the ids
    of the items that a summary replaces; they stay in the ledger. ``attachments`` are what was attached to it, in the
    order of ``content``, and ``words_start`` is where the person's own words begin. Items of earlier versions have no
    attachments: all of their content counts as words.
    """

    id: str
    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    pinned: bool = False
    kind: ItemKind = "message"
    stands_for: tuple[str, ...] = ()
    turn: str = ""
    attachments: tuple[Attachment, ...] = ()
    words_start: int = 0

    @property
    def words(self) -> str:
        """What was said, without what was attached to it."""
        return self.content[self.words_start :]

    def passages(self) -> Iterator[Passage]:
        """Yield the words, and the body of each attachment."""
        yield Passage(self.words)
        for one in self.attachments:
            if one.start < one.end:
                yield Passage(self.content[one.start : one.end], one.path, one.lines)


@dataclass(frozen=True, slots=True)
class Replacement:
    """``item`` replaces the first of the items with these ids; the others leave the history and stay in the ledger.

    Items are never merely removed, so everything that left a history can be found from the items in it.
    """

    ids: tuple[str, ...]
    item: Item


def as_message(item: Item) -> Message:
    """Return ``item`` as a chat API takes it."""
    message: Message = {"role": item.role, "content": item.content}
    if item.tool_calls:
        message["tool_calls"] = [
            {"id": one.id, "name": one.name, "arguments": one.arguments} for one in item.tool_calls
        ]
    if item.tool_call_id:
        message["tool_call_id"] = item.tool_call_id
    return message


@dataclass(frozen=True, slots=True)
class Prompt:
    """Standing content, the conversation so far, what is live, and the person's message with what it points at."""

    stable: Sequence[Message]
    history: Sequence[Message]
    live: Sequence[Message]
    message: Message

    @property
    def messages(self) -> list[Message]:
        """Every message, in order."""
        return [*self.stable, *self.history, *self.live, self.message]
