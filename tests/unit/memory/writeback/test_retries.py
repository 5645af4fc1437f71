"""A turn that could not be learnt from is tried again, later each time, and in the end waits for the person."""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, cast

import pytest

from promptuary.base.principals import LOCAL
from promptuary.memory.writeback import runner
from promptuary.memory.writeback.runner import Writeback
from promptuary.memory.writeback.snapshot import TurnSnapshot, to_text
from promptuary.memory.writeback.store import NoteQueue
from promptuary.memory.writeback.values import QueuedTurn
from tests.stores import MemoryStore

if TYPE_CHECKING:
    from promptuary.memory.writeback.proposals import MemoryOf, Proposals


def writeback(threads: MemoryStore, reader: Callable[[TurnSnapshot], object], now: Callable[[], float]) -> Writeback:
    return Writeback(
        queue_of(threads),
        cast("Proposals", None),
        cast("MemoryOf", None),
        threads=threads,
        model=None,
        has_secret=lambda _: False,
        readers={"else": reader},
        clock=now,
    )


def queue_of(threads: MemoryStore) -> NoteQueue:
    return threads.database.writeback_queue(LOCAL)


def recorded() -> MemoryStore:
    threads = MemoryStore()
    one = TurnSnapshot("turn-1", "t", "2026-01-02T03:04:05+00:00", (), external=False, purpose="else")
    queue_of(threads).add(QueuedTurn(one.turn, one.thread, one.at, to_text(one), due=0.0))
    return threads


def test_a_process_that_goes_on_tries_again_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_FIRST_PAUSE", 0.5)
    threads, tried, read = recorded(), list[str](), threading.Event()

    def reader(one: TurnSnapshot) -> None:
        tried.append(one.turn)
        if len(tried) == 1:
            raise ConnectionError("busy")
        read.set()

    with closing(writeback(threads, reader, time.time)) as learner:
        learner.begin()
        assert read.wait(30)
        assert learner.drain(10)

    assert tried == ["turn-1", "turn-1"]
    assert list(queue_of(threads).waiting()) == []


def test_the_pauses_grow_until_the_turn_waits_for_the_person() -> None:
    threads, now, pauses = recorded(), [0.0], list[float | None]()

    def reader(_: TurnSnapshot) -> None:
        raise ConnectionError("busy")

    while not pauses or pauses[-1] is not None:
        with closing(writeback(threads, reader, lambda: now[0])) as learner:
            assert learner.drain(10)
        (waiting,) = queue_of(threads).waiting()
        assert waiting.error == "busy"
        pauses.append(None if waiting.due is None else waiting.due - now[0])
        now[0] = waiting.due or now[0]

    *grown, _ = (one for one in pauses if one is not None)
    assert pauses[0] == 30.0
    assert len(pauses) == 7
    assert all(later == 4 * earlier for earlier, later in zip(grown, pauses[1:], strict=False) if later is not None)
