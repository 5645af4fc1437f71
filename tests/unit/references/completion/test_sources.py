"""Menus over a real workspace: what they wait for, and what they do not wait for."""

import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.references.completion.symbols import Symbols


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
        while not (first := p.complete("@file:a", timeout=0)).items:
            pass
        while (later := p.complete("@file:a", timeout=0)).scanning:
            pass

    assert first.scanning
    assert {item.path for item in first.items} == {"a1.py", "a2.py"}
    assert [item.path for item in later.items] == ["a2.py", "a1.py"]


def test_the_first_menu_of_the_library_waits_for_the_list_of_files(tmp_path: Path) -> None:
    (tmp_path / "a1.py").write_text("def zebra() -> None: ...\n", encoding="utf-8")
    for text in ("@a1", "@symbol:zeb", "@glob:", "[["):
        (tmp_path / "note.md").write_text("note\n", encoding="utf-8")
        with Promptuary.open(tmp_path) as p:
            menu = p.complete(text)
            assert menu.items, text
            assert not menu.scanning


def test_a_menu_of_symbols_says_that_names_are_still_being_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a1.py").write_text("def zebra() -> None: ...\n", encoding="utf-8")
    read, released = Symbols._read, threading.Event()

    def slow(self: Symbols, path: str, language: str) -> Any:
        released.wait(30)
        return read(self, path, language)

    monkeypatch.setattr(Symbols, "_read", slow)
    with Promptuary.open(tmp_path) as p:
        early = p.complete("@symbol:zeb", timeout=0)
        assert (early.items, early.scanning) == ((), True)
        released.set()
        while not (later := p.complete("@symbol:zeb", timeout=0)).items:
            pass
        assert [item.insert for item in later.items] == ["@symbol:zebra"]
