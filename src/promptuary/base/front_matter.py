"""The front matter of a text: parsed as untrusted input, rewritten without touching what did not change.

``parse`` is strict, for the notes that are written here. It reads the part of YAML that people write at the top of a
note. Every value is text or a list of texts; a mapping below a key is preserved but not read. Anchors, aliases, tags,
merges, a duplicate key, and anything larger or deeper than the limits make the whole front matter invalid: none of it
is used, and ``NoteText.problem`` says why. Every character is visited a bounded number of times.

A ``NoteText`` is a text cut into its parts. ``with_values`` changes only the lines of the given keys: comments, order,
quoting, unknown keys, line endings and a byte order mark are preserved.

``fields``, ``names`` and ``listed`` take what can be read of any file, in YAML or TOML: a key with a value, or with a
list. Nothing is evaluated, and only the beginning of a file is read.
"""

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, NoReturn

from msgspec import Struct, field

from promptuary.base.errors import FrontMatterError
from promptuary.base.text import split_lines, valid_unicode

MAX_SIZE: Final = 16_384
"""The most characters of front matter."""
MAX_ENTRIES: Final = 200
"""The most keys and items."""
MAX_DEPTH: Final = 3
"""The deepest nesting of mappings and lists."""

FieldValue = str | tuple[str, ...]
"""A value that was read: a text, or a list of texts."""
NewValue = str | bool | float | Sequence[str] | None
"""A value to write; ``None`` removes the key."""

_BOM: Final = "\ufeff"
_MARK: Final = "---"
_MARKS: Final = ("---", "+++")
_LONGEST_KEY: Final = 100

_COLON: Final = re.compile(r":(?=[ \t]|\Z)")
_ONE_LINE: Final = re.compile(r'([A-Za-z_][\w-]{0,60}): (?:([^\W_](?:[^:#\s]|:(?=\S)| (?=\S))*)|"([^"\\]*)")')
"""A key with a text, which is the whole value if the next line begins with a letter or a digit."""
_COMMENT: Final = re.compile(r"[ \t]+#|\A#")
_DOUBLE: Final = re.compile(r'(?:[^"\\]++|\\.)*+"')
_SINGLE: Final = re.compile(r"(?:[^']++|'')*+'")
_FLOW_TEXT: Final = re.compile(r"[^\[\]{},#]++|#(?<![ \t]#)")
_REFERENCE: Final = re.compile(r"[&*!][\w<!]")
_REFERENCE_BELOW_A_KEY: Final = re.compile(r":[ \t]+[&*!]")
_ITEM_OF_A_LIST: Final = re.compile(r"-(?:[ \t]+|\Z)")
_BLOCK_SCALAR: Final = re.compile(r"([|>])(?:[+-]?([1-9])?|([1-9])[+-])[ \t]*(?:#.*)?\Z")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}

_PLAIN: Final = re.compile(r"[^\W_][^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]*")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}Z)?")
_NOT_TEXT: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_UNPRINTABLE: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff]")

START: Final = 8_192
"""The most characters in which ``fields`` looks for front matter."""

# In YAML an indented line belongs to another key, in TOML it does not.
_LINES: Final = {
    "---": r"([A-Za-z_-]{1,20})[ \t]*:(?:[ \t]+|\Z)(.*)",
    "+++": r"[ \t]*[\"']?([A-Za-z_-]{1,20})[\"']?[ \t]*=[ \t]*([^#]*)",
}
_ITEM: Final = r"[ \t]*-[ \t]+(.*)"
_TITLES: Final = ("title",)
_LISTS: Final = ("aliases", "alias", "tags", "tag", "keywords")
_QUOTED_OR_NOT: Final = r"\"([^\"]*)\"|'([^']*)'|([^\s,\"'\[\]][^,\]]*)"
_MOST_NAMES: Final = 32
_LONGEST_NAME: Final = 200


class _Field(NamedTuple):
    """A key with its value, which is ``None`` for a mapping, and its lines. ``item``: how a line of its list begins."""

    value: FieldValue | None
    first: int
    end: int
    written: str
    comment: str
    item: str


