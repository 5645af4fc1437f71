"""Changes the text of JSON, with or without comments, and leaves every other byte as it is. Pure.

Settings files have comments, trailing commas and a layout that their owner chose. They are read into values with the
places where these stand; a change is made in the text at such a place. Nesting and length are bounded.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from promptuary.core.errors import PromptuaryError

_DEEPEST: Final = 200
_LONGEST: Final = 32 << 20
_BLANK: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


@dataclass(slots=True)
class JsonNode:
    """A value, and where it stands: ``start`` and ``end`` in the text.

    ``members`` of an object have their keys and where these begin; ``comma`` is the place after a comma that follows
    the last member or item, else -1.
    """

    value: Any
    start: int
    end: int
    members: "list[tuple[str, int, JsonNode]]" = field(default_factory=list)
    items: "list[JsonNode]" = field(default_factory=list)
    comma: int = -1

    def member(self, name: str) -> "JsonNode | None":
        """Return the value of a member; of several of one name the last, as every parser does."""
        return next((node for key, _, node in reversed(self.members) if key == name), None)


def parsed(text: str) -> JsonNode:
    """Return what ``text`` holds. Raises ``PromptuaryError`` if that is no JSON."""
    if len(text) > _LONGEST:
        raise PromptuaryError("the file is too large")
    node = _value(text, _blank(text, 0), 0)
    if _blank(text, node.end) != len(text):
        raise _wrong(text, node.end)
    return node


def with_entry(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return ``text`` with ``value`` as the member at ``path``; objects on the way are added. An equal one stays."""
    if not text.strip(" \t\r\n\ufeff"):
        return f"{text}{_dumped(_nested(path, value), '', text)}{_newline(text)}"
    node, left = _deepest(parsed(text), path)
    if not left:
        return text if node.value == value else f"{text[: node.start]}{_indented(text, node, value)}{text[node.end :]}"
    return _inserted(text, node, f"{json.dumps(left[0], ensure_ascii=False)}: ", _nested(left[1:], value))


