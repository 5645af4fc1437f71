"""Menus over a real workspace: what they wait for, and what they do not wait for."""

import shutil
import subprocess
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary


def test_no_key_waits_for_a_git_that_takes_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git, workspace, programs = shutil.which("git"), tmp_path / "work", tmp_path / "bin"
    workspace.mkdir()
    programs.mkdir()
    for name in ("a1.py", "a2.py"):
        (workspace / name).write_text("x = 1\n", encoding="utf-8")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=workspace, check=True)
    (workspace / "a2.py").write_text("x = 2\n", encoding="utf-8")
    slow = programs / "git"
    slow.write_text(f'#!/bin/sh\nsleep 0.2\nexec "{git}" "$@"\n', encoding="utf-8")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")

    with Promptuary.open(workspace) as p:
        while not (first := p.complete("@file:a")).items:
            pass
        while (later := p.complete("@file:a")).scanning:
            pass

    assert first.scanning
    assert {item.path for item in first.items} == {"a1.py", "a2.py"}
    assert [item.path for item in later.items] == ["a2.py", "a1.py"]
