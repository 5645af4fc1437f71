"""``promptuary watch``, as a person or a script runs it."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from promptuary.cli.main import main
from promptuary.cli.search.watch import UpdatePrinter
from promptuary.search.index.generations import Generations
from promptuary.search.values import ChunksEmbedded, UpdateFailed, WatchModeChanged
from tests.conftest import Files

PROMPTUARY = [sys.executable, "-m", "promptuary"]


@pytest.fixture(autouse=True)
def _by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here needs a model."""
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")


@pytest.fixture
def project(files: Files) -> Path:
    return files({"a.md": "One.\n"})


@contextmanager
def watching(project: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [*PROMPTUARY, "watch", *arguments]
    running = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


def until(stream: IO[str] | None, wanted: str) -> list[str]:
    """Return the lines up to the first that has ``wanted`` in it."""
    assert stream
    lines: list[str] = []
    for line in stream:
        lines.append(line)
        if wanted in line:
            return lines
    raise AssertionError(f"{wanted} is not in {lines}")


def events(stream: IO[str] | None, wanted: str) -> list[Any]:
    return [json.loads(line) for line in until(stream, f'"event": "{wanted}"')]


def found(project: Path, words: str) -> bool:
    return main(["search", "--quiet", "--workspace", str(project), words]) == 0


def arrives(path: Path, text: str) -> None:
    """Put a file there at once: one that is still empty when it is seen would be indexed twice."""
    beside = path.parent.parent / path.name
    beside.write_text(text)
    beside.rename(path)


def test_the_workspace_is_indexed_first_and_then_kept_up_to_date(project: Path) -> None:
    with watching(project) as running:
        told = until(running.stderr, "Ctrl-C")
        assert told == [
            f"nothing is indexed yet; indexing {project}\n",
            f"watching {project}\n",
            "press Ctrl-C to stop\n",
        ]
        assert until(running.stdout, "indexed")[0].startswith("indexed 1 file (1 new)")
        arrives(project / "b.md", "A zebra.\n")
        assert re.fullmatch(r"\d\d:\d\d:\d\d synced: 1 new\n", until(running.stdout, "synced")[-1])
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)

    assert (running.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_json_is_an_object_a_line(project: Path) -> None:
    with watching(project, "--json") as running:
        told = events(running.stdout, "watching")
        assert [one["event"] for one in told] == ["indexed", "watching"]
        assert (told[0]["added"], told[0]["folders"][0]["path"]) == (1, str(project))
        assert told[1]["folders"] == [str(project)]
        arrives(project / "b.md", "A zebra.\n")
        synced = events(running.stdout, "synced")[-1]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}", synced["time"])
        assert (synced["added"], synced["changed"], synced["moved"], synced["removed"]) == (1, 0, 0, 0)


def test_what_was_indexed_before_is_watched_and_nothing_else(project: Path, files: Files) -> None:
    files({"docs/a.md": "Two.\n"})
    main(["index", "--quiet", "--workspace", str(project), str(project / "docs")])
    with watching(project, "--json") as running:
        told = events(running.stdout, "watching")
        assert [one["event"] for one in told] == ["watching"]
        assert told[0]["folders"] == [str(project / "docs")]


