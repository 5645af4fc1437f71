"""The interface of a chat platform: incoming messages, outgoing replies, and its capabilities.

An adapter translates between this and the platform's client library. It decides nothing: the gateway decides who may
write, what is answered, how an answer is split and when it is sent again.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import asdict

from promptuary.base.errors import PlatformUnreachableError, RateLimitedError
from promptuary.base.values import Json

AttachmentKind = Literal["document", "picture", "sound", "other"]


def kind_of_mime(mime: str | None) -> AttachmentKind:
    """Return the kind of a file by its type; a file that is neither a picture nor sound may be a text document."""
    if (mime or "").startswith("image/"):
        return "picture"
    return "sound" if (mime or "").startswith(("audio/", "video/")) else "document"


class ChatFile(Struct, frozen=True):
    """A file that came with a message. ``handle`` is what the adapter needs to download it."""

    name: str
    kind: AttachmentKind = "document"
    size: int = 0
    handle: str = ""


class Inbound(Struct, frozen=True):
    """A message. All ids are the platform's, as text.

    ``direct``: nobody else is in the chat. ``addressed``: it is meant for the bot; in a group most messages are for
    others. ``edited``: the sender has changed an earlier message. ``missed``: it was read later from the history of a
    chat in which nobody had written to the bot before.
    """

    chat: str
    message: str
    user: str
    text: str
    thread: str = ""
    user_name: str = ""
    direct: bool = True
    addressed: bool = True
    edited: bool = False
    missed: bool = False
    files: tuple[ChatFile, ...] = ()

    @property
    def place(self) -> str:
        """The conversation: a chat, or a thread in it."""
        return f"{self.chat}/{self.thread}" if self.thread else self.chat

    def body(self) -> Mapping[str, Json]:
        """Return the message in its stored form."""
        body: dict[str, Any] = {**asdict(self), "files": [asdict(file) for file in self.files]}
        return {key: value for key, value in body.items() if key not in {"edited", "addressed", "missed"}}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Inbound":
        """Return the message from its stored form."""
        files = tuple(ChatFile(**one) for one in body["files"])
        return cls(**{**body, "files": files})


class Capabilities(Struct, frozen=True):
    """What a platform can do. ``longest`` is in characters per message; ``edit_every`` is in seconds.

    ``size`` returns how many of these characters a Markdown text takes on the platform.
    ``command_mark`` is the prefix of a command: a platform may reserve the slash for itself.
    ``key_seconds``: for how long a message that is sent twice with the same key arrives only once.
    """

    longest: int
    edit_every: float
    largest_download: int = 20 * 1024 * 1024
    command_mark: str = "/"
    key_seconds: float = 0.0
    size: Callable[[str], int] = len


class ChatReply(Protocol):
    """Answers in one conversation."""

    async def typing(self) -> None:
        """Show that an answer is being written, for some seconds."""
        ...

    async def send(self, text: str, *, key: str) -> str:
        """Send a Markdown message, and return its id; ``key`` is the same whenever it is sent again."""
        ...

    async def edit(self, message: str, text: str) -> None:
        """Replace the text of a message that was sent."""
        ...

    async def send_file(self, name: str, data: bytes, *, text: str, key: str) -> str:
        """Send a file, with a text if there is one, and return the id of its message."""
        ...

    async def find(self, key: str, *, after: str) -> str:
        """Return the id of the message that was sent with ``key``, after another message; empty if it is unknown."""
        ...


Accept = Callable[[Inbound], Awaitable[None]]
"""Takes a message. When it returns, the message is stored, and the platform may forget it."""


class Platform(Protocol):
    """A bot on a chat platform."""

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""
        ...

    async def run(self, accept: Accept, last: Mapping[str, str], on_state: Callable[[str], None]) -> None:
        """Pass every message to ``accept`` until cancelled, and reconnect whenever needed.

        ``last`` has the last received message of each chat, the newest first: messages that were missed after it are
        passed on, too, as far as the platform provides them. ``on_state`` is called with sentences for the operator.
        """
        ...

    def reply(self, chat: str, thread: str) -> ChatReply:
        """Return a reply object for a conversation."""
        ...

    async def download(self, file: ChatFile) -> bytes:
        """Return the content of a file that came with a message."""
        ...

    async def check(self) -> Sequence[str]:
        """Try the token, and return sentences that describe the bot and what it may do."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class Backoff(Struct):
    """How long to wait before the next attempt: longer each time, until one succeeds."""

    first: float = 0.5
    most: float = 30.0
    _next: float = field(default=0.0)

    def after(self, error: PlatformUnreachableError) -> float:
        """Return how many seconds to wait after an error of the platform."""
        seconds = self.next()
        return max(seconds, min(error.seconds, 600.0)) if isinstance(error, RateLimitedError) else seconds

    def next(self) -> float:
        """Return how many seconds to wait after any error."""
        self._next = min(self._next * 2 or self.first, self.most)
        return self._next

    def reset(self) -> None:
        """Start again with short waits, after a success."""
        self._next = 0.0
