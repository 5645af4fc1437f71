"""Blocking work beside an event loop: never in each other's way, never left behind."""

import asyncio
import contextvars
import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from promptuary.base import concurrency

Result = TypeVar("Result")

VARIABLE = contextvars.ContextVar("VARIABLE", default="nothing")


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> concurrency._Pool:
    """Threads that no other test has used."""
    made = concurrency._Pool(idle_seconds=30)
    monkeypatch.setattr(concurrency, "_pool", made)
    monkeypatch.setattr(concurrency, "_room", concurrency._Room(concurrency.MAX_AT_ONCE))
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


MANY = 10 * concurrency.MAX_AT_ONCE


def test_only_so_many_calls_run_at_once_and_all_are_answered_in_turn() -> None:
    lock, running, most, order = threading.Lock(), [0], [0], list[int]()

    def work(number: int) -> int:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
            order.append(number)
        time.sleep(0.002)
        with lock:
            running[0] -= 1
        return number

    async def main() -> list[int]:
        return await asyncio.gather(*(concurrency.run(partial(work, number)) for number in range(MANY)))

    assert asyncio.run(main()) == list(range(MANY))
    assert most[0] <= concurrency.MAX_AT_ONCE
    assert order[-1] >= MANY - concurrency.MAX_AT_ONCE


def test_work_within_work_waits_for_nobody() -> None:
    def within(depth: int) -> int:
        return 1 + asyncio.run(concurrency.run(lambda: within(depth - 1))) if depth else 0

    async def main() -> list[int]:
        return await asyncio.gather(*(concurrency.run(lambda: within(3)) for _ in range(2 * concurrency.MAX_AT_ONCE)))

    began = time.monotonic()
    assert set(asyncio.run(main())) == {3}
    assert time.monotonic() - began < 10


def test_a_call_for_which_all_that_runs_waits_is_not_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "_PATIENCE", 0.05)

    async def main() -> list[int]:
        loop = asyncio.get_running_loop()

        def back() -> int:
            return asyncio.run_coroutine_threadsafe(concurrency.run(lambda: 7), loop).result(30)

        return await asyncio.gather(*(concurrency.run(back) for _ in range(2 * concurrency.MAX_AT_ONCE)))

    assert set(asyncio.run(main())) == {7}


def test_whoever_holds_a_lock_goes_on_however_many_wait_for_it() -> None:
    lock, passed = threading.Lock(), list[int]()

    async def hold(number: int) -> None:
        async with concurrency.held(lambda: lock):
            await concurrency.run(lambda: passed.append(number))

    async def main() -> None:
        await asyncio.gather(*(hold(number) for number in range(3 * concurrency.MAX_AT_ONCE)))

    asyncio.run(asyncio.wait_for(main(), 30))
    assert len(passed) == 3 * concurrency.MAX_AT_ONCE


def test_whoever_stops_waiting_leaves_the_room_to_others() -> None:
    release = threading.Event()

    async def main() -> int:
        busy = [asyncio.ensure_future(concurrency.run(lambda: release.wait(30))) for _ in range(MANY)]
        await asyncio.sleep(0.05)
        for one in busy:
            one.cancel()
        release.set()
        await asyncio.gather(*busy, return_exceptions=True)
        numbers = await asyncio.gather(*(concurrency.run(lambda: 1) for _ in range(MANY)))
        return sum(numbers)

    assert asyncio.run(main()) == MANY
    assert concurrency._room._inside == 0


def test_event_loops_that_are_closed_keep_no_room() -> None:
    for _ in range(3):
        release = threading.Event()

        async def main(release: threading.Event = release) -> None:
            calls = [asyncio.ensure_future(concurrency.run(lambda: release.wait(30))) for _ in range(MANY)]
            await asyncio.sleep(0.02)
            assert not any(one.done() for one in calls)

        asyncio.run(main())
        release.set()
    assert asyncio.run(concurrency.run(lambda: 1)) == 1


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


def test_an_idle_thread_holds_nothing_of_what_it_did(threads: concurrency._Pool) -> None:
    class Large:
        pass

    gone = [weakref.ref(held) for held in one_after_the_other(Large, Large)]
    (inbox,) = threads.idle
    asyncio.run(concurrency.run(lambda: None))  # the thread has told of what it did before
    gc.collect()

    assert threads.idle == [inbox]
    assert [held() for held in gone] == [None, None]


def test_a_thread_that_nobody_needs_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = concurrency._Pool(idle_seconds=0.05)
    monkeypatch.setattr(concurrency, "_pool", threads)
    (thread,) = one_after_the_other(threading.current_thread)

    assert isinstance(thread, threading.Thread)
    assert thread.daemon
    thread.join(30)
    assert not thread.is_alive()
    assert threads.idle == []
    assert one_after_the_other(lambda: "again") == ["again"]


