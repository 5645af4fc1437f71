"""A store that lasts as long as its process: for tests, and for whoever wants no traces.

It is the same contract in dictionaries, and the model that the other stores are compared with. A change is worked out
beside what is there and put in its place at the end, so that a change which fails leaves nothing behind.
"""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from promptuary.core.messages import Item, Replacement
from promptuary.core.ports.threads import Change, KeptState, Recorded, StateKey, StateStore, ThreadLine
from promptuary.storage.values import (
    item_is_missing,
    item_is_there,
    item_stays,
    now,
    number_is_taken,
    settled,
    state_text,
    turn_is_another,
)


@dataclass(frozen=True, slots=True)
class _Thread:
    created: str
    updated: str
    history: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Kept:
    """Everything there is. ``owners`` says which thread an item is of; the last thread in ``threads`` is in use."""

    threads: dict[str, _Thread]
    items: dict[str, Item]
    owners: dict[str, str]
    turns: dict[str, Recorded]
    states: dict[tuple[str, str], tuple[int, str]]

    def copy(self) -> Self:
        """Return what can be changed without changing this; the values in it cannot be changed anyway."""
        return type(self)(
            self.threads.copy(), self.items.copy(), self.owners.copy(), self.turns.copy(), self.states.copy()
        )


class InMemoryStore(StateStore):
    """A ``StateStore`` in dictionaries. ``clock`` gives the time that threads are created and updated at."""

    def __init__(self, *, clock: Callable[[], str] = now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept = _Kept({}, {}, {}, {}, {})

    def apply(self, change: Change) -> None:
        """Write ``change`` at once or not at all."""
        with self._lock:
            after = self._kept.copy()
            _touch(after, change.thread, self._clock())
            _append(after, change.thread, change.items)
            _pin(after, change.thread, change.pinned)
            for replacement in change.replacements:
                _compact(after, change.thread, replacement)
            for state in change.states:
                after.states[state.layer, state.scope_key] = (state.version, state_text(state))
            if change.turn is not None:
                _record(after, change.turn)
            self._kept = after

    def history(self, thread: str) -> Sequence[Item]:
        """Return what stands in the history now, in order."""
        kept = self._kept
        return tuple(kept.items[one] for one in kept.threads[thread].history) if thread in kept.threads else ()

    def items(self, ids: Sequence[str]) -> Sequence[Item]:
        """Return these items, compacted ones too."""
        kept = self._kept
        return tuple(kept.items[one] for one in ids if one in kept.items)

    def turn(self, thread: str, number: int | None = None) -> Recorded | None:
        """Return a turn by its number; the last if no number is given."""
        turns = [turn for turn in self.turns(thread) if number is None or turn.number == number]
        return turns[-1] if turns else None

    def last_number(self, thread: str) -> int:
        """Return the highest number of a turn; 0 if there is none."""
        return max((turn.number for turn in self.turns(thread)), default=0)

    def turns(self, thread: str) -> Sequence[Recorded]:
        """Return the turns of a thread, the first first."""
        kept = self._kept
        ids = kept.threads[thread].turns if thread in kept.threads else ()
        return tuple(sorted((settled(kept.turns[one]) for one in ids), key=lambda turn: turn.number))

    def threads(self) -> Sequence[ThreadLine]:
        """Return every thread, the last used first."""
        return tuple(
            ThreadLine(name, thread.created, thread.updated, len(thread.turns), len(thread.history))
            for name, thread in reversed(self._kept.threads.items())
        )

    def state(self, layer: str, scope_key: str) -> KeptState | None:
        """Return what is kept for a layer in a scope."""
        return self.states([(layer, scope_key)])[0]

    def states(self, keys: Sequence[StateKey]) -> Sequence[KeptState | None]:
        """Return what is kept under each key, as it was at one moment."""
        kept = self._kept.states
        return tuple(KeptState(*key, kept[key][0], json.loads(kept[key][1])) if key in kept else None for key in keys)

    def forget(self, layer: str, scope_key: str) -> None:
        """Remove what is kept for a layer in a scope."""
        with self._lock:
            after = self._kept.copy()
            after.states.pop((layer, scope_key), None)
            self._kept = after

    def close(self) -> None:
        """Do nothing: there are no files."""


def _touch(kept: _Kept, thread: str, time: str) -> None:
    before = kept.threads.pop(thread, None)
    kept.threads[thread] = _Thread(time, time) if before is None else replace(before, updated=time)


def _append(kept: _Kept, thread: str, items: Sequence[Item]) -> None:
    for item in items:
        _add(kept, thread, item)
    there = kept.threads[thread]
    kept.threads[thread] = replace(there, history=(*there.history, *(item.id for item in items)))


def _add(kept: _Kept, thread: str, item: Item) -> None:
    if item.id in kept.items:
        raise item_is_there(item.id)
    kept.items[item.id] = item
    kept.owners[item.id] = thread


def _pin(kept: _Kept, thread: str, pins: Sequence[tuple[str, bool]]) -> None:
    for one, pinned in pins:
        if kept.owners.get(one) != thread:
            raise item_is_missing(thread, one)
        kept.items[one] = replace(kept.items[one], pinned=pinned)


def _compact(kept: _Kept, name: str, replacement: Replacement) -> None:
    thread = kept.threads[name]
    history, gone = list(thread.history), set(replacement.ids)
    for one in replacement.ids:
        if one not in history or kept.items[one].pinned:
            raise item_stays(name, one)
    _add(kept, name, replacement.item)
    first = next(place for place, one in enumerate(history) if one in gone)
    history.insert(first, replacement.item.id)
    kept.threads[name] = replace(thread, history=tuple(one for one in history if one not in gone))


def _record(kept: _Kept, turn: Recorded) -> None:
    before = kept.turns.get(turn.id)
    if before is not None and (before.thread, before.number) != (turn.thread, turn.number):
        raise turn_is_another(turn)
    thread = kept.threads[turn.thread]
    if before is None:
        if any(kept.turns[one].number == turn.number for one in thread.turns):
            raise number_is_taken(turn)
        kept.threads[turn.thread] = replace(thread, turns=(*thread.turns, turn.id))
    kept.turns[turn.id] = settled(replace(turn, created=before.created if before else turn.created))
