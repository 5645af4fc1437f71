"""What the tests of commands share."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.cli.main import main

Run = Callable[..., tuple[int, str, str]]
"""Runs a command in a small workspace, perhaps with ``piped`` input: its exit code, what it printed, what it told."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")

    def ran(*words: str, piped: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped.encode()), encoding="utf-8"))
        try:
            code = main(list(words))
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return ran
