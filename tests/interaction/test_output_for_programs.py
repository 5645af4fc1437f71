"""What other programs take from the commands: paths, lines, exit codes, requests of providers."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptuary.cli.main import main
from tests.conftest import Files


@pytest.fixture
def folder(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> Path:
    files({"notes/deploy.md": "# Deploy\n\nWe ship.\n\nThe deploy runs on Fridays.\n", "app.py": "x = 1\n"})
    root = next(path.parent for path in tmp_path.rglob("app.py"))
    monkeypatch.chdir(root)
    return root


def test_a_search_prints_paths_or_places_for_other_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "--no-embed", "-q", str(folder)]) == 0
    capsys.readouterr()

    assert main(["search", "--lexical", "-q", "-l", "deploy fridays"]) == 0
    assert capsys.readouterr().out == "notes/deploy.md\n"
    assert main(["search", "--lexical", "-q", "--lines", "deploy fridays"]) == 0
    assert "notes/deploy.md:5: The deploy runs on Fridays." in capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("folder")
def test_a_quiet_completion_is_what_to_insert_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "-q", "see @file:app"]) == 0
    assert capsys.readouterr().out == "@file:app.py\n"


def test_for_a_provider_without_a_thread_nothing_is_stored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["expand", "-q", "--for", "openai", "see @file:app.py"]) == 0

    (message,) = json.loads(capsys.readouterr().out)
    assert message["role"] == "user"
    assert "x = 1" in message["content"]
    assert not (folder / ".promptuary").exists()


@pytest.mark.usefixtures("folder")
def test_the_tokens_in_view_have_a_sum(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["context", "add", "app.py", "notes/deploy.md"]) == 0
    capsys.readouterr()
    assert main(["context", "list"]) == 0

    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line}
    assert int(rows["total"][1]) == int(rows["app.py"][-2]) + int(rows["notes/deploy.md"][-2])


@pytest.mark.parametrize(("message", "code"), [("@file:gone.py @file:large.txt", 1), ("@file:large.txt", 0)])
def test_a_closed_pipe_hides_no_failure(message: str, code: int, folder: Path) -> None:
    (folder / "large.txt").write_text("a line of text\n" * 20_000)
    with subprocess.Popen(
        [sys.executable, "-m", "promptuary", "expand", "-q", message],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.read(10)
        program.stdout.close()
        said = program.stderr.read()

    assert (program.returncode, said) == (code, b"")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["config"], 0),
        (["expand", "see @file:gone.py"], 1),
        (["memory", "list", "--json"], 1),
        (["index", "gone", "."], 1),
        (["thread", "show", "7"], 1),
        (["config", "--window", "x"], 2),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_nobody_reads_changes_no_exit_code(command: list[str], code: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    program = [sys.executable, "-m", "promptuary", *command]
    heard = subprocess.run(program, stdout=writer, stderr=subprocess.PIPE, check=False)
    unheard = subprocess.run(program, stdout=writer, stderr=writer, check=False)
    os.close(writer)

    assert (heard.returncode, unheard.returncode) == (code, code)
    assert b"Broken" not in heard.stderr
    assert b"Traceback" not in heard.stderr


@pytest.mark.usefixtures("folder")
def test_a_command_leaves_the_loggers_of_its_process_as_they_were(caplog: pytest.LogCaptureFixture) -> None:
    assert main(["config", "-q"]) == 0
    logging.getLogger("promptuary.somewhere").warning("this is heard")

    assert "this is heard" in caplog.text


@pytest.mark.parametrize(("flags", "heard"), [([], False), (["--debug"], True)])
@pytest.mark.usefixtures("folder")
def test_the_log_is_printed_with_debug_alone(flags: list[str], heard: bool) -> None:
    program = (
        "import logging, sys; from promptuary.cli.main import main; main(sys.argv[1:]); "
        "logging.getLogger('promptuary.somewhere').warning('something is odd')"
    )
    done = subprocess.run([sys.executable, "-c", program, "config", *flags], capture_output=True, text=True, check=True)

    assert ("something is odd" in done.stderr) == heard


INTERRUPTED_WHILE_PRINTING = """
import sys
from promptuary.cli import main

interrupted = False

def interrupt(frame, event, function):
    global interrupted
    if event == "c_return" and frame.f_code.co_name == "write" and frame.f_code.co_filename == main.__file__:
        if not interrupted and function.__name__ in ("write", "extend"):
            interrupted = True
            raise KeyboardInterrupt

sys.argv = ["promptuary", "search", "--lexical", "-q", "-l", "deploy fridays"]
sys.setprofile(interrupt)
main.run()
"""


def test_what_ctrl_c_interrupts_while_it_is_printed_is_printed_once(folder: Path) -> None:
    assert main(["index", "--no-embed", "-q", str(folder)]) == 0
    program = [sys.executable, "-c", INTERRUPTED_WHILE_PRINTING]

    ended = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (130, "notes/deploy.md\n"), ended.stderr


@pytest.mark.usefixtures("folder")
def test_every_answer_as_json_is_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    def answered(*words: str) -> dict[str, list[dict[str, str]]]:
        main([*words, "--json"])
        out, err = capsys.readouterr()
        assert out.startswith("{"), (words, err)
        shown: dict[str, list[dict[str, str]]] = json.loads(out)
        return shown

    (note,) = answered("remember", "I prefer tabs.")["notes"]
    (learnt,) = answered("experience", "add", "run the tests", "make test")["experiences"]
    answered("expand", "Look at @file:app.py")
    answered("expand", "Look at @file:app.py", "--thread", "t")
    answered("reply", "Hi.", "--thread", "t")
    answered("thread", "create", "narrow")
    for family, actions in {
        "memory": ("list", "search tabs", "show {}", "history {}", "diff {}", "adopt", "proposals", "export out"),
        "thread": (
            *("list", "history -t t", "show -t t", "replay -t t", "rename t u", "limits", "limits narrow"),
            *("audit app.py", "audit --turn 1 -t u", "refresh narrow", "archive narrow"),
        ),
        "context": ("list", "find app", "add app.py"),
        "experience": ("list", "find tests", "decay", "prune --dry-run"),
        "model": ("list",),
    }.items():
        for action in actions:
            answered(family, *action.format(note["id"]).split())
    for action in ("show", "feedback helped", "forget --yes"):
        answered("experience", *action.split(), learnt["id"])
    for action in ("archive", "archive --undo", "undo", "forget"):
        answered("memory", *action.split(), note["id"], *(["--yes"] if action == "forget" else []))
    answered("index", "--no-embed")
    for command in (
        "complete @file:a",
        "config",
        "doctor",
        "doctor --adopt",
        "index --list",
        "search deploy",
        "purge --dry-run",
    ):
        answered(*command.split())
    for command in (
        "backup all.zip",
        "restore all.zip --dry-run",
        "install codex --dry-run",
        "thread prune --older-than 1d --dry-run",
    ):
        answered(*command.split())
