"""Edits the text of JSON, with or without comments, and keeps every other byte. Pure.

Settings files have comments, trailing commas and a layout that their owner chose. They are parsed into values with
their positions; a change edits the text at such a position. Nesting and length are bounded.
"""

import json
import re
from typing import Any, Final

from msgspec import Struct

from promptuary.base.errors import PromptuaryError

_DEEPEST: Final = 200
_LONGEST: Final = 32 << 20
_BLANK: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")

MISSING: Final = object()
"""Stands for a value that does not exist."""

Path = tuple[str | int, ...]
"""The path of a value: names of members, and indexes of existing items."""


class JsonNode(Struct):
    """A value with its position: ``start`` and ``end`` in the text.

    ``parts`` are the members of an object with their names, or the items of a list with their indexes: where each
    begins, and its value. ``comma`` is the position after a comma that follows the last one, else -1.
    """

    value: Any
    start: int
    end: int
    parts: "list[tuple[str | int, int, JsonNode]]" = []
    comma: int = -1

    def part(self, name: str | int) -> "JsonNode | None":
        """Return a part; the last of several members with the same name, as every parser does."""
        return next((node for key, _, node in reversed(self.parts) if key == name), None)


def parsed(text: str) -> JsonNode:
    """Parse ``text``. Raises ``PromptuaryError`` if it is not JSON."""
    if len(text) > _LONGEST:
        raise PromptuaryError("the file is too large")
    node = _value(text, _blank(text, 0), 0)
    if _blank(text, node.end) != len(text):
        raise _wrong(text, node.end)
    return node


def value_at(text: str, path: Path) -> Any:
    """Return the value of the member at ``path``, ``MISSING`` if there is none."""
    node = _at(text, path)
    return MISSING if node is None else node.value


def raw_at(text: str, path: Path) -> str:
    """Return the source text of the value at ``path``; empty if there is none."""
    node = _at(text, path)
    return "" if node is None else text[node.start : node.end]


def items(text: str, path: Path) -> list[tuple[Any, str]]:
    """Return the items of the list at ``path``, each with its source text; none if there is no such list."""
    node = _at(text, path)
    if node is None or not isinstance(node.value, list):
        return []
    return [(item.value, text[item.start : item.end]) for _, _, item in node.parts]


def depth(text: str, path: Path) -> int:
    """Return how many steps of ``path`` exist."""
    return 0 if _is_blank(text) else len(path) - len(_deepest(parsed(text), path)[1])


def is_empty(text: str) -> bool:
    """Return whether ``text`` is empty: an object without members and without comments, or white space."""
    return re.fullmatch(r"\ufeff?[ \t\r\n]*(?:\{[ \t\r\n]*\}[ \t\r\n]*)?", text) is not None


def with_entry(text: str, path: Path, value: Any) -> str:
    """Return ``text`` with ``value`` as the member at ``path``, adding missing objects. An equal value is kept."""
    if _is_blank(text):
        return f"{text}{_dumped(_nested(path, value), '', text)}{_newline(text)}"
    node, left = _deepest(parsed(text), path)
    if not left:
        return text if node.value == value else f"{text[: node.start]}{_indented(text, node, value)}{text[node.end :]}"
    return _inserted(text, node, f"{json.dumps(left[0], ensure_ascii=False)}: ", _nested(left[1:], value))


def with_raw(text: str, path: Path, raw: str) -> str:
    """Return ``text`` with the value at ``path``, which must exist, replaced by ``raw``."""
    node, _ = _deepest(parsed(text), path)
    return text[: node.start] + raw + text[node.end :]


def with_item(text: str, path: Path, value: Any) -> str:
    """Return ``text`` with ``value`` as an item of the list at ``path``, unless the list already contains it."""
    if _is_blank(text):
        return with_entry(text, path, [value])
    node, left = _deepest(parsed(text), path)
    if left:
        return with_entry(text, path, [value])
    if not isinstance(node.value, list):
        raise PromptuaryError(f"{'.'.join(map(str, path))} is not a list")
    return text if value in node.value else _inserted(text, node, "", value)


