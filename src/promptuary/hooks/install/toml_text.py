"""Adds a table to the text of a TOML file, and takes it out, and leaves every other byte as it is. Pure."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from promptuary.core.errors import PromptuaryError


def with_table(text: str, path: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """Return ``text`` with a table at its end, unless an equal one is there.

    Raises ``PromptuaryError`` if the text is no TOML, or has another table of that name.
    """
    before = _parsed(text)
    found = _at(before, path)
    if found == values:
        return text
    if found is not None:
        raise PromptuaryError(f"it has another [{'.'.join(path)}]; take that out first")
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(path)}]", *(f"{name} = {_value(value)}" for name, value in values.items())]
    gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    after = f"{text}{gap}{newline.join(lines)}{newline}"
    if _at(_parsed(after), path) != values:
        raise PromptuaryError(f"[{'.'.join(path)}] cannot be added; add it yourself")
    return after


def without_table(text: str, path: tuple[str, ...]) -> str:
    """Return ``text`` without the table: from its heading to the next one, with a blank line before it."""
    heading = re.compile(rf"[ \t]*\[[ \t]*{_pattern(path)}[ \t]*(?:\.[^\]]*)?\]")
    kept: list[str] = []
    within = False
    for line in text.splitlines(keepends=True):
        if heading.match(line):
            within = True
            if kept and not kept[-1].strip():
                kept.pop()  # the blank line before it
        elif within and re.match(r"[ \t]*(?:\[|#|$)", line):
            within = False
        if not within:
            kept.append(line)
    after = "".join(kept)
    expected = _parsed(text)
    _drop(expected, path)
    if _without_empty(_parsed(after)) != _without_empty(expected):
        raise PromptuaryError(f"[{'.'.join(path)}] was changed by hand; take it out yourself")
    return after


def _pattern(path: tuple[str, ...]) -> str:
    """Return what matches the name of a table, however it is quoted."""
    return r"[ \t]*\.[ \t]*".join(rf"(?:{re.escape(one)}|\"{re.escape(one)}\"|'{re.escape(one)}')" for one in path)


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        raise PromptuaryError(f"it is not TOML: {str(error)[:200]}") from error


def _at(values: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(values, dict) or name not in values:
            return None
        values = values[name]
    return values


def _drop(values: dict[str, Any], path: tuple[str, ...]) -> None:
    above = _at(values, path[:-1])
    if isinstance(above, dict):
        above.pop(path[-1], None)


def _without_empty(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    kept = {name: _without_empty(value) for name, value in values.items()}
    return {name: value for name, value in kept.items() if value != {}}


def _value(value: Any) -> str:
    """Return a text or a list of texts as TOML, which writes both as JSON does."""
    return json.dumps(value, ensure_ascii=False)
