"""Frequency and recency of use."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptuary.base import durable
from promptuary.workspace.matching import usage as module
from promptuary.workspace.matching.usage import HALF_LIFE, MAX_ENTRIES, Usage, Use, decayed_weight, with_uses
from promptuary.workspace.user_folders import state_folder

DAY = 24 * 3600.0


def test_a_use_counts_half_after_each_half_life() -> None:
    assert decayed_weight(Use(4.0, 0.0), 0.0) == 4.0
    assert decayed_weight(Use(4.0, 0.0), HALF_LIFE) == 2.0
    assert decayed_weight(Use(4.0, 0.0), 2 * HALF_LIFE) == 1.0


def test_a_clock_that_went_back_does_not_make_a_use_grow() -> None:
    assert decayed_weight(Use(1.0, 100.0), 0.0) == 1.0


def test_often_outweighs_lately_only_for_a_while(tmp_path: Path) -> None:
    now = 0.0
    usage = Usage(tmp_path, folder=tmp_path / "state", clock=lambda: now)
    for _ in range(3):
        usage.record(["often.py"])
    now = DAY
    usage.record(["lately.py"])
    assert usage.score("often.py") > usage.score("lately.py") > usage.score("never.py") == 0.0

    now = 30 * DAY
    usage.record(["lately.py"])
    assert usage.score("lately.py") > usage.score("often.py")


def test_uses_are_kept_between_processes_and_apart_for_each_workspace(tmp_path: Path) -> None:
    Usage(tmp_path / "one").record(["a.py"])

    assert Usage(tmp_path / "one").scores().keys() == {"a.py"}
    assert Usage(tmp_path / "two").scores() == {}


def test_the_file_lies_in_the_state_folder_of_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Usage(tmp_path).record(["a.py"])

    assert sorted(file.suffix for file in (state_folder() / "usage").iterdir()) == [".json", ".lock"]
    assert state_folder() == tmp_path / "state" / "promptuary"


def test_only_the_most_valuable_entries_are_kept() -> None:
    uses = with_uses({}, (f"{number}.py" for number in range(MAX_ENTRIES)), 0.0)
    uses = with_uses(uses, ["0.py", "new.py"], DAY)

    assert len(uses) == MAX_ENTRIES
    assert {"0.py", "new.py"} <= uses.keys()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"a": 1}', b'{"a": ["x", 2]}', b"\xff" * 9, b"[" * 99_999]
)
def test_a_corrupt_file_is_ignored_and_replaced(tmp_path: Path, content: bytes) -> None:
    usage = Usage(tmp_path, folder=tmp_path)
    usage.record(["a.py"])
    (file,) = tmp_path.glob("*.json")
    file.write_bytes(content)

    again = Usage(tmp_path, folder=tmp_path)
    assert again.score("a.py") == 0.0
    again.record(["b.py"])
    assert json.loads(file.read_bytes()).keys() == {"b.py"}
    assert {path.name for path in tmp_path.iterdir()} == {file.name, file.with_suffix(".lock").name}


def test_an_unwritable_folder_is_ignored(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    usage = Usage(tmp_path, folder=blocked / "usage")
    usage.record(["a.py"])

    assert usage.score("a.py") == pytest.approx(1.0)


RECORDER = """
import sys
from pathlib import Path
from promptuary.workspace.matching.usage import Usage

usage = Usage(Path("/work"), folder=Path(sys.argv[1]), clock=lambda: 0.0)
for number in range(40):
    usage.record(["both.py", f"{sys.argv[2]}/{number}.py"])
"""


def test_two_processes_that_record_at_once_lose_no_use(tmp_path: Path) -> None:
    recorders = [subprocess.Popen([sys.executable, "-c", RECORDER, str(tmp_path), name]) for name in ("one", "two")]
    assert [recorder.wait() for recorder in recorders] == [0, 0]
    scores = Usage(Path("/work"), folder=tmp_path, clock=lambda: 0.0).scores()

    assert len(scores) == 81
    assert scores["both.py"] == 80.0


def test_a_lock_that_somebody_keeps_is_no_error_and_the_use_counts_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOCK_TIMEOUT", 0.01)
    usage = Usage(tmp_path, folder=tmp_path, clock=lambda: 0.0)
    usage.record(["a.py"])
    (lock,) = tmp_path.glob("*.lock")
    with durable.locked(lock):
        usage.record(["a.py", "b.py"])
    usage.record(["c.py"])

    assert Usage(tmp_path, folder=tmp_path, clock=lambda: 0.0).scores() == {"a.py": 1.0, "c.py": 1.0}


def test_a_write_that_fails_counts_a_use_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = Usage(tmp_path, folder=tmp_path, clock=lambda: 0.0)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    usage.record(["a.py"])

    assert usage.scores() == {"a.py": 1.0}
