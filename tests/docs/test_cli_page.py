"""The page about the command line: its JSON has the shape of what the commands print."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Files

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
EXPAND, SEARCH = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))


def printed(folder: Path, *arguments: str) -> Any:
    command = [sys.executable, "-m", "promptuary", *arguments, "--json", "--workspace", str(folder)]
    return json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout)


def keys_of_row(start: str) -> Sequence[str]:
    """Return the keys that a row names, without those in brackets, which belong to what is before them."""
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{start}` |"))
    return re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", row.split("|")[2]))


def test_expand_prints_the_object_of_the_page(files: Files) -> None:
    said = printed(files({"a.py": "x = 1\n" * 40}), "expand", "@file:a.py:10-20")

    assert said.keys() == EXPAND.keys()
    assert said["references"][0].keys() == EXPAND["references"][0].keys()
    assert said["tokens"].keys() == EXPAND["tokens"].keys()


def test_index_and_search_print_the_objects_of_the_page(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    folder = files({"lunch.md": "# Lunch\n\nThe canteen opens at noon.\n"})
    indexed = printed(folder, "index")
    found = printed(folder, "search", "canteen", "--lexical")

    assert {*keys_of_row("index --json"), *keys_of_row("index --list --json")} == indexed.keys()
    assert found.keys() == SEARCH.keys()
    assert found["hits"][0].keys() == SEARCH["hits"][0].keys()


def test_ask_prints_the_keys_of_the_page(files: Files) -> None:
    configuration = Path.home() / ".config" / "promptuary" / "config.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text('answer_model = "demo"\n[models.demo]\nscripted = ["Yes."]\n', encoding="utf-8")

    said = printed(files({}), "ask", "Is it so?")

    assert said.keys() == set(keys_of_row("ask --json")) - {"error"}