def test_a_closed_pipe_ends_it(project: Path) -> None:
    with watching(project, "--json") as running:
        events(running.stdout, "watching")
        assert running.stdout
        running.stdout.close()
        running.stdout = None
        for number in range(200):
            arrives(project / "b.md", f"Zebra {number}.\n")
            try:
                running.wait(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                continue
        assert running.returncode == 0
        assert running.stderr
        assert running.stderr.read() == f"nothing is indexed yet; indexing {project}\n"


def test_index_brings_everything_up_to_date_and_ends(
    project: Path, files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    index = ["index", "--workspace", str(project)]
    assert main(index) == 0
    out, err = capsys.readouterr()
    assert out.startswith("indexed 1 file (1 new)")
    assert err == f"indexing {project}\n"
    files({"b.md": "A zebra.\n"})
    assert main([*index, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["added"], done["files"]) == (1, 2)
    assert found(project, "zebra")


def test_a_failure_is_told_once_and_not_all_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    printer = UpdatePrinter(as_json=False, quiet=False)
    for _ in range(3):
        printer.show(UpdateFailed("the disk is full\x1b[31m"))
    printer.show(UpdateFailed("the disk is on fire"))
    printer.show(ChunksEmbedded(1_200))
    printer.show(ChunksEmbedded(34))
    printer.flush()
    printer.flush()
    out, err = capsys.readouterr()

    assert [line.partition(" ")[2] for line in err.splitlines()] == [
        "the disk is full⟨U+001B⟩[31m",
        "the disk is on fire",
    ]
    assert [line.partition(" ")[2] for line in out.splitlines()] == ["embedded 1,234 chunks"]


def test_while_chunks_are_left_to_embed_the_rate_and_the_time_left_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for as_json in (False, True):
        printer = UpdatePrinter(as_json=as_json, quiet=False)
        printer.show(ChunksEmbedded(30, 1_050, 2.0))
        printer.show(ChunksEmbedded(50, 1_000, 2.0))
        printer.flush()
        printer.show(ChunksEmbedded(1_000, 0, 50.0))
        printer.flush()
    out, _ = capsys.readouterr()
    told = out.splitlines()

    assert [line.partition(" ")[2] for line in told[:2]] == [
        "embedded 80 chunks (20.0/s; 1,000 left, 50 s)",
        "embedded 1,000 chunks",
    ]
    assert [(one["chunks"], one["left"], one["seconds"]) for one in map(json.loads, told[2:])] == [
        (80, 1_000, 4.0),
        (1_000, 0, 50.0),
    ]


def test_how_changes_are_noticed_is_told_unless_it_is_to_be_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    for as_json, quiet in ((False, False), (False, True), (True, True)):
        printer = UpdatePrinter(as_json=as_json, quiet=quiet)
        printer.show(WatchModeChanged("events"))
        printer.show(UpdateFailed("the disk is full"))
    out, err = capsys.readouterr()

    noticing, *full = [line.partition(" ")[2] for line in err.splitlines()]
    assert (noticing, full) == ("detecting changes by events", ["the disk is full"] * 2)
    assert [json.loads(line)["event"] for line in out.splitlines()] == ["mode", "note"]


def test_who_watches_quietly_hears_of_results_alone(project: Path) -> None:
    with watching(project, "--quiet") as running:
        assert until(running.stdout, "indexed")[0].startswith("indexed 1 file (1 new)")
        arrives(project / "b.md", "A zebra.\n")
        until(running.stdout, "synced")
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)

    assert err == ""


def test_another_process_that_indexes_is_waited_for_and_told_so(project: Path) -> None:
    main(["index", "--quiet", "--workspace", str(project)])
    with Generations(project / ".promptuary" / "index").lock() as alone:
        assert alone
        arrives(project / "b.md", "A zebra.\n")
        with watching(project) as running:
            told = until(running.stderr, "another process")[-1].strip()
    assert told.partition(" ")[2] == "another process is indexing; the latest changes are not in the index yet"


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_if_nothing_could_be_done_the_exit_code_is_2(
    project: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    main(["index", "--quiet", "--workspace", str(project)])
    capsys.readouterr()
    with Generations(project / ".promptuary" / "index").lock():
        assert main(["index", *more, "--workspace", str(project)]) == 2
    told = "promptuary: another process is indexing this workspace; try again when it is done\n"
    out, err = capsys.readouterr()
    assert (out, err.endswith(told)) == ("", True)


def test_a_word_is_wrong_usage(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "--workspace", str(project), "docs"]) == 2
    assert "unrecognized arguments: docs" in capsys.readouterr().err
