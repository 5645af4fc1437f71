"""Blocking work beside an event loop: never in each other's way, never left behind."""

import asyncio
import contextvars
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

import pytest

from promptuary import concurrency

Result = TypeVar("Result")

VARIABLE = contextvars.ContextVar("VARIABLE", default="nothing")


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> concurrency._Threads:
    """Threads that no other test has used."""
    made = concurrency._Threads(idle_seconds=30)
    monkeypatch.setattr(concurrency, "_threads", made)
    return made


def one_after_the_other(*functions: Callable[[], Result]) -> list[Result]:
    async def main() -> list[Result]:
        return [await concurrency.run(function) for function in functions]

    return asyncio.run(main())


def test_a_thread_that_is_idle_is_used_again() -> None:
    names = one_after_the_other(*[threading.get_ident] * 5)

    assert len(set(names)) == 1
    assert threading.get_ident() not in names


def test_work_never_waits_for_other_work() -> None:
    met = threading.Barrier(20, timeout=30)

    async def main() -> None:
        await asyncio.gather(*(concurrency.run(met.wait) for _ in range(20)))

    asyncio.run(main())


def test_an_error_is_raised_where_it_is_waited_for_and_the_thread_goes_on() -> None:
    def fail() -> None:
        raise ValueError(threading.get_ident())

    async def main() -> int:
        return await concurrency.run(threading.get_ident)

    with pytest.raises(ValueError, match=r"\d") as caught:
        one_after_the_other(fail)
    assert caught.value.args == (asyncio.run(main()),)


def test_what_one_work_sets_in_its_context_the_next_does_not_find() -> None:
    def seen() -> str:
        before = VARIABLE.get()
        VARIABLE.set("something")
        return before

    assert one_after_the_other(seen, seen) == ["nothing", "nothing"]


def test_an_idle_thread_holds_nothing_of_what_it_did(threads: concurrency._Threads) -> None:
    class Large:
        pass

    gone = [weakref.ref(held) for held in one_after_the_other(Large, Large)]
    (inbox,) = threads.idle
    asyncio.run(concurrency.run(lambda: None))  # the thread has told of what it did before
    gc.collect()

    assert threads.idle == [inbox]
    assert [held() for held in gone] == [None, None]


def test_a_thread_that_nobody_needs_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = concurrency._Threads(idle_seconds=0.05)
    monkeypatch.setattr(concurrency, "_threads", threads)
    (thread,) = one_after_the_other(threading.current_thread)

    assert isinstance(thread, threading.Thread)
    assert thread.daemon
    thread.join(30)
    assert not thread.is_alive()
    assert threads.idle == []
    assert one_after_the_other(lambda: "again") == ["again"]


def test_work_that_comes_as_a_thread_gives_up_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "_threads", concurrency._Threads(idle_seconds=0))
    numbers = iter(range(500))

    assert one_after_the_other(*[lambda: next(numbers)] * 500) == list(range(500))


def test_a_child_of_a_fork_starts_threads_of_its_own() -> None:
    program = """
import asyncio, os, warnings
from promptuary import concurrency
warnings.simplefilter("ignore")
assert asyncio.run(concurrency.run(lambda: 1)) == 1
assert len(concurrency._threads.idle) == 1
child = os.fork()
if not child:
    os._exit(asyncio.run(concurrency.run(lambda: 7)))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)

    assert done.stdout == "7\n"


def test_work_that_was_begun_goes_on_beside_whoever_began_it() -> None:
    met = threading.Barrier(2, timeout=30)
    names = [concurrency.begin(lambda: (met.wait(), threading.current_thread().name)) for _ in range(2)]

    assert {name()[1] for name in names} == {"promptuary-background"}


def test_work_that_was_begun_raises_where_it_is_waited_for() -> None:
    def fail() -> None:
        raise ValueError("no")

    failing = concurrency.begin(fail)
    assert concurrency.begin(lambda: 7)() == 7
    with pytest.raises(ValueError, match="no"):
        failing()
