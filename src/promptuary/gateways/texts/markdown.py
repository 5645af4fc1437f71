"""Turns Markdown, as models write it, into a sequence of pieces that each platform renders in its own way. Pure.

It decides what is safe on all of them: the text of a link never looks like another address, a picture becomes its
address, and HTML is text. How people are mentioned, and how markup is escaped, differs from platform to platform.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, assert_never

from msgspec import Struct

from promptuary.base.table import Column, table

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Style = Literal["bold", "italic", "strike"]


class Text(Struct, frozen=True):
    """Plain text, without markup."""

    text: str


class InlineCode(Struct, frozen=True):
    """Code within a line."""

    text: str


class CodeBlock(Struct, frozen=True):
    """Lines of code, without a line break at their end."""

    text: str
    language: str = ""


class Link(Struct, frozen=True):
    """A text that links to an address; the text cannot be mistaken for another address."""

    text: str
    url: str


class Styled(Struct, frozen=True):
    """A style begins or ends here."""

    style: Style
    on: bool


class QuoteMark(Struct, frozen=True):
    """The rest of this line is a quotation."""


class Dialect(Struct, frozen=True):
    """The markup of a platform, and how it escapes plain text."""

    words: Callable[[str], str]
    code: Callable[[str], str]
    block: Callable[[str, str], str]
    link: Callable[[str, str], str]
    marks: Mapping[Style, str]
    quote: str


Piece = Text | InlineCode | CodeBlock | Link | Styled | QuoteMark

_STYLES: Final[dict[str, Style]] = {"strong": "bold", "em": "italic", "s": "strike"}
_LANGUAGE: Final = re.compile(r"[\w+#.-]{0,40}")
_HARMLESS: Final = re.compile(r"[\w\s'’\"“”,!?()&–—-]+")
"""A label of only these characters cannot look like an address: they include no dot, slash, colon or at sign."""
_ADDRESS: Final = re.compile(r"(?ai)https?://[A-Za-z0-9.-]+(?::\d{1,5})?(?:[/?#][\w.~:/?#@!$&'()*+,;=%-]*)?")
"""An address that every platform accepts in a link: without a user name or password, and only ASCII."""
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]()<>#+.!|~&=:-])")
_TICKS: Final = re.compile("`+")
_BREAK: Final = Text("\n")
RECENT: Final = 256
"""How many rendered texts are cached for each platform: an answer that comes in is measured and shown repeatedly."""


@cache
def _reader(*, blocks_only: bool = False) -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415  (gateways alone need it)

    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
    # A link definition elsewhere in the text could turn every short label into a long address.
    reader.disable(["reference", "html_block", "html_inline"])
    return reader.disable("inline") if blocks_only else reader


def pieces(text: str) -> list[Piece]:
    """Return a Markdown text as pieces, which each platform renders with its own markup."""
    return list(_Blocks().of(_reader().parse(text)))


def in_dialect(markdown: str, dialect: Dialect) -> str:
    """Return a Markdown text with the markup of a platform; a text of nothing but markup is shown literally."""
    shown = "".join(_write(piece, dialect) for piece in pieces(markdown))
    return shown if shown.strip() else dialect.words(markdown)


def _write(piece: Piece, dialect: Dialect) -> str:
    match piece:
        case Text(text):
            return dialect.words(text)
        case InlineCode(text):
            return dialect.code(text)
        case CodeBlock(text, language):
            return dialect.block(text, language)
        case Link(text, url):
            return dialect.link(text, url)
        case Styled(style):
            return dialect.marks[style]
        case QuoteMark():
            return dialect.quote
        case _:
            assert_never(piece)


def escape(text: str) -> str:
    """Return Markdown that shows a plain text literally."""
    return _SPECIAL.sub(r"\\\1", text)


def code(text: str) -> str:
    """Return Markdown that shows a line of text as code."""
    ticks = "`" * (max(map(len, _TICKS.findall(text)), default=0) + 1)
    space = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def fence(text: str) -> str:
    """Return Markdown that shows lines of text as code."""
    fence = "`" * max(3, max(map(len, _TICKS.findall(text)), default=0) + 1)
    return f"{fence}\n{text}\n{fence}"


def within_fence(text: str) -> str:
    """Return lines of code that cannot end the fence around them, for platforms whose fences have a fixed length."""
    return text.replace("```", "``\u200b`")


def with_tables_as_code(text: str) -> str:
    """Return Markdown with its tables drawn as code: no platform has tables, and a split never breaks a fence."""
    if "|" not in text:
        return text
    lines, shown, done = text.split("\n"), [], 0
    tokens = _reader(blocks_only=True).parse(text)
    for place, token in enumerate(tokens):
        if token.type == "table_open" and token.map and not token.level:
            begin, end = token.map
            shown += [*lines[done:begin], fence(_draw_table(tokens[place:], "\n".join(lines[begin:end])))]
            done = end
    return "\n".join([*shown, *lines[done:]])


def _draw_table(tokens: "Sequence[Token]", source: str) -> str:
    """Return a table with aligned columns, or its source if a long cell would pad the others with blanks."""
    columns: list[Column] = []
    rows: list[list[str]] = []
    for place, token in enumerate(tokens):
        match token.type:
            case "table_close":
                break
            case "tr_open":
                rows.append([])
            case "th_open" | "td_open":
                rows[-1].append(_words(tokens[place + 1].content))
            case _:
                pass
        if token.type == "th_open":
            columns.append(Column(rows[0][-1], right=str(token.attrs.get("style", "")).endswith("right")))
    drawn = table(columns, rows[1:])
    return drawn if len(drawn) <= 3 * len(source) else source


def _words(text: str) -> str:
    """Return a Markdown text without markup."""
    return "".join(getattr(piece, "text", "") for piece in pieces(text)).replace("\n", " ")


class _Blocks:
    """Turns the blocks of a text into pieces, and keeps the blank lines between them."""

    def __init__(self) -> None:
        self._end = 0
        self._began = False
        self._markers: list[str] = []
        self._quoted = 0

    def of(self, tokens: "Sequence[Token]") -> Iterator[Piece]:
        heading = False
        for token in tokens:
            match token.type:
                case "list_item_open":
                    self._markers.append(f"{token.info}{token.markup} " if token.info else "• ")
                case "list_item_close":
                    self._markers.pop()
                case "blockquote_open" | "blockquote_close":
                    self._quoted += 1 if token.nesting > 0 else -1
                case "heading_open" | "heading_close":
                    heading = token.nesting > 0
                case "inline":
                    yield from self._lines(token, heading=heading)
                case "fence" | "code_block":
                    yield from self._before(token)
                    language = _LANGUAGE.match(token.info.strip())
                    yield CodeBlock(token.content.removesuffix("\n"), language[0] if language else "")
                case "hr":
                    yield from self._before(token)
                    yield Text("———")
                case _:
                    pass

    def _lines(self, token: "Token", *, heading: bool) -> Iterator[Piece]:
        yield from self._before(token)
        if heading:
            yield Styled("bold", on=True)
        for piece in _inline(token.children or (), ("bold",) if heading else ()):
            yield piece
            if self._quoted and piece == _BREAK:
                yield QuoteMark()
        if heading:
            yield Styled("bold", on=False)

    def _before(self, token: "Token") -> Iterator[Piece]:
        """Yield what precedes a block: line breaks, and the marker of its list or quotation."""
        begin, end = token.map or (self._end, self._end)
        gap = ("\n\n" if begin > self._end else "\n") if self._began else ""
        self._began, self._end = True, end
        marker = "".join([" " * len(one) for one in self._markers[:-1]] + self._markers[-1:])
        if self._markers:  # the rest of the item is indented below its beginning
            self._markers[-1] = " " * len(self._markers[-1])
        if gap:
            yield Text(gap)
        if self._quoted:
            yield QuoteMark()
        if marker:
            yield Text(marker)


def _inline(tokens: "Sequence[Token]", within: Sequence[Style]) -> Iterator[Piece]:
    """Yield the pieces of a paragraph; ``within`` are the styles that are already open."""
    depth = dict.fromkeys(_STYLES.values(), 0) | dict.fromkeys(within, 1)
    label: list[str] | None = None
    target = ""
    for token in tokens:
        if token.type == "link_open":
            label, target = [], str(token.attrs.get("href", ""))
        elif token.type == "link_close":
            yield _link("".join(label or ()), target)
            label = None
        elif label is not None:
            label.append(_text_of(token))
        elif (style := _STYLES.get(token.tag)) is not None and token.nesting:
            depth[style] += token.nesting
            if depth[style] == (1 if token.nesting > 0 else 0):
                yield Styled(style, on=token.nesting > 0)
        elif token.type == "code_inline":
            yield InlineCode(token.content)
        elif said := _text_of(token):
            yield Text(said)


def _text_of(token: "Token") -> str:
    if token.type in {"softbreak", "hardbreak"}:
        return "\n"
    if token.type == "image":
        source = str(token.attrs.get("src", ""))
        return f"{token.content} ({source})" if token.content else source
    return token.content


def _link(label: str, url: str) -> Piece:
    """Return a link if its text is harmless, else both the text and the address."""
    if not label.strip() or label == url:
        return Text(url)
    is_harmless = _HARMLESS.fullmatch(unicodedata.normalize("NFKC", label)) and label.isprintable()
    return Link(label, url) if is_harmless and _ADDRESS.fullmatch(url) else Text(f"{label} ({url})")
