"""The items of a conversation, and the messages that a chat API takes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NotRequired, Protocol, TypedDict

from msgspec import Struct

from promptuary.base.blocks import Attachment, Passage
from promptuary.base.budget import TokenCounter

Role = Literal["system", "developer", "user", "assistant", "tool"]
"""Who speaks, in the words of the chat APIs."""

SPEAKERS: Final = frozenset({"user", "assistant", "tool"})
"""The roles in a history. Instructions come from the layers of a turn, never from what was said before."""


class Message(TypedDict):
    """One message, in the shape every chat API takes; the optional keys are those of tool use.

    ``is_error`` says of the result of a tool whether the tool failed; only some APIs take it. ``images`` are sent
    before the text.
    """

    role: Role
    content: str
    tool_calls: NotRequired[list["WireToolCall"]]
    tool_call_id: NotRequired[str]
    is_error: NotRequired[bool]
    images: NotRequired[list["WireImage"]]


class WireImage(TypedDict):
    """An image that goes with a message: ``data`` is its file in base64, which the ledger does not store."""

    name: str
    media_type: str
    width: int
    height: int
    sha256: str
    tokens: int
    data: NotRequired[str]


class WireToolCall(TypedDict):
    """A call of a tool as the model asked for it."""

    id: str
    name: str
    arguments: str


class Dumpable(Protocol):
    """An object that can say what its fields are, as those of OpenAI's and Anthropic's clients can."""

    def model_dump(self) -> Any:
        """Return the fields and their values."""
        ...


_Part = Dumpable | Mapping[str, Any]
Answer = str | _Part | Iterable[_Part | Iterable[_Part]]
"""A reply of a model, including the results of tools: text, the response of an API, or messages or parts of them."""

EMPTY: Final = "(empty)"
"""What is sent instead of an empty message to a provider that rejects empty messages."""


class ToolCall(Struct, frozen=True):
    """A call of a tool: ``arguments`` is the JSON that the model wrote."""

    id: str
    name: str
    arguments: str


IMPORTED: Final = "imported"
"""The prefix of ids of turns that were imported from a file."""

ItemKind = Literal["message", "summary"]
"""A message as it was sent or received, or a summary that replaces compacted messages."""


class Item(Struct, frozen=True):
    """One entry of a thread's history.

    ``content`` is exactly what was sent or received. ``pinned`` items are never compacted. ``stands_for`` holds the ids
    of the items that a summary replaces; they stay in the ledger, and ``whole_tokens`` is what they cost, 0 if that is
    unknown. ``attachments`` are what was attached to it, in the order of ``content``, and ``words_start`` is where the
    person's own words begin. ``is_error`` is whether a tool failed; ``None`` if that is unknown. ``images`` are sent
    with it; they are looked up for each turn and not stored.
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
    is_error: bool | None = None
    images: tuple[WireImage, ...] = ()
    whole_tokens: int = 0

    @property
    def imported(self) -> bool:
        """Whether it was imported from a file, whose author may have written anything."""
        return self.turn.startswith(f"{IMPORTED}-")

    @property
    def words(self) -> str:
        """The words of the message, without its attachments."""
        return self.content[self.words_start :]

    def passages(self) -> Iterator[Passage]:
        """Yield the words, and the body of each attachment."""
        yield Passage(self.words)
        for one in self.attachments:
            if one.start < one.end:
                yield Passage(self.content[one.start : one.end], one.path, one.lines)


class Replacement(Struct, frozen=True):
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
    if item.is_error is not None:
        message["is_error"] = item.is_error
    if item.images:
        message["images"] = list(item.images)
    return message


def as_recorded(message: Message) -> Message:
    """Return ``message`` as the ledger stores it: with a description of each image instead of its data."""
    if "images" not in message:
        return message
    kept = message.copy()
    kept["images"] = [_without_data(image) for image in message["images"]]
    return kept


def _without_data(image: WireImage) -> WireImage:
    kept = image.copy()
    kept.pop("data", None)
    return kept


class Prompt(Struct, frozen=True):
    """Standing content, the conversation so far, what is live, and the person's message with what it points at.

    ``loop`` is what followed the message within the turn: the model's calls and what the tools answered, and behind
    them what has changed meanwhile.
    """

    stable: Sequence[Message]
    history: Sequence[Message]
    live: Sequence[Message]
    message: Message
    loop: Sequence[Message] = ()

    @property
    def messages(self) -> list[Message]:
        """Every message, in order."""
        return [*self.stable, *self.history, *self.live, self.message, *self.loop]


MESSAGE_OVERHEAD = 4
"""Tokens that providers spend on the envelope of a message: its role and where it starts and ends."""


CALL_OVERHEAD = 8
"""Tokens for the envelope of a tool call, around its name and arguments."""


def item_cost(item: Item, counter: TokenCounter) -> int:
    """Return the cost of ``item`` when it is sent: content, tool calls with names and arguments, envelopes."""
    tokens = MESSAGE_OVERHEAD + counter.count(item.content)
    if item.images:
        tokens += sum(image["tokens"] for image in item.images)
    if not item.tool_calls:
        return tokens
    return tokens + sum(
        CALL_OVERHEAD + counter.count(call.name) + counter.count(call.arguments) for call in item.tool_calls
    )


def whole_cost(item: Item, counter: TokenCounter) -> int:
    """Return what ``item`` costs, or, if it stands for others, what they cost; 0 if that is unknown."""
    return item.whole_tokens if item.stands_for else item_cost(item, counter)


def message_cost(message: Message, counter: TokenCounter) -> int:
    """Return the cost of a message of a prompt, as ``item_cost`` counts it."""
    tokens = MESSAGE_OVERHEAD + counter.count(message["content"])
    calls = message.get("tool_calls", ())
    tokens += sum(image["tokens"] for image in message.get("images", ()))
    return tokens + sum(
        CALL_OVERHEAD + counter.count(call["name"]) + counter.count(call["arguments"]) for call in calls
    )


def cost(items: Iterable[Item], counter: TokenCounter) -> int:
    tokens = 0
    for item in items:
        tokens += item_cost(item, counter)
    return tokens