def without(text: str, path: Path, *, keep: int) -> str:
    """Return ``text`` without the member or item at ``path``, and without its parents if they become empty.

    The first ``keep`` steps of the path stay, empty or not, and so does a parent with a comment in it.
    """
    node, left = _deepest(parsed(text), path[:-1])
    places = [] if left else [number for number, (key, _, _) in enumerate(node.parts) if key == path[-1]]
    return _pruned(_removed(text, node, places[-1]), path[:-1], keep) if places else text


def _pruned(text: str, path: Path, keep: int) -> str:
    if len(path) <= keep:
        return text
    node = _at(text, path)
    inside = "" if node is None else text[node.start + 1 : node.end - 1]
    return text if node is None or node.value or inside.strip() else without(text, path, keep=keep)


def _is_blank(text: str) -> bool:
    return not text.strip(" \t\r\n\ufeff")


def _at(text: str, path: Path) -> JsonNode | None:
    if _is_blank(text):
        return None
    node, left = _deepest(parsed(text), path)
    return None if left else node


def _deepest(node: JsonNode, path: Path) -> tuple[JsonNode, Path]:
    """Return the last existing value on the path, and the missing rest of the path."""
    for number, name in enumerate(path):
        if isinstance(name, str) and not isinstance(node.value, dict):
            where = ".".join(map(str, path[:number])) or "the file"
            raise PromptuaryError(f"{where} is not an object")
        found = node.part(name)
        if found is None:
            return node, path[number:]
        node = found
    return node, ()


def _inserted(text: str, node: JsonNode, before: str, value: Any) -> str:
    """Return ``text`` with one more member or item at the end of an object or list, in its own layout.

    A comment on the line of the last one stays with it.
    """
    newline, close = _newline(text), node.end - 1
    own = _indent(text, node.start)
    if not node.parts:
        comments = _comments(text, node.start + 1, close)
        place = comments[-1][1] if comments else node.start + 1
        made = f"{newline}{own}{_step(text)}{before}{_dumped(value, own + _step(text), text)}"
        rest = text[place:close] if comments and "\n" in text[place:close] else f"{newline}{own}"
        return f"{text[:place]}{made}{rest}{text[close:]}"
    _, start, last = node.parts[-1]
    end = last.end
    base = node.comma if node.comma >= 0 else end
    beside = [one for one in _comments(text, base, close) if "\n" not in text[base : one[0]]]
    tail = beside[-1][1] if beside else base
    ends_line = bool(beside) and text.startswith("//", beside[-1][0])
    in_lines = "\n" in text[node.start : start] or ends_line
    indent = _indent(text, start) if in_lines else ""
    gap = f"{newline}{indent}" if in_lines else " "
    shown = _dumped(value, indent, text) if in_lines else json.dumps(value, ensure_ascii=False)
    if node.comma >= 0:
        return f"{text[:tail]}{gap}{before}{shown},{text[tail:]}"
    return f"{text[:end]},{text[end:tail]}{gap}{before}{shown}{text[tail:]}"


