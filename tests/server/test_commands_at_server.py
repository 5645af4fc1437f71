"""Commands with ``--server`` do with a workspace at a server what they do with its folder."""

import json
import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from promptuary.cli.main import main
from promptuary.testing.chat_server import ChatServer, Says
from promptuary.workspace.programs.agents.token import store_token
from tests.conftest import Files
from tests.server.conftest import StartServer

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_command(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return run_command


@pytest.fixture
def at_server(start_server: StartServer, files: Files, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a server of the workspace, in which something of every kind is stored."""
    files({"a.txt": "the text of a\n", "docs/deploy.md": "# Deploy\n\nWe deploy with make ship.\n"})
    monkeypatch.chdir(workspace.parent)
    server = start_server()
    monkeypatch.setenv("PROMPTUARY_TOKEN", server.create())
    folder = ("-w", str(workspace), "-q")
    main(["index", *folder, str(workspace / "docs")])
    main(["expand", *folder, "-t", "review", "Look at @file:a.txt and #docs/deploy.md"])
    main(["reply", *folder, "-t", "review", "It is fine."])
    main(["memory", "write", *folder, "--kind", "project", "--title", "Deploys", "We deploy on Fridays."])
    main(["experience", "add", *folder, "fix the build"])
    return server.base


READING = [
    "expand 'Compare @file:a.txt'",
    "expand --json 'Compare @file:a.txt'",
    "expand --for anthropic 'Compare @file:a.txt'",
    "complete @file:a",
    "complete --json @file:",
    "context list -t review",
    "context find deploy",
    "thread list",
    "thread list --json",
    "thread show -t review",
    "thread history -t review",
    "thread replay -t review",
    "thread audit a.txt",
    "thread export -t review --format md",
    "search ship --lexical",
    "memory list",
    "memory list --json",
    "memory search 'when do we deploy?'",
    "memory show Deploys",
    "memory proposals",
    "experience list",
    "experience find build",
    "thread show -t unknown",
    "memory show 0000",
    "memory history 0000",
]


@pytest.mark.parametrize("command", READING)
def test_a_command_prints_the_same_for_a_server_as_for_its_folder(
    command: str, at_server: str, workspace: Path, run: Run
) -> None:
    words = shlex.split(command)

    there = run(*words, "--server", at_server)
    here = run(*words, "-w", str(workspace))

    assert there == here


def test_what_is_written_through_a_server_is_in_the_folder(at_server: str, workspace: Path, run: Run) -> None:
    server, folder = ("--server", at_server), ("-w", str(workspace))
    for command in (
        ["remember", "We use tabs in this project."],
        ["expand", "-q", "-t", "new", "Hello @file:a.txt"],
        ["reply", "-t", "new", "Good day."],
        ["thread", "rename", "-t", "new", "newer"],
        ["context", "add", "-t", "newer", "docs/deploy.md"],
        ["experience", "add", "write the changelog"],
    ):
        code, _, err = run(*command, *server)
        assert code == 0, err

    assert "tabs" in run("memory", "list", *folder)[1]
    assert "Good day." in run("thread", "history", "-t", "newer", *folder)[1]
    assert "docs/deploy.md" in run("context", "list", "-t", "newer", *folder)[1]
    assert "changelog" in run("experience", "list", *folder)[1]


def test_files_and_editors_are_those_of_the_person(
    at_server: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, exported = ("--server", at_server), tmp_path / "review.json"
    edited = tmp_path / "edit"
    edited.write_text('#!/bin/sh\nsed -i s/Fridays/Mondays/ "$1"\n')
    edited.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(edited))
    monkeypatch.setattr("promptuary.cli.memory.writing.is_terminal", lambda _: True)
    (note,) = json.loads(run("memory", "list", "--json", *server)[1])["notes"]

    assert run("thread", "export", "-t", "review", str(exported), *server)[0] == 0
    assert run("thread", "import", str(exported), "-t", "copy", *server)[0] == 0
    assert run("memory", "edit", note["id"], *server)[0] == 0

    assert "It is fine." in run("thread", "history", "-t", "copy", *server)[1]
    assert "We deploy on Mondays." in run("memory", "show", note["id"], *server)[1]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            ["expand", "--window", "8k", "hello"],
            "--window cannot be combined with a server, which has its own settings",
        ),
        (["expand", "--set", "timeout=3", "hello"], "--set timeout cannot be combined with a server"),
        (["expand", "-w", "another", "hello"], "there is nothing at this address for this token"),
        (["memory", "import", "notes"], "memory.import_notes works only where the files are"),
    ],
)
def test_what_makes_no_sense_there_is_said(command: Sequence[str], why: str, at_server: str, run: Run) -> None:
    code, out, err = run(*command, "--server", at_server)

    assert (code, out) == (2, "")
    assert why in err


def test_a_command_that_needs_the_folder_does_not_take_a_server(at_server: str, run: Run) -> None:
    code, _, err = run("doctor", "--server", at_server)

    assert code == 2
    assert "unrecognized arguments: --server; promptuary doctor works where the files are" in err


def test_the_server_of_the_configuration_is_used_unless_a_folder_is_named(
    at_server: str, workspace: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTUARY_SERVER", at_server)

    assert "Deploys" in run("memory", "list")[1]
    assert "Deploys" in run("memory", "list", "-w", str(workspace))[1]
    assert run("memory", "list", "--server", "none")[1] == ""
    assert "unrecognized" not in run("config", "get", "server")[2]


def test_a_clone_cannot_send_messages_to_a_server(
    workspace: Path, files: Files, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    files({"promptuary.toml": 'server = "http://127.0.0.1:9"\n'})
    monkeypatch.chdir(workspace)

    code, out, err = run("expand", "hello")

    assert (code, out) == (0, "hello\n")
    assert "server in promptuary.toml is ignored: a workspace cannot set it" in err


def test_the_token_of_this_machine_is_used_for_its_own_server_and_sent_to_no_other(
    at_server: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_token("serve", os.environ["PROMPTUARY_TOKEN"])
    monkeypatch.delenv("PROMPTUARY_TOKEN")

    assert "Deploys" in run("memory", "list", "--server", at_server)[1]
    code, _, err = run("memory", "list", "--server", "https://ai.example.org")
    assert (code, "needs a token of its own" in err) == (2, True)


def test_one_of_several_workspaces_is_named_by_the_flag_or_by_the_address(
    start_server: StartServer, workspace: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (other := tmp_path / "other").mkdir()
    for number in range(120):  # more than a page
        main(["memory", "write", "-q", "-w", str(other), f"Note number {number}."])
    server = start_server(folders={"app": workspace, "other": other})
    monkeypatch.setenv("PROMPTUARY_TOKEN", server.create())

    named = json.loads(run("memory", "list", "--limit", "1000", "--json", "--server", server.base, "-w", "other")[1])
    address = json.loads(run("memory", "list", "--limit", "1000", "--json", "--server", f"{server.base}/w/other")[1])
    code, _, err = run("memory", "list", "--server", server.base)

    assert [len(found["notes"]) for found in (named, address)] == [120, 120]
    assert (code, "name one in the address, as in /w/NAME" in err) == (2, True)


def test_a_question_is_answered_by_the_model_of_the_server(
    start_server: StartServer, files: Files, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    files({"a.txt": "the text of a\n"})
    with ChatServer([Says("It rains in Paris.")]) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-server")
        server = start_server(settings={"answer_model": "gpt-5-mini"})
        monkeypatch.setenv("PROMPTUARY_TOKEN", server.create())

        code, out, err = run("ask", "How is it? @file:a.txt", "-t", "w", "--server", server.base)

        assert (code, out) == (0, "It rains in Paris.\n"), err
        assert "How is it?" in run("thread", "history", "-t", "w", "--server", server.base)[1]


def test_without_a_model_at_the_server_what_would_be_sent_is_shown(at_server: str, run: Run) -> None:
    code, out, err = run("ask", "How is it? @file:a.txt", "--server", at_server)

    assert code == 1
    assert "the text of a" in out
    assert "answer_model" in err


def test_a_prompt_by_name_is_filled_where_its_file_is(at_server: str, workspace: Path, run: Run) -> None:
    code, _, err = run("ask", "-p", "review", "--server", at_server)

    assert code == 2
    assert "prompts.get works only where the files are; run it at the server's machine" in err