def with_item(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return ``text`` with ``value`` as an item of the list at ``path``, unless it is among the items already."""
    if not text.strip(" \t\r\n\ufeff"):
        return with_entry(text, path, [value])
    node, left = _deepest(parsed(text), path)
    if left:
        return with_entry(text, path, [value])
    if not isinstance(node.value, list):
        raise PromptuaryError(f"{'.'.join(path)} is no list")
    return text if value in node.value else _inserted(text, node, "", value)


def items(text: str, path: tuple[str, ...]) -> list[Any]:
    """Return the items of the list at ``path``; none if there is no such list."""
    if not text.strip(" \t\r\n\ufeff"):
        return []
    node, left = _deepest(parsed(text), path)
    return [] if left else [one.value for one in node.items]


def without_entry(text: str, path: tuple[str, ...]) -> str:
    """Return ``text`` without the member at ``path``."""
    node, left = _deepest(parsed(text), path[:-1])
    places = [] if left else [number for number, (key, _, _) in enumerate(node.members) if key == path[-1]]
    if not places:
        return text
    spans = [(start, one.end) for _, start, one in node.members]
    return _removed(text, node, spans, places[-1])


def without_item(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return ``text`` without ``value`` in the list at ``path``."""
    node, left = _deepest(parsed(text), path)
    if left or value not in [one.value for one in node.items]:
        return text
    number = [one.value for one in node.items].index(value)
    return _removed(text, node, [(one.start, one.end) for one in node.items], number)


def _deepest(node: JsonNode, path: tuple[str, ...]) -> tuple[JsonNode, tuple[str, ...]]:
    """Return the last value on the way that exists, and what of the path is missing."""
    for number, name in enumerate(path):
        if not isinstance(node.value, dict):
            where = ".".join(path[:number]) or "the file"
            raise PromptuaryError(f"{where} is no object")
        found = node.member(name)
        if found is None:
            return node, path[number:]
        node = found
    return node, ()


def _inserted(text: str, node: JsonNode, before: str, value: Any) -> str:
    """Return ``text`` with one more member or item at the end of an object or list, in its own layout."""
    parts = [(start, one.end) for _, start, one in node.members] or [(one.start, one.end) for one in node.items]
    newline, close = _newline(text), node.end - 1
    own = _indent(text, node.start)
    if not parts:
        step = _step(text)
        made = f"{newline}{own}{step}{before}{_dumped(value, own + step, text)}{newline}{own}"
        return text[: node.start + 1] + made + text[_after_blank_start(text, node.start + 1, close) :]
    start, end = parts[-1]
    in_lines = "\n" in text[node.start : start]
    indent = _indent(text, start) if in_lines else ""
    gap = f"{newline}{indent}" if in_lines else " "
    shown = _dumped(value, indent, text) if in_lines else json.dumps(value, ensure_ascii=False)
    if node.comma >= 0:
        return f"{text[: node.comma]}{gap}{before}{shown},{text[node.comma :]}"
    return f"{text[:end]},{gap}{before}{shown}{text[end:]}"


def _after_blank_start(text: str, start: int, close: int) -> int:
    """Return where the inside of an empty object goes on: white space alone is replaced, a comment is kept."""
    return close if not text[start:close].strip() else start


def _removed(text: str, node: JsonNode, spans: list[tuple[int, int]], number: int) -> str:
    start, end = spans[number]
    if number > 0:
        # From the end of the one before: its comma goes, and what stood between the two.
        comma = text.index(",", _last_comment_free(text, spans[number - 1][1]))
        if number == len(spans) - 1:
            return text[:comma] + text[end:] if node.comma < 0 else text[: comma + 1] + text[node.comma :]
        return text[:comma] + text[end:]
    if len(spans) > 1:
        return text[:start] + text[spans[1][0] :]
    tail = node.comma if node.comma >= 0 else end
    inside = (text[node.start + 1 : start] + text[tail : node.end - 1]).strip()
    if not inside:
        return text[: node.start + 1] + text[node.end - 1 :]
    return text[:start] + text[tail:]


def _last_comment_free(text: str, place: int) -> int:
    return _blank(text, place)


def _indented(text: str, node: JsonNode, value: Any) -> str:
    return _dumped(value, _indent(text, node.start), text)


def _dumped(value: Any, indent: str, text: str) -> str:
    """Return a value as JSON in lines that begin with ``indent``, in the manner of ``text``."""
    shown = json.dumps(value, ensure_ascii=False, indent=_step(text))
    return shown.replace("\n", f"{_newline(text)}{indent}")


def _nested(path: tuple[str, ...], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _step(text: str) -> str:
    """Return what the text indents by: what its first indented line begins with, else two spaces."""
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found[1] if found and len(found[1]) <= 8 else "  "


def _indent(text: str, place: int) -> str:
    """Return the white space that the line of ``place`` begins with."""
    line = text[text.rfind("\n", 0, place) + 1 : place].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _value(text: str, place: int, depth: int) -> JsonNode:
    if depth > _DEEPEST:
        raise PromptuaryError("the file is nested too deeply")
    first = text[place : place + 1]
    if first == "{":
        return _object(text, place, depth)
    if first == "[":
        return _list(text, place, depth)
    found = (_STRING if first == '"' else _SCALAR).match(text, place)
    if found is None:
        raise _wrong(text, place)
    return JsonNode(_decoded(text, found), place, found.end())


def _object(text: str, start: int, depth: int) -> JsonNode:
    node = JsonNode({}, start, start)
    place = _blank(text, start + 1)
    while text[place : place + 1] != "}":
        found = _STRING.match(text, place)
        colon = _blank(text, found.end()) if found else place
        if found is None or text[colon : colon + 1] != ":":
            raise _wrong(text, colon)
        value = _value(text, _blank(text, colon + 1), depth + 1)
        node.members.append((_decoded(text, found), place, value))
        node.value[node.members[-1][0]] = value.value
        place = _next(text, value.end, node, "}")
    node.end = place + 1
    return node


def _list(text: str, start: int, depth: int) -> JsonNode:
    node = JsonNode([], start, start)
    place = _blank(text, start + 1)
    while text[place : place + 1] != "]":
        value = _value(text, place, depth + 1)
        node.items.append(value)
        node.value.append(value.value)
        place = _next(text, value.end, node, "]")
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
    return PromptuaryError(f"line {text.count(chr(10), 0, place) + 1} is not JSON")