class NoteText(Struct, frozen=True):
    """A text as optional front matter, which is ``lines`` with the marks around it, and ``body``."""

    bom: str
    lines: tuple[str, ...]
    body: str
    problem: str = ""
    fields: Mapping[str, _Field] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The whole text as it was parsed."""
        return f"{self.bom}{''.join(self.lines)}{self.body}"

    @property
    def newline(self) -> str:
        """The line ending of this document."""
        first, found, _ = (self.lines[0] if self.lines else self.body).partition("\n")
        return "\r\n" if found and first.endswith("\r") else "\n"

    def value(self, *names: str) -> FieldValue | None:
        """Return the value of the first of these keys that has one."""
        for name in names:
            if (found := self.fields.get(name)) and found.value is not None:
                return found.value
        return None

    def mappings(self, key: str) -> Sequence["NoteText"]:
        """Return the mapping below ``key``, or each one of the list there, as front matter of its own."""
        found = self.fields.get(key)
        if found is None or found.value is not None:
            return ()
        return [parse(f"{_MARK}\n{text}{_MARK}\n") for text in _mappings(self.lines[found.first + 1 : found.end])]

    def with_values(self, changes: Mapping[str, NewValue]) -> "NoteText":
        """Return the document with new values for some keys. A key that already has its value is not touched.

        A document without front matter gets some. If the front matter is invalid, new front matter is put above it and
        the old becomes part of the body. Raises ``FrontMatterError`` if the result would be too large to be read.
        """
        wanted = {key: _stored(value) for key, value in changes.items()}
        if all(self.has(key, value) for key, value in wanted.items()):
            return self
        written = parse(self.bom + self._rewritten(changes) + self._rest())
        if written.problem or not all(written.has(key, value) for key, value in wanted.items()):
            raise FrontMatterError(f"the front matter cannot be written: {written.problem or 'a value is not kept'}")
        return written

    def with_body(self, body: str) -> "NoteText":
        """Return the document with another body, and without front matter that cannot be read."""
        text = body.replace("\r\n", "\n").replace("\n", self.newline)
        if self.problem:
            return NoteText(self.bom, (), text)
        return NoteText(self.bom, self.lines, text, fields=self.fields)

    def has(self, key: str, value: FieldValue | None) -> bool:
        """Return whether a key has this value; for ``None``, whether the key is missing."""
        found = self.fields.get(key)
        return (found.value if found else None) == value and (found is None) == (value is None)

    def _rewritten(self, wanted: Mapping[str, NewValue]) -> str:
        if not self.fields and (self.problem or not self.lines):
            added = [_line(key, value, self.newline) for key, value in wanted.items() if value is not None]
            return "".join([_MARK + self.newline, *added, _MARK + self.newline])
        lines = list(self.lines)
        for key, value in wanted.items():
            if (old := self.fields.get(key)) and not self.has(key, _stored(value)):
                lines[old.first] = "" if value is None else _line(key, value, self.newline, old)
                lines[old.first + 1 : old.end] = [""] * (old.end - old.first - 1)
        added = [
            _line(key, value, self.newline)
            for key, value in wanted.items()
            if value is not None and key not in self.fields
        ]
        return "".join([*lines[:-1], *added, lines[-1]])

    def _rest(self) -> str:
        """Return what follows the front matter, with a blank line first if there was none."""
        if self.problem:
            return self.newline + "".join(self.lines) + self.body
        if self.lines or not self.body:
            return self.body
        return self.body if self.body.startswith(("\n", "\r\n")) else self.newline + self.body


def matter_end(lines: Sequence[str], marks: Collection[str] = _MARKS) -> int:
    """Return how many of ``lines`` are front matter with the marks around it; zero if there is none."""
    mark = lines[0].removeprefix(_BOM).rstrip()
    ends = {mark, "..."}
    if mark not in marks:
        return 0
    # Comparing three characters first is faster in a long text whose front matter never ends.
    ended = (
        number for number, line in enumerate(lines, 1) if number > 1 and line[:3] in ends and line.rstrip() in ends
    )
    return next(ended, 0)


def parse(text: str) -> NoteText:
    """Cut a text into front matter and body. Never fails: what is wrong is the document's ``problem``."""
    bom = _BOM if text.startswith(_BOM) else ""
    rest = text[len(bom) :]
    if not rest.startswith(_MARK) or rest.partition("\n")[0].rstrip() != _MARK:
        return NoteText(bom, (), rest)
    lines = split_lines(rest[: MAX_SIZE + 1])
    if len(rest) > MAX_SIZE:
        lines.pop()  # it may be truncated
    end = matter_end(lines, (_MARK,))
    if not end:
        return NoteText(bom, (), rest, f"its front matter does not end within {MAX_SIZE:,} characters")
    matter = tuple(lines[:end])
    body = rest[sum(map(len, matter)) :]
    problem, fields = _scanned(matter)
    return NoteText(bom, matter, body, problem, fields)


