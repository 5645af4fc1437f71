"""The one form in which content enters the window.

A ``Source`` is a text and where it came from, able to show itself in less and less detail. A ``Block`` is a source at
one detail, rendered, with its cost. Nothing reaches a model in any other way: the attachments of a message, the output
of layers, the history and the message itself are blocks.
"""

from collections.abc import Callable
from enum import StrEnum
from hashlib import sha256
from typing import Final, Protocol

from msgspec import Struct, field

from promptuary.base.values import shown_without

LARGEST_IMAGE: Final = 3_750_000
"""Bytes of one image: Anthropic takes 5 MB of its text form, which is a third longer."""
MOST_IMAGE_BYTES: Final = 15_000_000
"""Bytes of all images of a message: Anthropic refuses requests above 32 MB."""
MOST_EARLIER_BYTES: Final = 5_000_000
"""Bytes of all images of earlier messages that are sent again."""
MOST_IMAGES: Final = 20
"""In one message."""
MOST_PIXELS: Final = 8_000
"""On a side of an image."""


class Detail(StrEnum):
    """How much of a source is shown, from everything to its name."""

    FULL = "full"
    OUTLINE = "outline"
    EXCERPT = "excerpt"
    PATH = "path"


class Trust(StrEnum):
    """Where text came from. Only code assigns it; no content can raise it."""

    WORKSPACE = "workspace"
    """Files and history of the person's own workspace."""
    EXTERNAL = "external"
    """The web and anyone else: data, never instructions."""


class Picture(Struct, frozen=True):
    """An image: its type, its size in pixels, and the bytes of its file."""

    media_type: str
    width: int
    height: int
    data: bytes

    def __repr__(self) -> str:
        return shown_without(self, "data")

    @property
    def format(self) -> str:
        """The common name of its type."""
        return self.media_type.partition("/")[2].upper()


class Forms(Protocol):
    """Shorter forms of a text, the richest first. A list is one; an implementation may also make them on demand."""

    def __len__(self) -> int:
        """Return how many forms there are."""
        ...

    def __getitem__(self, index: int, /) -> str:
        """Return one form; each costs about as much as the next, or more."""
        ...


def nothing_shorter() -> Forms:
    """Return no outlines: such a source is shortened from whole to excerpt."""
    return ()


class Source(Struct, frozen=True):
    """A text, where it came from, and how it can be shortened.

    Sources with the same ``key`` are the same thing and are attached once. ``path`` is the file it came from, if any,
    and ``revision`` the SHA-256 of what was fetched. ``origin`` is set where the text was not read from ``path`` itself
    (``index:notes/a.md``). ``facts`` are short remarks for the block's info line ("lines 10-50 of 212"); ``claims`` are
    what a source from outside says about itself, such as its title; they are rendered inside its boundary. ``lines``
    are the first and last line of the file that ``text`` has; ``first_line`` numbers the first line of ``text`` if the
    lines follow one another, so that an excerpt can say what it left out. ``outlines`` gives shorter forms, the richest
    first. ``read_on`` is the reference with which the person or the model can fetch another part. ``anchor`` is the
    target of links in the message. ``partial`` says that the text is not all there was. ``asked`` is the reference that
    a person wrote for it, empty if one reference brought several sources, and ``None`` if nobody asked: the head of its
    block repeats it, with the cost. ``picture`` is the image, if the source is one; it costs ``picture_tokens`` and is
    sent beside the text.
    """

    key: str
    label: str
    kind: str
    text: str
    revision: str
    language: str = ""
    trust: Trust = Trust.WORKSPACE
    facts: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    lines: tuple[int, int] | None = None
    first_line: int | None = None
    outlines: Callable[[], Forms] = field(default_factory=lambda: nothing_shorter)
    read_on: str = ""
    brief: bool = False
    anchor: str = ""
    path: str = ""
    origin: str = ""
    partial: bool = False
    asked: str | None = None
    picture: Picture | None = None
    picture_tokens: int = 0

    @property
    def address(self) -> str:
        """Where it came from, as receipts and attachments record it.

        ``file:src/a.py`` is used only if ``revision`` is the hash of that file.
        """
        return self.origin or (f"file:{self.path}" if self.path else self.key)


class Passage(Struct, frozen=True):
    """A text in the window; ``path`` and ``lines`` say which lines of which file it shows, if any."""

    text: str
    path: str = ""
    lines: tuple[int, int] | None = None


class Block(Struct, frozen=True):
    """A source at one detail, as it is sent.

    ``tokens`` counts exactly ``text``, and the image that goes with it. ``body`` is where the source's own text starts
    and ends in ``text``; the two are equal if only its name is shown. ``score`` and ``reason`` say why it is in the
    window. ``whole_tokens`` is what a shortened one would cost whole; 0 if it is whole, or if that is not known.
    """

    source: Source
    detail: Detail
    text: str
    tokens: int
    body: tuple[int, int] = (0, 0)
    score: float | None = None
    reason: str = ""
    whole_tokens: int = 0

    @property
    def picture(self) -> Picture | None:
        """The image that is sent with it, whole or not at all."""
        return self.source.picture if self.detail is Detail.FULL else None

    @property
    def whole_cost(self) -> int:
        """What it would cost whole, as far as that is known."""
        return self.whole_tokens or self.tokens

    @property
    def passage(self) -> Passage:
        """What it shows, for code that searches the window for a text."""
        return Passage(self.text, path_of(self.source.address), self.source.lines)

    @classmethod
    def of(
        cls,
        text: str,
        label: str,
        *,
        source: str = "",
        revision: str = "",
        lines: tuple[int, int] | None = None,
        trust: Trust = Trust.WORKSPACE,
        detail: Detail = Detail.FULL,
        tokens: int = 0,
        score: float | None = None,
        reason: str = "",
        whole_tokens: int = 0,
    ) -> "Block":
        """Return ``text`` as a separate block, to be sent unchanged.

        This is how a layer makes its blocks; the runner counts their tokens. ``source`` says where the text came from
        (``file:docs/style.md``) and ``revision`` is the SHA-256 of that, by default of ``text``.
        """
        origin = Source(
            key=source or label,
            label=label,
            kind="text",
            text=text,
            revision=revision or content_hash(text),
            lines=lines,
            trust=trust,
        )
        return cls(origin, detail, text, tokens, (0, len(text)), score, reason, whole_tokens)


class Omitted(Struct, frozen=True):
    """Something that could have been in the window and is not, and why; ``tokens`` is what it would have cost.

    They are 0 if that is not known.
    """

    label: str
    reason: str
    source: str = ""
    score: float | None = None
    tokens: int = 0


def path_of(address: str) -> str:
    """Return the path in the address of a source, for ``file:`` and ``index:`` addresses; empty for others."""
    scheme, _, path = address.partition(":")
    return path if scheme in {"file", "index"} else ""


def content_hash(text: str) -> str:
    """Return the SHA-256 of ``text``, whatever characters it has."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Attachment(Struct, frozen=True):
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
        """The file it came from; empty if it did not come from a file."""
        return path_of(self.source)
