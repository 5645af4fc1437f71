"""A turn that could not be learnt from is tried again, later each time, and in the end waits for the person."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from promptuary.base.messages import Message
from promptuary.blocking import Promptuary
from promptuary.memory.writeback import learning
from promptuary.testing.scripted import ScriptedModel


@contextmanager
def opened(folder: Path, model: ScriptedModel) -> Iterator[Promptuary]:
    with Promptuary.open(folder, exact=True, embedder="none", models={"m": model}, writeback_model="m") as p:
        yield p


def test_a_process_that_goes_on_tries_again_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_FIRST_PAUSE", 0.5)
    tried, read = list[float](), threading.Event()

    def answer(_: Sequence[Message]) -> str | Exception:
        tried.append(time.monotonic())
        if len(tried) == 1:
            return ConnectionError("busy")
        read.set()
        return json.dumps({"decisions": []})

    with opened(tmp_path, ScriptedModel(answer)) as p:
        p.threads.finish(p.threads.prepare("We deploy on Fridays."), "Fine.")
        assert read.wait(30)
        assert p._app.learning().drain(10)
        assert not p.memory.catch_up()

    assert len(tried) == 2


def test_the_pauses_grow_until_the_turn_waits_for_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, pauses = [time.time()], list[float | None]()
    monkeypatch.setattr(learning, "time", SimpleNamespace(time=lambda: now[0]))
    model = ScriptedModel(lambda _: ConnectionError("busy"))
    with opened(tmp_path, model) as p:
        p.memory.learn_later()
        p.threads.finish(p.threads.prepare("We deploy on Fridays."), "Fine.")
    while not pauses or pauses[-1] is not None:
        with opened(tmp_path, model) as p:
            (waiting,) = p.memory.catch_up(10)
        assert waiting.error == "busy"
        pauses.append(None if waiting.due is None else waiting.due - now[0])
        now[0] = waiting.due or now[0]

    *grown, _ = (pause for pause in pauses if pause is not None)
    assert pauses[0] == pytest.approx(30.0)
    assert len(pauses) == 7
    assert all(
        later == pytest.approx(4 * earlier)
        for earlier, later in zip(grown, pauses[1:], strict=False)
        if later is not None
    )
