"""Adds, replaces and removes a table in the text of a TOML file; every other byte stays. Pure.

A table may be written as a heading with lines below it, as dotted keys, or in an inline table: an existing one keeps
its form, and a new one is added in the form that the file allows. Every result is parsed again with ``tomllib``: if it
is not exactly what it should be, it is refused.
"""

import json
import re
import tomllib
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError
from promptuary.config.toml_statements import MAX_DEPTH, TomlPair, TomlTable, tables
from promptuary.hooks.install.jsonc import MISSING

Path = tuple[str, ...]
_LONG_KEY: Final = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_DEPTH}}}""")
_TOO_DEEP: Final = f"it has tables in each other, more than {MAX_DEPTH} deep; edit it yourself"


class _Part(Struct, frozen=True):
    """A part of the text that belongs to a table: a section with its heading, a line, or a member of an inline table.

    ``key`` is the name of the table there, ``below`` the path in the table that the part is about, empty for all of it.
    ``pairs`` are the pairs of the table in the part. ``around`` are all members of the inline table of a member.
    """

    form: Literal["section", "line", "member"]
    start: int
    end: int
    key: Path
    below: Path = ()
    pairs: tuple[TomlPair, ...] = ()
    around: tuple[TomlPair, ...] = ()


def value_at(text: str, path: Path) -> Any:
    """Return the table at ``path``, ``MISSING`` if there is none. Raises ``PromptuaryError`` if it is not TOML."""
    value: Any = _parsed(text)
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return MISSING
        value = value[name]
    return value


def is_empty(text: str) -> bool:
    """Return whether ``text`` is only white space."""
    return not text.strip(" \t\r\n\ufeff")


def with_table(text: str, path: Path, values: Mapping[str, Any], staying: Container[str] = ()) -> str:
    """Return ``text`` with a table at ``path``, which replaces an existing one.

    The pairs of the existing one with names in ``staying`` are copied to the new one, as they are written.
    """
    before = value_at(text, path)
    stays = {name: one for name, one in before.items() if name in staying} if isinstance(before, dict) else {}
    if before == {**values, **stays}:
        return text
    _check_tables(text, path, values)
    every = [] if before is MISSING else _parts(text, path)
    kept = [_raw(text, pair) for one in every for pair in one.pairs if pair.path[0] in staying]
    parts = [one for one in every if one.form != "section" or not one.below or one.below[0] not in staying]
    after = (
        _replaced(text, parts, [_spelled(parts[0], path, values, kept, text)]) if parts else _added(text, path, values)
    )
    return _checked(after, text, path, {**values, **stays})


def with_table_of(text: str, path: Path, before: str) -> str:
    """Return ``text`` with the table at ``path`` as it is written in ``before``, which replaces the existing one."""
    old = _parts(before, path)
    parts = _parts(text, path)
    if not parts or not old:
        raise _by_hand(path, value_at(before, path))
    same = [before[one.start : one.end] for one in old if one.form == parts[0].form]
    after = _replaced(text, parts, same)
    for one in old:
        if one.form != parts[0].form:
            after = f"{after}{_newline(text)}{before[one.start : one.end]}{_newline(text)}"
    return _checked(after, text, path, value_at(before, path))


def without_table(text: str, path: Path) -> str:
    """Return ``text`` without the table at ``path``, whatever form it has."""
    parts = _parts(text, path)
    return _checked(_replaced(text, parts, []), text, path, MISSING) if parts else text


def _line(path: Path, values: Mapping[str, Any]) -> str:
    return f"{_dotted(path)} = {_inline(values)}"


def _lines(path: Path, values: Mapping[str, Any]) -> list[str]:
    return [f"[{_dotted(path)}]", *(f"{name} = {_value(value)}" for name, value in values.items())]


def _parts(text: str, path: Path) -> list[_Part]:
    """Return the parts that belong to the table at ``path``, in order."""
    return list(_found(tables(text), path))


def _found(every: list[TomlTable], path: Path) -> Iterator[_Part]:
    for table in every:
        if table.path[: len(path)] == path:
            below = table.path[len(path) :]
            yield _Part("section", table.start, table.stop, path, below, () if below else table.pairs)
        elif path[: len(table.path)] == table.path and not table.is_item:
            yield from _below(table.pairs, path[len(table.path) :], is_line=True)


def _below(pairs: tuple[TomlPair, ...], left: Path, *, is_line: bool) -> Iterator[_Part]:
    for pair in pairs:
        if pair.path[: len(left)] == left:
            below = pair.path[len(left) :]
            inside = (replace(pair, path=below),) if below else pair.members or ()
            around = () if is_line else pairs
            yield _Part("line" if is_line else "member", pair.start, pair.end, left, below, inside, around)
        elif left[: len(pair.path)] == pair.path and pair.members is not None:
            yield from _below(pair.members, left[len(pair.path) :], is_line=False)


def _spelled(part: _Part, path: Path, values: Mapping[str, Any], kept: list[str], text: str) -> str:
    """Return a table in the form of the part that it replaces, with the ``kept`` pairs as they are written."""
    if part.form == "section":
        return _newline(text).join([*_lines(path, values), *kept])
    return f"{_dotted(part.key)} = {_inline(values, kept)}"


def _raw(text: str, pair: TomlPair) -> str:
    """Return a pair as it is written, with its key relative to its table."""
    return f"{_dotted(pair.path)} = {text[pair.value : pair.end]}"


def _replaced(text: str, parts: list[_Part], texts: list[str]) -> str:
    """Return ``text`` with the first part replaced by ``texts``, and without the others."""
    newline = _newline(text)
    between = {"section": newline * 2, "line": newline, "member": ", "}[parts[0].form]
    for number, part in reversed(list(enumerate(parts))):
        if not number and texts:
            text = text[: part.start] + between.join(texts) + text[part.end :]
        elif part.form == "member":
            text = _without_member(text, part)
        else:
            text = _without_lines(text, part)
    return text


def _without_member(text: str, part: _Part) -> str:
    number = next(at for at, one in enumerate(part.around) if one.start == part.start)
    if number:
        return text[: part.around[number - 1].end] + text[part.end :]
    if len(part.around) > 1:
        return text[: part.start] + text[part.around[1].start :]
    rest = text[part.end :].lstrip(" \t")
    return text[: part.start].rstrip(" \t") + (rest if rest.startswith("}") else text[part.end :])


def _without_lines(text: str, part: _Part) -> str:
    """Cut lines; a comment after them stays; without one, a blank line before a section is also cut."""
    rest = text[part.end :]
    ended = re.match(r"[ \t]*(\r?\n|$)", rest)
    if ended is None:
        return text[: part.start] + rest.lstrip(" \t")
    head = text[: part.start]
    head = head[: head.rfind("\n") + 1] if not head[head.rfind("\n") + 1 :].strip(" \t") else head
    return (_less_a_blank_line(head) if part.form == "section" else head) + rest[ended.end() :]


def _less_a_blank_line(head: str) -> str:
    last = head.rfind("\n", 0, len(head) - 1) + 1
    return head[:last] if head.endswith("\n") and not head[last:].strip() else head


def _added(text: str, path: Path, values: Mapping[str, Any]) -> str:
    for length in reversed(range(1, len(path))):
        for part in _parts(text, path[:length]):
            if part.form != "section" and not part.below:  # the inline table that must contain it
                made = _line(path[length:], values)
                place = part.pairs[-1].end if part.pairs else text.rindex("{", part.start, part.end)
                inside = f", {made}{text[place:]}" if part.pairs else f"{{ {made} }}{text[part.end :]}"
                return text[:place] + inside
    newline = _newline(text)
    gap = "" if is_empty(text) else newline if text.endswith("\n") else newline * 2
    return f"{text}{gap}{newline.join(_lines(path, values))}{newline}"


def _check_tables(text: str, path: Path, values: Mapping[str, Any]) -> None:
    """Raise ``PromptuaryError`` if a value on the path is not a table."""
    for number in range(1, len(path)):
        value = value_at(text, path[:number])
        if value is not MISSING and not isinstance(value, dict):
            what = "an array of tables" if isinstance(value, list) else "not a table"
            where = ".".join(path[:number])
            raise PromptuaryError(f"{where} is {what}; make it a table that can hold {_line(path, values)}")


def _checked(after: str, before: str, path: Path, values: Any) -> str:
    """Return ``after`` if it differs from ``before`` only in the table at ``path``."""
    try:
        found, expected = _parsed(after), _parsed(before)
    except PromptuaryError as error:
        raise _by_hand(path, values) from error
    _put(expected, path, values)
    if _without_empty(found) != _without_empty(expected):
        raise _by_hand(path, values)
    return after


def _by_hand(path: Path, values: Any) -> PromptuaryError:
    if not isinstance(values, dict):
        return PromptuaryError(f"[{_dotted(path)}] cannot be removed from the text; remove it yourself")
    return PromptuaryError(
        f"{'.'.join(path)} cannot be added in the form that the file has; add it yourself, before the first heading: "
        f"{_line(path, values)}"
    )


def _put(values: dict[str, Any], path: Path, value: Any) -> None:
    at: Any = values
    for name in path[:-1]:
        if not isinstance(at, dict):
            return
        at = at.setdefault(name, {})
    if isinstance(at, dict):
        at.pop(path[-1], None)
        if value is not MISSING:
            at[path[-1]] = value


def _parsed(text: str) -> dict[str, Any]:
    if _LONG_KEY.search(text):  # tomllib needs the square of its length in time and memory
        raise PromptuaryError(_TOO_DEEP)
    try:
        found = tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        raise PromptuaryError(f"it is not TOML: {str(error)[:200]}") from error
    level: list[Any] = [found]
    for _ in range(MAX_DEPTH):  # values are compared and copied by recursion
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
        if not level:
            return found
    raise PromptuaryError(_TOO_DEEP)


def _without_empty(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    kept = {name: _without_empty(value) for name, value in values.items()}
    return {name: value for name, value in kept.items() if value != {}}


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _dotted(path: Path) -> str:
    return ".".join(one if re.fullmatch(r"[A-Za-z0-9_-]+", one) else _value(one) for one in path)


def _inline(values: Mapping[str, Any], kept: Sequence[str] = ()) -> str:
    return f"{{ {', '.join([*(f'{name} = {_value(value)}' for name, value in values.items()), *kept])} }}"


def _value(value: Any) -> str:
    """Return a string or a list of strings as TOML, which writes both as JSON does."""
    return json.dumps(value, ensure_ascii=False)
