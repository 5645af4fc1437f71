"""Hints name extras that can be installed, and one place spells the command."""

import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from promptuary.base.errors import how_to_install

PROJECT = Path(__file__).parents[2]
SOURCES = {path: path.read_text() for path in (PROJECT / "src").rglob("*.py")}


def test_every_extra_that_a_hint_names_exists() -> None:
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {name for text in SOURCES.values() for name in re.findall(r"how_to_install\([\"']([^\"']+)", text)}

    assert {"embeddings", "languages"} <= named <= set(extras)


def test_one_place_spells_how_to_install() -> None:
    assert [path.name for path, text in SOURCES.items() if "pip install" in text] == ["errors.py"]


def test_a_hint_names_the_packages_and_the_installation_because_the_name_promptuary_is_not_ours_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "prefix", "/usr")
    assert how_to_install("chat") == f"{sys.executable} -m pip install 'prompt-toolkit<4,>=3.0.52' 'rich>=14'"
    monkeypatch.setattr(sys, "prefix", "/home/ada/.local/share/pipx/venvs/promptuary")
    assert how_to_install("mcp") == "pipx runpip promptuary install 'mcp<3,>=2'"
    assert how_to_install("keyring", again=True) == "pipx runpip promptuary install --force-reinstall 'keyring>=25'"
    monkeypatch.setattr(sys, "prefix", "/usr")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert how_to_install("mcp") == f"uv pip install --python {sys.executable} 'mcp<3,>=2'"


def test_what_a_hint_tells_to_install_is_what_the_extra_has() -> None:
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, wanted in extras.items():
        told = shlex.split(how_to_install(extra))[4:]
        assert sorted(re.split("[<>=]", one)[0].replace(".", "-") for one in told) == sorted(
            re.split("[<>=]", one)[0].replace(".", "-") for one in wanted
        )
