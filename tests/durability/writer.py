"""A process that writes turns and says on stdout which ones it was told are safe.

    writer.py DATABASE own THREAD COUNT      on a thread of its own, COUNT turns, or for ever if 0
    writer.py DATABASE shared THREAD COUNT   on a thread that others write too, until COUNT turns were its own

What turn N holds follows from N, so that a reader knows what must be there.
"""

import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from promptuary.base.errors import ConflictError
from promptuary.base.messages import Item, Replacement
from promptuary.base.principals import LOCAL
from promptuary.context.receipt import Receipt
from promptuary.layers.layer import LayerState, StateKey
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange, TurnRecord, TurnStatus
from promptuary.threads.store.store import ThreadStore

EVERY = 5
"""After so many turns what is older is compacted, the last summary too."""


def steps(thread: str, number: int) -> tuple[ThreadChange, ThreadChange]:
    """Return how turn ``number`` is written: prepared first, then finished with its items."""
    words = f"{thread} {number} " + "lorem ipsum dolor " * (number % 40)
    name = f"{thread}-{number}"
    question, answer = (
        Item(f"q {name}", "user", words, turn=name),
        Item(f"a {name}", "assistant", words[::-1], turn=name),
    )
    receipt = Receipt(name, thread, 1000, 100, number)
    prepared = TurnRecord(
        *(name, thread, number, f"day {number}", "prepared", words),
        messages=[{"role": "user", "content": words}],
        receipt=receipt,
        user=LOCAL.user,
    )
    state = LayerState(StateKey("counter", "thread", thread), 1, {"turns": number})
    finished = ThreadChange(thread, turn=replace(prepared, status="finished"), items=[question, answer], states=[state])
    return ThreadChange(thread, turn=prepared), _compacting(finished, number)


def _compacting(change: ThreadChange, number: int) -> ThreadChange:
    if number % EVERY:
        return change
    thread, first = change.thread, max(1, number - EVERY)
    old = [f"{kind} {thread}-{one}" for one in range(first, number) for kind in "qa"]
    before = [f"s {thread}-{number - EVERY}"] if number > EVERY else []
    summary = Item(f"s {thread}-{number}", "assistant", "so far", kind="summary", stands_for=(*before, *old))
    return replace(change, replacements=[Replacement((*before, *old), summary)])


def written(thread: str, number: int, status: TurnStatus) -> Iterator[ThreadChange]:
    """Return every change of a thread whose last turn has this number and status."""
    for one in range(1, number + 1):
        prepared, finished = steps(thread, one)
        yield prepared
        if one < number or status == "finished":
            yield finished


def acknowledge(what: object) -> None:
    """Say so at once and in one piece: this process may not live to say more."""
    os.write(1, f"{what}\n".encode())


def own(store: ThreadStore, thread: str, count: int) -> None:
    last = store.turn(thread)
    start = 1 if last is None else last.number + (last.status == "finished")
    for number in itertools.count(start):
        if count and number >= start + count:
            return
        for change in steps(thread, number):
            store.apply(change)
        acknowledge(number)


def shared(store: ThreadStore, thread: str, count: int) -> None:
    conflicts = done = 0
    while done < count:
        last = store.turn(thread)
        number = 1 if last is None else last.number + 1
        turn = steps(thread, number)[0].turn
        assert turn is not None
        name = f"{os.getpid()} {done}"
        try:
            store.apply(ThreadChange(thread, turn=replace(turn, id=name), items=[Item(name, "user", "hello")]))
        except ConflictError:
            conflicts += 1
        else:
            done += 1
    acknowledge(conflicts)


if __name__ == "__main__":
    with closing(StateDatabase(Path(sys.argv[1]))) as state:
        {"own": own, "shared": shared}[sys.argv[2]](state.threads(LOCAL), sys.argv[3], int(sys.argv[4]))
