"""The tables of a database in memory, and what a change does to them: plain functions over dictionaries."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from promptuary.core.messages import Item, Replacement
from promptuary.core.ports.threads import StateKey, ThreadChange, TurnRecord
from promptuary.core.principals import Owner
from promptuary.storage.redaction import item_without_blocks, receipt_without, without_blocks
from promptuary.storage.values import (
    cannot_compact_error,
    duplicate_item_error,
    frozen,
    missing_item_error,
    turn_id_conflict,
    turn_number_conflict,
)

ThreadKey = tuple[Owner, str]
"""A thread: whose it is, and its name."""


@dataclass(frozen=True, slots=True)
class _Thread:
    created: str
    updated: str
    history: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tables:
    """Everything there is. ``homes`` says which thread an item is in; the last thread in ``threads`` was used last."""

    threads: dict[ThreadKey, _Thread]
    items: dict[str, Item]
    homes: dict[str, ThreadKey]
    turns: dict[str, TurnRecord]
    states: dict[tuple[Owner | None, StateKey], tuple[int, str]]

    def copy(self) -> Self:
        """Return a copy that can be changed without changing this one; the values themselves are immutable."""
        return type(self)(
            self.threads.copy(), self.items.copy(), self.homes.copy(), self.turns.copy(), self.states.copy()
        )


def change(tables: Tables, key: ThreadKey, wanted: ThreadChange, *, user: str, time: str) -> None:
    """Make the parts of a change, but for its states. What raises has changed ``tables`` in part."""
    _touch(tables, key, time)
    _append(tables, key, wanted.items)
    _pin(tables, key, wanted.pinned)
    for replacement in wanted.replacements:
        _compact(tables, key, replacement)
    if wanted.turn is not None:
        _record(tables, key, wanted.turn, user)


def _touch(tables: Tables, thread: ThreadKey, time: str) -> None:
    before = tables.threads.pop(thread, None)
    tables.threads[thread] = _Thread(time, time) if before is None else replace(before, updated=time)


def _append(tables: Tables, thread: ThreadKey, items: Sequence[Item]) -> None:
    for item in items:
        _add(tables, thread, item)
    there = tables.threads[thread]
    tables.threads[thread] = replace(there, history=(*there.history, *(item.id for item in items)))


def _add(tables: Tables, thread: ThreadKey, item: Item) -> None:
    if item.id in tables.items:
        raise duplicate_item_error(item.id)
    for address in tables.turns[item.turn].forgotten if item.turn in tables.turns else ():
        item = item_without_blocks(item, address)
    tables.items[item.id] = item
    tables.homes[item.id] = thread


def _pin(tables: Tables, thread: ThreadKey, pins: Sequence[tuple[str, bool]]) -> None:
    for one, pinned in pins:
        if tables.homes.get(one) != thread:
            raise missing_item_error(thread[1], one)
        tables.items[one] = replace(tables.items[one], pinned=pinned)


def _compact(tables: Tables, key: ThreadKey, replacement: Replacement) -> None:
    thread = tables.threads[key]
    history, gone = list(thread.history), set(replacement.ids)
    for one in replacement.ids:
        if one not in history or tables.items[one].pinned:
            raise cannot_compact_error(key[1], one)
    _add(tables, key, replacement.item)
    first = next(place for place, one in enumerate(history) if one in gone)
    history.insert(first, replacement.item.id)
    tables.threads[key] = replace(thread, history=tuple(one for one in history if one not in gone))


def _record(tables: Tables, key: ThreadKey, turn: TurnRecord, user: str) -> None:
    before = tables.turns.get(turn.id)
    thread = tables.threads[key]
    if before is not None and (turn.id not in thread.turns or before.number != turn.number):
        raise turn_id_conflict(turn)
    if before is None:
        if any(tables.turns[one].number == turn.number for one in thread.turns):
            raise turn_number_conflict(turn)
        tables.threads[key] = replace(thread, turns=(*thread.turns, turn.id))
    created, acting = (before.created, before.user) if before else (turn.created, user)
    turn = replace(turn, created=created, user=acting, forgotten=())
    tables.turns[turn.id] = frozen(_without_forgotten(turn, before) if before else turn)


def _without_forgotten(turn: TurnRecord, before: TurnRecord) -> TurnRecord:
    """Return ``turn`` without what was forgotten since it was recorded."""
    if before.forgotten:
        turn = replace(turn, receipt=replace(turn.receipt, warnings=before.receipt.warnings))
    for address in before.forgotten:
        turn = turn_without_blocks(turn, address, ())
    return turn


def turn_without_blocks(turn: TurnRecord, address: str, texts: Sequence[str]) -> TurnRecord:
    """Return ``turn`` without the blocks of a note, and with a receipt that says no more than that it was there."""
    messages = tuple(message.copy() for message in turn.messages)
    for message in messages:
        message["content"] = without_blocks(message["content"], address)
    receipt = receipt_without(turn.receipt, address, texts)
    left = replace(turn, messages=messages, receipt=receipt)
    return left if left == turn else replace(left, forgotten=tuple(dict.fromkeys((*turn.forgotten, address))))
