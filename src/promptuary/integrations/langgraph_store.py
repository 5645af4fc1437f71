"""Promptuary's notes as a store of LangGraph.

    graph = builder.compile(store=PromptuaryStore(p))

An item is a note that a person can read: ``{"content": "..."}`` is its text, any other value stands in it as JSON. A
search with a query is the search of notes. Notes that people wrote are not items; agents find them with the tools for
notes, and ``@memory:`` finds both.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from promptuary import concurrency
from promptuary.core.errors import how_to_install
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
    from promptuary.core.notes import Note, NoteHeader

_ROOT: Final = "store"
_FENCE: Final = "```json\n"
_SAFE: Final = "@.:,+=!()-_~"
_CANDIDATES: Final = 200
"""How many hits of a search are looked at for those of a namespace."""

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": lambda a, b: a == b,
    "$ne": lambda a, b: a != b,
    "$gt": lambda a, b: a is not None and a > b,
    "$gte": lambda a, b: a is not None and a >= b,
    "$lt": lambda a, b: a is not None and a < b,
    "$lte": lambda a, b: a is not None and a <= b,
}


class PromptuaryStore(BaseStore):
    """A store whose items are notes of the principal that ``promptuary`` was opened for."""

    __slots__ = ("_notes",)

    def __init__(self, promptuary: Promptuary) -> None:
        self._notes = PathNotes(promptuary, _ROOT)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do one after the other, in this order."""
        return [self._do(one) for one in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same without blocking the event loop."""
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
            if note is not None and _fits(item := _item(name, note), op.filter):
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
    """Return namespace and key as one name; a slash in them is no separator."""
    return "/".join(quote(one, safe=_SAFE + " " * (one == " ".join(one.split()))) for one in (*namespace, key))


def _parts(name: str) -> tuple[str, ...]:
    return tuple(map(unquote, name.split("/")))


def _written(given: Mapping[str, Any]) -> str:
    match given:
        case {"content": str(text)} if len(given) == 1 and text.strip() == text and not text.startswith(_FENCE):
            return text
        case _:
            return f"{_FENCE}{json.dumps(given, ensure_ascii=False, indent=1)}\n```"


def _item(name: str, note: Note) -> Item:
    *namespace, key = _parts(name)
    header, text = note.header, note.body.strip()
    value: dict[str, Any] = {"content": text}
    if text.startswith(_FENCE) and text.endswith("\n```"):
        with suppress(ValueError, RecursionError):  # if somebody has edited it, it is text
            value = json.loads(text.removeprefix(_FENCE).removesuffix("\n```"))
    times = [datetime.fromisoformat(one) for one in (header.created_at, header.updated_at)]
    return Item(value=value, key=key, namespace=tuple(namespace), created_at=times[0], updated_at=times[1])


def _fits(item: Item, wanted: Mapping[str, Any] | None) -> bool:
    for key, rule in (wanted or {}).items():
        rules = rule if isinstance(rule, dict) and rule and all(one in _COMPARE for one in rule) else {"$eq": rule}
        if not all(_COMPARE[name](item.value.get(key), value) for name, value in rules.items()):
            return False
    return True


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", given) for wanted, given in zip(path, part, strict=True))
