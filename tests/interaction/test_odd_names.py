"""Names and texts that are not UTF-8 or hold a line break, and locales that are not UTF-8."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptuary.base.errors import Code
from promptuary.blocking import Promptuary
from promptuary.search.values import note_text
from tests.conftest import Files

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PROMPTUARY_EMBEDDER": "none"}


def run(folder: Path, *words: str | bytes, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "promptuary", *words, "--workspace", str(folder)]
    environment = {**os.environ, "PROMPTUARY_EMBEDDER": "none", **more}
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", env=environment, timeout=60)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["complete", "@bär"], "@bär.md"),
        (["complete", "@b"], "@bär.md"),
        (["expand", "@bär.md"], "Käse"),
        (["context", "find", "bär"], "bär.md"),
        (["remember", "Der Käse ist alt."], "Käse"),
        (["expand", "--thread", "ö", "Wörter"], "Wörter"),
    ],
)
def test_a_locale_without_umlauts_changes_nothing(files: Files, words: list[str], shown: str) -> None:
    done = run(files({"bär.md": "Käse\n"}), *words, **ASCII)

    assert shown in done.stdout + done.stderr
    assert done.returncode == 0


def test_what_cannot_be_named_is_left_out_of_the_index_and_said(workspace: Path) -> None:
    for name in (b"na\xffme.md", b"new\nline.md", b"plain.md"):
        (workspace / os.fsdecode(name)).write_text("words\n")
    with Promptuary.open(workspace, embedder="none") as promptuary:
        report = promptuary.search.index(workspace)
        (note,) = report.notes()
        later = promptuary.search.find("words").notes

    assert list(report.skipped.values()) == [Code.BAD_NAME] * 2
    assert "new⏎line.md (BAD_NAME)" in note_text(note)
    assert "rename what has no valid name" in note_text(note)
    assert later == ()
    said = run(workspace, "index", "--json")
    assert json.loads(said.stdout)["skipped"] == {"BAD_NAME": 2}


@pytest.mark.parametrize("words", [["remember"], ["memory", "write"], ["experience", "add"]])
def test_bytes_that_are_not_text_are_not_stored_as_something_else(workspace: Path, words: list[str]) -> None:
    done = run(workspace, *words, b"caf\xe9 is closed")

    assert (done.returncode, "not valid UTF-8" in done.stderr) == (2, True)
    assert not (workspace / ".promptuary").exists()
