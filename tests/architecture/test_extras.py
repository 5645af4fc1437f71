"""Hints name extras that can be installed, and one place spells the command."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from promptuary.core.errors import how_to_install

PROJECT = Path(__file__).parents[2]
SOURCES = {path: path.read_text() for path in (PROJECT / "src").rglob("*.py")}


def test_every_extra_that_a_hint_names_exists() -> None:
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {name for text in SOURCES.values() for name in re.findall(r"how_to_install\([\"']([^\"']+)", text)}

    assert {"embeddings", "languages"} <= named <= set(extras)


def test_one_place_spells_how_to_install() -> None:
    assert [path.name for path, text in SOURCES.items() if "pip install" in text] == ["errors.py"]


def test_who_has_it_from_pipx_is_told_of_pipx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/usr")
    assert how_to_install("languages") == "pip install 'promptuary[languages]'"
    monkeypatch.setattr(sys, "prefix", "/home/ada/.local/share/pipx/venvs/promptuary")
    assert how_to_install("languages") == "pipx runpip promptuary install 'promptuary[languages]'"