# A write reads the same lines several times, of the old file and of the new one: to compare, to change, to check.
@lru_cache(maxsize=32)
def _scanned(matter: tuple[str, ...]) -> tuple[str, Mapping[str, _Field]]:
    """Return what is wrong with the lines of front matter, and its fields if nothing is."""
    try:
        return "", _Scanner(matter).fields()
    except FrontMatterError as error:
        return str(error), {}


class _Scanner:
    """Reads the lines between the marks, from the first to the last."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = [line.rstrip("\r\n") for line in lines[:-1]]
        self._at = 1
        self._entries = 0
        self._comment = ""
        self._item = ""

    def fields(self) -> Mapping[str, _Field]:
        found: dict[str, _Field] = {}
        while (first := self._after_plain_lines(found)) < len(self._lines):
            self._at = first
            if self._lines[first][0] in " \t":
                self._fail("is indented and belongs to no key")
            key, written, rest = self._key(self._lines[first])
            if key in found:
                self._fail(f"has the key {key!r}, which is there twice")
            self._at += 1
            self._comment = self._item = ""
            value = self._value(rest, 0) if rest else self._below()
            comment = self._comment if self._at == first + 1 else ""
            found[key] = _Field(value, first, self._at, written, comment, self._item)
        return found

    def _after_plain_lines(self, found: dict[str, _Field]) -> int:
        """Add the fields of simple lines in one pass, and return the number of the next line that is not simple.

        Nearly every line is simple, and a note is read several times whenever it is written.
        """
        lines, end = self._lines, len(self._lines)
        while self._at < end and (plain := _ONE_LINE.fullmatch(lines[self._at])):
            key, text, quoted = plain.groups()
            if key in found or (self._at + 1 < end and not lines[self._at + 1][:1].isalnum()):
                break
            self._count()
            found[key] = _Field(quoted if text is None else text, self._at, self._at + 1, f"{key}:", "", "")
            self._at += 1
        return self._meaningful()

    def _fail(self, what: str) -> NoReturn:
        raise FrontMatterError(f"line {min(self._at, len(self._lines) - 1) + 1} of its front matter {what}")

    def _count(self) -> None:
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            self._fail(f"has more than {MAX_ENTRIES} keys and items")

    def _meaningful(self) -> int:
        """Return the number of the next line that is neither blank nor a comment."""
        at = self._at
        while at < len(self._lines) and (not (said := self._lines[at].strip()) or said.startswith("#")):
            at += 1
        return at

    def _indented(self, beyond: int) -> int | None:
        """Return the number of the next line with content, if it is indented further than ``beyond``."""
        at = self._meaningful()
        return at if at < len(self._lines) and _indent(self._lines[at]) > beyond else None

    def _key(self, line: str) -> tuple[str, str, str]:
        """Return the key of a line, the line as far as the colon, and what follows without a comment."""
        self._count()
        if line[0] in "\"'":
            closed = line.find(line[0], 1)
            colon = _COLON.match(line, closed + 1) if closed > 0 else None
            key = line[1:closed]
        else:
            colon = _COLON.search(line)
            key = line[: colon.start()].rstrip() if colon else ""
        if colon is None or not key or len(key) > _LONGEST_KEY or key[0] in "&*!?|>%@`[]{},#-":
            self._fail("is not a key with a value")
        if key == "<<":
            self._fail("merges another mapping")
        rest = line[colon.end() :].strip()
        return key, line[: colon.end()], "" if rest.startswith("#") and self._without_comment(rest) == "" else rest

    def _value(self, rest: str, indent: int) -> FieldValue | None:
        """Read a value that begins with ``rest``; its further lines are indented beyond ``indent``."""
        if rest[0] in "&*!":
            self._fail("has an anchor, an alias or a tag")
        match rest[0]:
            case "|" | ">" if block := _BLOCK_SCALAR.match(rest):
                return self._block_scalar(block, indent)
            case '"' | "'":
                return self._quoted(rest)
            case "[" | "{":
                return self._flow(rest)
            case _:
                return self._plain(rest, indent)

    def _without_comment(self, text: str) -> str:
        if found := _COMMENT.search(text):
            self._comment = text[found.start() :]
            return text[: found.start()]
        return text

    def _below(self) -> FieldValue | None:
        """Read the value below a key: a list, a mapping, a text, or nothing."""
        at = self._meaningful()
        line = self._lines[at] if at < len(self._lines) else ""
        own = _indent(line)
        is_item = _ITEM_OF_A_LIST.match(line, own) is not None
        if not line or (own == 0 and not is_item):
            return ""
        self._at = at
        if is_item:
            self._item = line[: own + 1]
            return self._list(own)
        if line[own] not in "\"'" and _COLON.search(line):
            self._pass_nested(0)
            return None
        self._at += 1
        return self._value(line.strip(), own - 1)

    def _list(self, indent: int) -> FieldValue | None:
        items: list[FieldValue | None] = []
        while (at := self._meaningful()) < len(self._lines):
            line = self._lines[at]
            found = _ITEM_OF_A_LIST.match(line, indent) if _indent(line) == indent else None
            if not found:
                break
            self._at = at
            rest = line[found.end() :].strip()
            if not rest or rest[0] in "[{-#" or (rest[0] not in "\"'" and _COLON.search(rest)):
                self._pass_nested(indent)
                items.append(None)
            else:
                self._count()
                self._at += 1
                items.append(self._value(rest, indent))
        texts = tuple(item for item in items if isinstance(item, str))
        return texts if len(texts) == len(items) else None

    def _pass_nested(self, indent: int) -> None:
        """Skip this line and those that are indented further: they are preserved but not read."""
        start = self._at
        self._at += 1
        while (at := self._indented(indent)) is not None:
            self._at = at + 1
        levels: list[tuple[int, set[str]]] = []
        for line in self._lines[start : self._at]:
            own, said = _indent(line), line.strip()
            while found := _ITEM_OF_A_LIST.match(said):
                self._enter(own, levels).clear()  # each item is a mapping of its own
                own, said = own + found.end(), said[found.end() :]
            if said and not said.startswith("#"):
                self._check_nested(said, self._enter(own, levels))

    def _enter(self, own: int, levels: list[tuple[int, set[str]]]) -> set[str]:
        """Return the keys that were seen at this indentation, below the same key."""
        self._count()
        while levels and levels[-1][0] > own:
            levels.pop()
        if not levels or levels[-1][0] < own:
            levels.append((own, set()))
        if len(levels) > MAX_DEPTH:
            self._fail(f"is nested more than {MAX_DEPTH} deep")
        return levels[-1][1]

    def _check_nested(self, said: str, seen: set[str]) -> None:
        colon = _COLON.search(said)
        key, value = (said[: colon.start()].strip(), said[colon.end() :].strip()) if colon else ("", said)
        if key == "<<" or _REFERENCE.match(value) or _REFERENCE.match(said):
            self._fail("has an anchor, an alias, a tag or a merge")
        if key and key in seen:
            self._fail(f"has the key {key[:_LONGEST_KEY]!r}, which is there twice")
        seen.add(key)

    def _block_scalar(self, header: re.Match[str], indent: int) -> str:
        explicit = int(header[2] or header[3] or 0)
        width = indent + explicit if explicit else 0
        found: list[str] = []
        end = self._at
        for number in range(self._at, len(self._lines)):
            line = self._lines[number]
            if line.strip():
                width = width or _indent(line)
                if _indent(line) <= indent or _indent(line) < width:
                    break
                end = number + 1
            found.append(line[width:])
        lines = found[: end - self._at]
        self._at = end
        return "\n".join(lines) if header[1] == "|" else _folded(lines)

    def _quoted(self, rest: str) -> str:
        pattern = _DOUBLE if rest[0] == '"' else _SINGLE
        parts: list[str] = []
        line = rest[1:]
        while not (closed := pattern.match(line)):
            parts.append(line)
            if self._at == len(self._lines):
                self._fail("has a quotation mark that is never closed")
            line = self._lines[self._at].strip()
            self._at += 1
        parts.append(line[: closed.end() - 1])
        if self._without_comment(line[closed.end() :]).strip():
            self._fail("has something after the closing quotation mark")
        return _unquoted(rest[0], _folded(parts) if len(parts) > 1 else parts[0])

    def _flow(self, rest: str) -> FieldValue | None:
        """Read a list in brackets. A mapping in braces, and anything nested, is skipped."""
        reader, line = _Flow(), rest
        while (end := reader.read(line)) is None:
            if self._at == len(self._lines):
                self._fail("has a bracket that is never closed")
            line = self._lines[self._at]
            self._at += 1
        for _ in range(reader.entries):
            self._count()
        if reader.problem or self._without_comment(line[end:]).strip():
            self._fail(reader.problem or "has something after the closing bracket")
        return None if reader.nested else tuple(reader.items)

    def _plain(self, rest: str, indent: int) -> str:
        parts = [self._without_comment(rest).rstrip()]
        while (at := self._indented(indent)) is not None:
            self._at = at + 1
            parts.append(self._without_comment(self._lines[at]).strip())
            if _COLON.search(parts[-1]):
                self._fail("has a key where a text goes on")
        return " ".join(parts)


def _mappings(lines: Sequence[str]) -> Sequence[str]:
    """Return the text of the mapping in indented lines, or of each item of a list of them, without its indentation."""
    meant = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    own = width = _indent(meant[0]) if meant else 0
    found: list[str] = []
    for line in meant:
        item = _ITEM_OF_A_LIST.match(line.rstrip("\r\n"), own) if _indent(line) == own else None
        if item or not found:
            found.append("")
        width = item.end() if item else width
        found[-1] += line[width:]
    return found


class _Flow:
    """Reads a list or a mapping in brackets, line by line."""

    def __init__(self) -> None:
        self.items: list[str] = []
        self.entries = 0
        self.nested = False
        self.problem = ""
        self._open = ""
        self._text: str | None = None
        self._is_quoted = False

    def read(self, line: str) -> int | None:
        """Read a line; return where it ends: behind the outermost bracket, or where there is a problem."""
        at = 0
        while at < len(line) and not self.problem:
            char = line[at]
            if char == "#" and (at == 0 or line[at - 1] in " \t"):
                break
            if char in " \t" and self._text is None:
                at += 1
            elif char in "[]{},":
                at += 1
                self._punctuate(char)
                if not self._open:
                    return at
            elif char in "\"'" and not (self._text or "").strip():
                at = self._quote(line, at)
            else:
                at = self._add(line, at)
        if self._text and not self._is_quoted:
            self._text += " "
        return at if self.problem else None

    def _punctuate(self, char: str) -> None:
        if char in "[{":
            self._open += char
            self.nested = self.nested or char == "{" or len(self._open) > 1
            self.problem = "is nested too deeply" if len(self._open) > MAX_DEPTH else ""
            return
        if self._text is not None and (self._is_quoted or self._text.strip()):
            self.entries += 1
            self.items.append(self._text if self._is_quoted else self._text.strip())
        self._text, self._is_quoted = None, False
        if char in "]}":
            if f"{self._open[-1]}{char}" not in {"[]", "{}"}:
                self.problem = "has brackets that do not match"
            self._open = self._open[:-1]

    def _quote(self, line: str, at: int) -> int:
        closed = (_DOUBLE if line[at] == '"' else _SINGLE).match(line, at + 1)
        if not closed:
            self.problem = "has a quotation mark that is not closed on its line"
            return len(line)
        self._text, self._is_quoted = _unquoted(line[at], line[at + 1 : closed.end() - 1]), True
        return closed.end()

    def _add(self, line: str, at: int) -> int:
        found = _FLOW_TEXT.match(line, at)
        end = found.end() if found else at + 1
        piece = line[at:end]
        if (self._text is None and piece[0] in "&*!") or _REFERENCE_BELOW_A_KEY.search(piece):
            self.problem = "has an anchor, an alias or a tag"
        elif self._is_quoted:
            # Only a colon may follow, in a mapping.
            self.problem = "has something after a quoted value" if piece.strip() and self._open[-1] == "[" else ""
        else:
            self._text = (self._text or "") + piece
        return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _folded(lines: Sequence[str]) -> str:
    """Return the lines joined into one; a blank line becomes a line break."""
    return re.sub(r" *\n *", "\n", " ".join(line.strip() or "\n" for line in lines)).strip()


def _unquoted(quote: str, text: str) -> str:
    if quote == "'":
        return text.replace("''", "'")
    return valid_unicode(_ESCAPE.sub(_meant, text)) if "\\" in text else text


def _meant(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2] or escape[3]
    if digits:
        return chr(number) if (number := int(digits, 16)) <= sys.maxunicode else "\ufffd"
    return _ESCAPED.get(escape[4], escape[4])


def _stored(value: NewValue) -> FieldValue | None:
    """Return a value as it will be read back."""
    match value:
        case None | str():
            return None if value is None else valid_unicode(value)
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{value:g}"
        case _:
            return tuple(valid_unicode(item) for item in value)


def _line(key: str, value: NewValue, newline: str, old: _Field | None = None) -> str:
    """Return the line of a key, or its lines if its list had one per item."""
    written = old.written if old else f"{key}:"
    comment = old.comment if old else ""
    gap = " " if comment and comment[0] not in " \t" else ""
    if isinstance(value, (str, int, float)):
        return f"{written} {_scalar(value)}{gap}{comment}{newline}"
    items = [_scalar(item, in_list=True) for item in value or ()]
    if old and old.item and items:
        return "".join([written + newline, *(f"{old.item} {item}{newline}" for item in items)])
    return f"{written} [{', '.join(items)}]{gap}{comment}{newline}"


def _scalar(value: str | float, *, in_list: bool = False) -> str:
    if not isinstance(value, str):
        return str(_stored(value))
    text = valid_unicode(value)
    if _is_plain(text) and not (in_list and any(char in text for char in ",[]{}")):
        return text
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(text, ensure_ascii=False))


def _is_plain(text: str) -> bool:
    """Return whether a text needs no quotation marks, for us and for readers that know numbers and truth values."""
    if not _PLAIN.fullmatch(text) or text != text.strip() or text.endswith(":") or text.lower() in _NOT_TEXT:
        return False
    if text[0].isdigit() and not _DATE.fullmatch(text):
        return False
    return not (_COLON.search(text) or _COMMENT.search(text))


def fields(text: str) -> Mapping[str, Sequence[str]]:
    """Return the values of each key in the front matter of ``text`` as they are written, by the key in lower case."""
    start = text[:START].removeprefix(_BOM)
    lines = start.split("\n") if start.startswith(_MARKS) else [""]
    end = matter_end(lines)
    found: dict[str, list[str]] = {}
    for key, value in _entries(lines[1 : end - 1], lines[0].rstrip()) if end else ():
        found.setdefault(key, []).append(value)
    return found


def _entries(lines: Sequence[str], mark: str) -> Iterator[tuple[str, str]]:
    """Yield each key with its value; a list gives one pair for each item, or for each line of it."""
    key, is_open = "", False
    for line in lines:
        # Keys after the name of a table belong to that table and not to the file.
        if mark == "+++" and not is_open and line.lstrip().startswith("["):
            return
        if is_open:
            value = line.strip()
        elif match := re.match(_LINES[mark], line):
            key, value = match[1].lower(), match[2].strip()
        elif (item := re.match(_ITEM, line)) and key and mark == "---":
            value = item[1].strip()
        else:
            continue
        yield key, value
        is_open = (is_open or value.startswith("[")) and "]" not in value


def names(text: str) -> tuple[str, ...]:
    """Return the title, the aliases and the tags that the front matter of ``text`` names, each once."""
    found: dict[str, None] = {}
    values = fields(text)
    for key in (*_TITLES, *_LISTS):
        for value in values.get(key, ()):
            for name in [value.strip("\"'")] if key in _TITLES else _listed(value):
                plain = " ".join(name.split()).lstrip("#")[:_LONGEST_NAME]
                if plain:
                    found[plain] = None
    return tuple(found)[:_MOST_NAMES]


def listed(text: str, keys: Sequence[str]) -> list[str]:
    """Return what the front matter of ``text`` lists under these keys, in their order."""
    values = fields(text)
    return [one for key in keys for value in values.get(key, ()) for one in _listed(value) if one]


def speakers(text: str) -> frozenset[str]:
    """Return the speakers that the front matter of ``text`` lists, in lower case."""
    return frozenset(name.lower() for name in listed(text, ("speakers",)))


def _listed(value: str) -> Iterator[str]:
    for match in re.finditer(_QUOTED_OR_NOT, value):
        yield match[1] or match[2] or (match[3] or "").strip()