def _comments(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the positions of comments in a range that has only comments and white space."""
    return [found.span() for found in _COMMENT.finditer(text, start, end)]


def _removed(text: str, node: JsonNode, number: int) -> str:
    """Return ``text`` without a member or item and one comma. Every comment around it stays."""
    spans = [(start, part.end) for _, start, part in node.parts]
    start, end = spans[number]
    is_last = number == len(spans) - 1
    above = node.start + 1 if not number else _blank(text, spans[number - 1][1]) + 1
    comma = _blank(text, end) if not is_last or node.comma >= 0 else -1
    after = end if comma < 0 else comma + 1
    if len(spans) == 1 and not (text[above:start] + text[end : after - 1] + text[after : node.end - 1]).strip():
        return text[: node.start + 1] + text[node.end - 1 :]
    begin, stop = _with_blanks(text, (above, start), after, node.end - 1, is_last=is_last)
    kept = text[end:comma].strip() if comma >= 0 else ""
    rest = f" {kept}{text[after:]}" if kept else text[stop:]
    head = text[: start if kept else begin]
    if comma < 0 and number:
        head = head[: above - 1] + head[above:]  # the comma after the previous one
    return head + rest


def _with_blanks(text: str, before: tuple[int, int], after: int, close: int, *, is_last: bool) -> tuple[int, int]:
    """Return the range to cut for what ends at ``after``, with the white space that belongs only to it."""
    above, start = before
    line = text.rfind("\n", above, start)
    blank_end = len(text) - len(text[after:].lstrip(" \t"))
    alone = text[blank_end : blank_end + 1] in {"\n", "\r"}
    closes = is_last and blank_end == close
    comments = _comments(text, above, start)
    at_comment = bool(comments) and text.startswith("//", comments[-1][0]) and "\n" not in text[comments[-1][1] : line]
    if line >= 0 and not text[line:start].strip() and (alone or (closes and not at_comment)):
        return (line - 1 if text[line - 1] == "\r" else line), after
    if is_last and line < 0:
        return above + len(text[above:start].rstrip(" \t")), after
    return start, blank_end


def _indented(text: str, node: JsonNode, value: Any) -> str:
    return _dumped(value, _indent(text, node.start), text)


def _dumped(value: Any, indent: str, text: str) -> str:
    """Return a value as JSON in lines that begin with ``indent``, in the style of ``text``."""
    shown = json.dumps(value, ensure_ascii=False, indent=_step(text))
    return shown.replace("\n", f"{_newline(text)}{indent}")


def _nested(path: Path, value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _step(text: str) -> str:
    """Return the indentation unit of the text: the indentation of its first indented line, else two spaces."""
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found[1] if found and len(found[1]) <= 8 else "  "


def _indent(text: str, place: int) -> str:
    """Return the indentation of the line at ``place``."""
    line = text[text.rfind("\n", 0, place) + 1 : place].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _value(text: str, place: int, depth: int) -> JsonNode:
    if depth > _DEEPEST:
        raise PromptuaryError("the file is nested too deeply")
    first = text[place : place + 1]
    if first in {"{", "["}:
        return _container(text, place, depth)
    found = (_STRING if first == '"' else _SCALAR).match(text, place)
    if found is None:
        raise _wrong(text, place)
    return JsonNode(_decoded(text, found), place, found.end())


def _container(text: str, start: int, depth: int) -> JsonNode:
    is_object = text[start] == "{"
    node, close = (JsonNode({}, start, start), "}") if is_object else (JsonNode([], start, start), "]")
    place = _blank(text, start + 1)
    while text[place : place + 1] != close:
        name: str | int = len(node.parts)
        at = place
        if is_object:
            found = _STRING.match(text, place)
            colon = _blank(text, found.end()) if found else place
            if found is None or text[colon : colon + 1] != ":":
                raise _wrong(text, colon)
            name, at = _decoded(text, found), _blank(text, colon + 1)
        part = _value(text, at, depth + 1)
        node.parts.append((name, place, part))
        place = _next(text, part.end, node, close)
    node.value = (
        {key: part.value for key, _, part in node.parts} if is_object else [one.value for _, _, one in node.parts]
    )
    node.end = place + 1
    return node


def _next(text: str, end: int, node: JsonNode, close: str) -> int:
    """Return where the next member or item begins, or the object or list closes."""
    place = _blank(text, end)
    if text[place : place + 1] == ",":
        after = _blank(text, place + 1)
        node.comma = place + 1 if text[after : after + 1] == close else -1
        return after
    if text[place : place + 1] != close:
        raise _wrong(text, place)
    return place


def _blank(text: str, place: int) -> int:
    """Return where white space and comments end."""
    found = _BLANK.match(text, place)
    return found.end() if found else place


def _decoded(text: str, found: re.Match[str]) -> Any:
    try:
        return json.loads(found[0])
    except ValueError as error:
        raise _wrong(text, found.start()) from error


def _wrong(text: str, place: int) -> PromptuaryError:
    return PromptuaryError(f"line {text.count(chr(10), 0, place) + 1} is not JSON; correct it first")