def test_work_that_comes_as_a_thread_gives_up_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "_pool", concurrency._Pool(idle_seconds=0))
    numbers = iter(range(500))

    assert one_after_the_other(*[lambda: next(numbers)] * 500) == list(range(500))


def test_a_child_of_a_fork_starts_threads_of_its_own() -> None:
    program = """
import asyncio, os, warnings
from promptuary.base import concurrency
warnings.simplefilter("ignore")
assert asyncio.run(concurrency.run(lambda: 1)) == 1
assert len(concurrency._pool.idle) == 1
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

    assert {name.result()[1] for name in names} == {"promptuary-background"}


def test_work_that_was_begun_raises_where_it_is_waited_for() -> None:
    def fail() -> None:
        raise ValueError("no")

    failing = concurrency.begin(fail)
    assert concurrency.begin(lambda: 7).result() == 7
    with pytest.raises(ValueError, match="no"):
        failing.result()


def test_several_may_wait_for_the_same_work_and_for_no_longer_than_they_like() -> None:
    release = threading.Event()
    task = concurrency.begin(lambda: release.wait(30))

    assert not task.wait(0.01)
    waiting = [concurrency.begin(task.result) for _ in range(3)]
    release.set()
    assert [one.result() for one in waiting] == [True, True, True]
    assert task.wait(0)


def test_the_program_does_not_end_before_work_that_is_no_daemon() -> None:
    program = """
import sys, time
from promptuary.base import concurrency
def work():
    time.sleep(0.2)
    sys.stdout.write("done")
concurrency.begin(work, daemon=sys.argv[1] == "daemon", name="promptuary-load")
"""
    said = [
        subprocess.run([sys.executable, "-c", program, how], check=True, capture_output=True, text=True, timeout=60)
        for how in ("waited for", "daemon")
    ]

    assert [one.stdout for one in said] == ["done", ""]


def test_each_value_is_worked_on_by_several_threads_and_answered_in_order() -> None:
    met = threading.Barrier(3, timeout=30)

    def twice(number: int) -> int:
        met.wait()
        return 2 * number

    assert concurrency.run_each(twice, range(6), threads=3, name="test") == [0, 2, 4, 6, 8, 10]


def test_a_daemon_has_its_name_and_does_not_keep_the_program_from_ending() -> None:
    ended = threading.Event()
    thread = concurrency.start_daemon(ended.set, name="promptuary-test")

    assert (thread.name, thread.daemon) == ("promptuary-test", True)
    assert ended.wait(30)


def test_whoever_has_time_waits_until_what_happens_again_and_again_pauses() -> None:
    bustle, hurry = concurrency.Debounce(pause=0.2, most=30), threading.Event()
    waiting = concurrency.begin(lambda: bustle.wait_for_a_pause(hurry))
    for _ in range(10):
        bustle.touch()
        assert not waiting.wait(0.05)
    assert waiting.wait(10)


def test_nobody_waits_for_a_pause_for_ever_or_in_a_hurry() -> None:
    hurry = threading.Event()
    endless, patient = concurrency.Debounce(pause=30, most=0.1), concurrency.Debounce(pause=30, most=30)
    at_last = concurrency.begin(lambda: endless.wait_for_a_pause(threading.Event()))
    hurried = concurrency.begin(lambda: patient.wait_for_a_pause(hurry))

    assert at_last.wait(10)
    assert not hurried.wait(0)
    hurry.set()
    assert hurried.wait(10)


def test_work_in_the_background_gives_way_to_what_a_person_waits_for() -> None:
    foreground = concurrency.Foreground(after=0.0, most=30)

    with foreground:
        behind = concurrency.begin(lambda: list(foreground.yielding(range(4), every=1)))
        assert not behind.wait(0.1)
    assert behind.wait(30)
    assert behind.result() == [0, 1, 2, 3]


def test_what_the_answer_leads_to_has_a_moment_more() -> None:
    foreground = concurrency.Foreground(after=30, most=60)
    with foreground:
        pass

    assert not concurrency.begin(foreground.give_way).wait(0.1)


def test_nobody_gives_way_for_ever_nor_to_himself() -> None:
    foreground = concurrency.Foreground(after=30, most=0.05)
    with foreground:
        foreground.give_way()
        assert concurrency.begin(foreground.give_way).wait(30)


def test_packages_that_load_numpy_are_imported_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("native_one", "native_two"):
        (tmp_path / f"{name}.py").write_text(
            "import threading, time\n"
            "threading.active_imports = getattr(threading, 'active_imports', 0) + 1\n"
            "time.sleep(0.05)\n"
            "alone = threading.active_imports == 1\n"
            "threading.active_imports -= 1\n"
        )
    monkeypatch.syspath_prepend(tmp_path)

    loading = [concurrency.begin(partial(concurrency.load_native, name)) for name in ("native_one", "native_two")]

    assert [one.result().alone for one in loading] == [True, True]
