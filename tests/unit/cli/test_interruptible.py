"""Long work that Ctrl-C ends in good order."""

import signal
import threading

import pytest

from promptuary.cli.interruptible import StoppedError, run_interruptibly


def interrupt() -> None:
    """Do what Ctrl-C does."""
    ident = threading.main_thread().ident
    assert ident
    signal.pthread_kill(ident, signal.SIGINT)


def test_what_the_work_returns_or_raises_comes_back() -> None:
    def fail(_: threading.Event) -> int:
        raise LookupError("nothing there")

    assert run_interruptibly(lambda stop: [1, stop.is_set()]) == [1, False]
    with pytest.raises(LookupError, match="nothing there"):
        run_interruptibly(fail)


def test_an_interrupt_asks_the_work_to_stop_and_waits_until_it_has() -> None:
    ended = []

    def work(stop: threading.Event) -> None:
        interrupt()
        assert stop.wait(30)
        ended.append("in good order")
        raise StoppedError

    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(work)
    assert ended == ["in good order"]


def test_work_that_does_not_stop_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptuary.cli.interruptible._GRACE", 0.01)
    release = threading.Event()

    def work(_: threading.Event) -> None:
        interrupt()
        release.wait(30)

    try:
        with pytest.raises(KeyboardInterrupt):
            run_interruptibly(work)
    finally:
        release.set()
