"""Promptuary's notes as a store of LangGraph.

    graph = builder.compile(store=PromptuaryStore(p))

An item is a note that a person can read: ``{"content": "..."}`` is its text, any other value is stored in it as JSON. A
search with a query is a search of notes. Notes that people wrote are not items; agents find them with the tools for
notes, and ``@memory:`` finds both.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from promptuary.base import concurrency
from promptuary.base.errors import how_to_install
from promptuary.base.text import valid_unicode
from promptuary.integrations.path_notes import PathNotes

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )
except ImportError as error:
    raise ImportError(f"This needs the extra langchain: {how_to_install('langchain')}.") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from promptuary.blocking import Promptuary
    from promptuary.memory.values import Note, NoteHeader

_ROOT: Final = "store"
_FENCE: Final = "```json\n"
_SAFE: Final = "@.:,+=!()-_~"
_CANDIDATES: Final = 200
"""How many hits of a search are examined for items of a namespace."""

_OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}


class PromptuaryStore(BaseStore):
    """A store whose items are notes of the principal that ``promptuary`` was opened for."""

    __slots__ = ("_notes",)

    def __init__(self, promptuary: Promptuary) -> None:
        self._notes = PathNotes(promptuary, _ROOT)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations in this order."""
        return [self._do(one) for one in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations without blocking the event loop."""
        return await concurrency.run(lambda: self.batch(ops))

    def _do(self, op: Op) -> Result:
        match op:
            case GetOp(namespace, key):
                note = self._notes.read(_name(namespace, key))
                return _item(_name(namespace, key), note) if note else None
            case PutOp(namespace, key, None):
                if note := self._notes.read(_name(namespace, key)):
                    self._notes.remove(note.header)
                return None
            case PutOp(namespace, key, value) if value is not None:
                self._notes.write(_name(namespace, key), _written(value))
                return None
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._namespaces(op)
            case _:
                raise TypeError(f"this store does not know {type(op).__name__}")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        found: list[SearchItem] = []
        for header, score in self._candidates(op.query):
            name = self._notes.name_of(header)
            if name is None or _parts(name)[: len(op.namespace_prefix)] != tuple(op.namespace_prefix):
                continue
            if len(_parts(name)) <= len(op.namespace_prefix):
                continue
            note = self._notes.promptuary.memory.get(header.id)
            if note is not None and _fits((item := _item(name, note)).value, op.filter or {}):
                found.append(SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score))
        return found[op.offset : op.offset + op.limit]

    def _candidates(self, query: str | None) -> list[tuple[NoteHeader, float | None]]:
        if query is None:
            return [(one, None) for one in self._notes.names().values()]
        hits = self._notes.promptuary.memory.find(query, limit=_CANDIDATES).hits
        return [(hit.header, hit.score) for hit in hits]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        every = {_parts(name)[:-1] for name in self._notes.names()}
        chosen = [one for one in every if all(_matches(one, each) for each in op.match_conditions or ())]
        return sorted({one[: op.max_depth] for one in chosen})[op.offset : op.offset + op.limit]


def _name(namespace: tuple[str, ...], key: str) -> str:
    """Return namespace and key as one name; a slash in them is not a separator."""
    return "/".join(quote(one, safe=_SAFE + " " * (one == " ".join(one.split()))) for one in (*namespace, key))


def _parts(name: str) -> tuple[str, ...]:
    return tuple(map(unquote, name.split("/")))


def _written(given: Mapping[str, Any]) -> str:
    match given:
        case {"content": str(text)} if len(given) == 1 and _is_kept(text):
            return text
        case _:
            text = json.dumps(given, ensure_ascii=False, indent=1)
            # Characters that cannot be encoded are escaped.
            text = text if text == valid_unicode(text) else json.dumps(given, indent=1)
            return f"{_FENCE}{text}\n```"


def _is_kept(text: str) -> bool:
    """Return whether a note keeps a text unchanged: not empty, no space around it, no carriage return, not JSON."""
    is_plain = bool(text) and text.strip() == text and "\r" not in text and text == valid_unicode(text)
    return is_plain and not text.startswith(_FENCE)


def _item(name: str, note: Note) -> Item:
    *namespace, key = _parts(name)
    header, text = note.header, note.body.strip()
    value: dict[str, Any] = {"content": text}
    if text.startswith(_FENCE) and text.endswith("\n```"):
        with suppress(ValueError, RecursionError):  # text, if a person has edited it
            value = json.loads(text.removeprefix(_FENCE).removesuffix("\n```"))
    times = [datetime.fromisoformat(one) for one in (header.created_at, header.updated_at)]
    return Item(value=value, key=key, namespace=tuple(namespace), created_at=times[0], updated_at=times[1])


def _fits(value: Any, wanted: Any) -> bool:
    """Return whether a value matches a filter: an object by members, a list by items, operators by comparison."""
    match wanted:
        case dict() if any(name.startswith("$") for name in wanted):
            return all(_compares(value, name, other) for name, other in wanted.items())
        case dict():
            return isinstance(value, dict) and all(_fits(value.get(name), one) for name, one in wanted.items())
        case list() | tuple():
            return isinstance(value, list) and len(value) == len(wanted) and all(map(_fits, value, wanted))
        case _:
            return bool(value == wanted)


def _compares(value: Any, operator: str, other: Any) -> bool:
    if operator in {"$eq", "$ne"}:
        return bool((value == other) == (operator == "$eq"))
    if operator not in _OPERATORS:
        raise ValueError(f"this store does not know the operator {operator[:40]!r}")
    try:
        return _OPERATORS[operator](float(value), float(other))
    except (TypeError, ValueError):  # a value that is not a number compares as false
        return False


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", given) for wanted, given in zip(path, part, strict=True))
