"""The tables of a database in memory, and the effects of changes: plain functions over dictionaries."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Self

from promptuary.core.ledger import Origin, Pruned, carried, in_prompt, shown
from promptuary.core.messages import Item, Replacement
from promptuary.core.ports.threads import StateKey, ThreadChange, TurnRecord
from promptuary.core.principals import Owner
from promptuary.storage.in_memory_experiences import ExperienceTable
from promptuary.storage.redaction import item_without_blocks, other_images, receipt_without, without_blocks
from promptuary.storage.values import (
    cannot_compact_error,
    cannot_continue_error,
    duplicate_item_error,
    frozen,
    missing_item_error,
    missing_thread_error,
    taken_thread_error,
    turn_id_conflict,
    turn_number_conflict,
)

ThreadKey = tuple[Owner, str]
"""The key of a thread: its owner and its name."""


@dataclass(frozen=True, slots=True)
class _Thread:
    created: str
    updated: str
    history: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    removed: int = 0
    """The highest number among turns that were removed."""


@dataclass(frozen=True, slots=True)
class Tables:
    """All tables. ``homes`` says which thread an item is in; the last thread in ``threads`` was used last."""

    threads: dict[ThreadKey, _Thread]
    items: dict[str, Item]
    homes: dict[str, ThreadKey]
    turns: dict[str, TurnRecord]
    states: dict[tuple[Owner | None, StateKey], tuple[int, str]]
    experiences: dict[Owner, ExperienceTable]
    origins: dict[str, tuple[Origin, ...]]
    """The sources of each turn."""

    def copy(self) -> Self:
        """Return a copy that can be changed without changing this one; the values themselves are immutable."""
        own = {owner: table.copy() for owner, table in self.experiences.items()}
        return type(self)(
            self.threads.copy(),
            self.items.copy(),
            self.homes.copy(),
            self.turns.copy(),
            self.states.copy(),
            own,
            self.origins.copy(),
        )


def change(tables: Tables, key: ThreadKey, wanted: ThreadChange, *, user: str, time: str) -> None:
    """Apply a change, except for its states. If it raises, ``tables`` may be partly changed."""
    _touch(tables, key, time)
    _append(tables, key, wanted.items)
    _pin(tables, key, wanted.pinned)
    for replacement in wanted.replacements:
        _compact(tables, key, replacement)
    _remove(tables, key, wanted.removed)
    if wanted.continued:
        pending = tables.turns.get(wanted.continued)
        if pending is None or pending.id not in tables.threads[key].turns or pending.status != "prepared":
            raise cannot_continue_error(wanted.thread, wanted.continued)
        tables.turns[pending.id] = replace(pending, status="continued")
    if wanted.turn is not None:
        _record(tables, key, wanted.turn, user)


def prune(tables: Tables, owner: Owner, before: str, name: str | None) -> Pruned:
    """Remove the turns of an owner that are older than ``before``."""
    threads = turns = items = 0
    taken = _taken(tables)
    for key, thread in list(tables.threads.items()):
        if key[0] != owner or name not in {None, key[1]}:
            continue
        whole = thread.updated[: len(before)] < before
        old = {one for one in thread.turns if whole or tables.turns[one].created[: len(before)] < before}
        going = [one for one, home in tables.homes.items() if home == key] if whole else _left(tables, key, old)
        removed = max((tables.turns[one].number for one in old), default=0)
        _drop(tables, old, going)
        threads, turns, items = threads + whole, turns + len(old), items + len(going)
        if whole:
            del tables.threads[key]
            private = StateKey("", "thread", key[1])[1:]
            for state in [one for one in tables.states if one[0] == owner and one[1][1:] == private]:
                del tables.states[state]
        else:
            stay = tuple(one for one in thread.turns if one not in old)
            tables.threads[key] = replace(thread, turns=stay, removed=max(thread.removed, removed))
    return Pruned(threads, turns, items, taken - _taken(tables))


def rename(tables: Tables, owner: Owner, thread: str, name: str) -> None:
    """Rename a thread of an owner, keeping its place among the others."""
    old, new = (owner, thread), (owner, name)
    if old not in tables.threads:
        raise missing_thread_error(thread)
    if new in tables.threads:
        raise taken_thread_error(name)
    threads = {new if key == old else key: one for key, one in tables.threads.items()}
    tables.threads.clear()
    tables.threads.update(threads)
    for item in [one for one, home in tables.homes.items() if home == old]:
        tables.homes[item] = new
    for one in tables.threads[new].turns:
        turn = tables.turns[one]
        tables.turns[one] = replace(turn, thread=name, receipt=replace(turn.receipt, thread=name))
    for key in [one for one in tables.states if one[0] == owner and one[1][1:] == ("thread", thread)]:
        tables.states[owner, StateKey(key[1].layer, "thread", name)] = tables.states.pop(key)


def _taken(tables: Tables) -> int:
    """Return how many bytes all texts take."""
    texts = {item.content for item in tables.items.values()}
    for turn in tables.turns.values():
        texts |= {turn.text, *(message["content"] for message in turn.messages)}
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


def _left(tables: Tables, key: ThreadKey, turns: Collection[str]) -> list[str]:
    """Return the items of turns that have left the history, and summaries of their time."""
    said = [tables.items[one] for one, home in tables.homes.items() if home == key]
    own = (place for place, item in enumerate(said) if item.turn in turns and not item.stands_for)
    last = max(own, default=-1)
    return [
        item.id
        for place, item in enumerate(said)
        if item.id not in tables.threads[key].history and (item.turn in turns or (not item.turn and place <= last))
    ]


def _drop(tables: Tables, turns: Collection[str], items: Collection[str]) -> None:
    for one in turns:
        del tables.turns[one], tables.origins[one]
    for one in items:
        del tables.items[one], tables.homes[one]


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


def _remove(tables: Tables, key: ThreadKey, items: Sequence[str]) -> None:
    thread = tables.threads[key]
    for one in items:
        if one not in thread.history or tables.items[one].pinned:
            raise cannot_compact_error(key[1], one)
    tables.threads[key] = replace(thread, history=tuple(one for one in thread.history if one not in items))


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
    kept = tables.turns[turn.id] = frozen(_without_forgotten(turn, before) if before else turn)
    carried_before = [one for one in tables.origins.get(turn.id, ()) if one.how != "direct"]
    past = carried_before if before else _carried(tables, tables.threads[key].history, kept)
    tables.origins[turn.id] = tuple(dict.fromkeys((*shown(kept.receipt), *past)))


def _carried(tables: Tables, history: Sequence[str], turn: TurnRecord) -> list[Origin]:
    """Return the sources that the history brings into the prompt of a turn."""
    contents = (message["content"] for message in turn.messages[:-1])
    sent = in_prompt(contents, (tables.items[one] for one in history))
    return [origin for item in sent for origin in _brought(tables, item)]


def _brought(tables: Tables, item: Item) -> list[Origin]:
    behind = (tables.items[one] for one in item.stands_for if tables.homes.get(one) == tables.homes[item.id])
    return carried(item, [origin for one in behind for origin in _brought(tables, one)])


def _without_forgotten(turn: TurnRecord, before: TurnRecord) -> TurnRecord:
    """Return ``turn`` without what was forgotten since it was recorded."""
    if before.forgotten:
        turn = replace(turn, receipt=replace(turn.receipt, warnings=before.receipt.warnings))
    for address in before.forgotten:
        turn = turn_without_blocks(turn, address, ())
    return turn


def turn_without_blocks(turn: TurnRecord, address: str, texts: Sequence[str]) -> TurnRecord:
    """Return ``turn`` without the blocks of a note, and with a receipt that only says that it was there."""
    messages = tuple(message.copy() for message in turn.messages)
    for message in messages:
        message["content"] = without_blocks(message["content"], address)
        if "images" in message:
            message["images"] = other_images(message["images"], address)
    receipt = receipt_without(turn.receipt, address, texts)
    left = replace(turn, messages=messages, receipt=receipt)
    return left if left == turn else replace(left, forgotten=tuple(dict.fromkeys((*turn.forgotten, address))))
