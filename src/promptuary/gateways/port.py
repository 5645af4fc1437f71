"""What a chat platform is to the gateway: messages that come in, replies that go out, and what it is capable of.

An adapter translates between this and the platform's client library. It decides nothing: who may write, what is
answered, how an answer is cut and when it is sent again is the gateway's.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from promptuary.core.errors import PlatformUnreachableError, RateLimitedError
from promptuary.core.layers import Json

AttachmentKind = Literal["document", "picture", "sound", "other"]


def kind_of_mime(mime: str | None) -> AttachmentKind:
    """Return what a file is by its type; what is neither a picture nor sound may be a document of text."""
    if (mime or "").startswith("image/"):
        return "picture"
    return "sound" if (mime or "").startswith(("audio/", "video/")) else "document"


@dataclass(frozen=True, slots=True)
class ChatFile:
    """A file that came with a message. ``handle`` is what the adapter needs to download it."""

    name: str
    kind: AttachmentKind = "document"
    size: int = 0
    handle: str = ""


@dataclass(frozen=True, slots=True)
class Inbound:
    """A message. All ids are those of the platform, as text.

    ``direct``: nobody else is in the chat. ``addressed``: the bot is meant; in a group most messages are for others.
    ``edited``: the sender has changed a message that was sent before.
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
    files: tuple[ChatFile, ...] = ()

    @property
    def place(self) -> str:
        """The conversation: a chat, or a thread in it."""
        return f"{self.chat}/{self.thread}" if self.thread else self.chat

    def body(self) -> Mapping[str, Json]:
        """Return the message as it is stored."""
        body: dict[str, Any] = {**asdict(self), "files": [asdict(one) for one in self.files]}
        return {key: value for key, value in body.items() if key not in {"edited", "addressed"}}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Inbound":
        """Return the message that ``body`` was made of."""
        files = tuple(ChatFile(**one) for one in body["files"])
        return cls(**{**body, "files": files})


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a platform can do. ``longest`` is in characters of one message; ``edit_every`` is in seconds.

    ``idempotent``: a message that is sent twice with the same key arrives once.
    """

    longest: int
    edit_every: float
    largest_download: int = 20 * 1024 * 1024
    idempotent: bool = False


class ChatReply(Protocol):
    """Answers in one conversation."""

    async def typing(self) -> None:
        """Show that an answer is being written, for some seconds."""
        ...

    async def send(self, text: str, *, key: str) -> str:
        """Send a message, and return its id. ``key`` is the same whenever the same message is sent again."""
        ...

    async def edit(self, message: str, text: str) -> None:
        """Replace the text of a message that was sent."""
        ...

    async def send_file(self, name: str, data: bytes, *, key: str) -> str:
        """Send a file, and return the id of its message."""
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
        """Pass every message to ``accept`` until it is cancelled, and connect again whenever that is needed.

        ``last`` has the message of each chat that was received last: what came after it, and was missed, is passed on,
        too. ``on_state`` is told sentences for the operator.
        """
        ...

    def reply(self, chat: str, thread: str) -> ChatReply:
        """Return what answers in a conversation."""
        ...

    async def download(self, file: ChatFile) -> bytes:
        """Return what is in a file that came with a message."""
        ...

    async def check(self) -> Sequence[str]:
        """Try the token, and return sentences about what the bot is and may do."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


@dataclass(slots=True)
class Backoff:
    """How long to wait before the next try: longer each time, until something succeeds."""

    first: float = 0.5
    most: float = 30.0
    _next: float = field(default=0.0)

    def after(self, error: PlatformUnreachableError) -> float:
        """Return how many seconds to wait after an error."""
        self._next = min(self._next * 2 or self.first, self.most)
        return max(self._next, min(error.seconds, 600.0)) if isinstance(error, RateLimitedError) else self._next

    def reset(self) -> None:
        """Begin anew, after a success."""
        self._next = 0.0
