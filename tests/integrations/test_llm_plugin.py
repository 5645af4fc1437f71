"""The plug-in of ``llm``, in the real command, against a model on loopback."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from promptuary.testing.chat_server import ChatServer, Says
from tests.conftest import Files
from tests.integrations.scenario import FILES, HOSTILE, NOTE, Model, check_held, opened, whole

pytest.importorskip("llm")

import llm.cli
import sqlite_utils
from click.testing import CliRunner
from llm.migrations import migrate
from llm.plugins import load_plugins, pm

from promptuary.integrations import llm_plugin

ROOT = Path(__file__).parents[2]
Llm = Callable[..., str]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new database of ``llm``: making it takes longer than all else that a test does."""
    path = tmp_path_factory.mktemp("llm") / "logs.db"
    database = sqlite_utils.Database(path)
    migrate(database)  # type: ignore[no-untyped-call]
    database.close()
    return path


def configured(server: ChatServer, folder: Path, logs: Path) -> Path:
    """Tell ``llm`` of a model on loopback, as a person does."""
    folder.mkdir(exist_ok=True)
    shutil.copy(logs, folder)
    model = {"model_id": "loopback", "model_name": "gpt-5", "api_base": server.openai_url, "supports_tools": True}
    (folder / "extra-openai-models.yaml").write_text(json.dumps([model]), encoding="utf-8")
    return folder


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(Model().reply) as one:
        yield one


@pytest.fixture
def run(server: ChatServer, files: Files, tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch) -> Llm:
    """Run ``llm`` in a workspace."""
    monkeypatch.chdir(files(FILES))
    monkeypatch.setenv("LLM_USER_PATH", str(configured(server, tmp_path / "llm", logs)))
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    load_plugins()  # type: ignore[no-untyped-call]
    if not pm.is_registered(llm_plugin):
        pm.register(llm_plugin)

    def invoke(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(llm.cli.cli, ["prompt", "-m", "loopback", "--no-stream", *arguments])
        assert done.exit_code == code, done.output
        return done.output

    return invoke


def test_the_package_announces_the_plug_in() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert project["entry-points"]["llm"] == {"promptuary": llm_plugin.__name__}


def test_ten_turns_with_references_tools_memory_and_a_restart(run: Llm, server: ChatServer, files: Files) -> None:
    tools = ("-T", "write_memory", "-T", "search_recall_memories", "--td")
    run("-f", "promptuary:@file:a.py", "Turn 1: what is the limit?")
    run("-c", "Turn 2: and why?")
    run("-c", *tools, "Turn 3: releases go out on Mondays, remember that.")
    run("-c", "-f", "promptuary:b.md", "Turn 4: what is the plan?")
    files({"b.md": "The second version of the plan.\n"})
    run("-c", "-f", "promptuary:b.md", "Turn 5: has the plan changed?")  # each run is a start of the program
    run("-c", "Turn 6: what did I ask first?")
    run("-c", "-f", "promptuary:glob:*.py", "Turn 7: which files are there?")
    run("-c", "Turn 8: tell me about handles.")
    run("-f", 'promptuary:Mind @memory:"releases" and @file:a.py', "Turn 9: when do releases go out?")
    run("-c", *tools, "Turn 10: search your notes.")

    every = [whole(one) for one in server.asked]
    assert "LIMIT = 41" in every[0]
    assert "The second version" in next(one for one in every if "Turn 5" in one)
    assert "Turn 1" in next(one for one in every if "Turn 6" in one)
    ninth = next(one for one in every if "Turn 9" in one)
    assert NOTE in ninth
    assert "Turn 3" not in ninth
    assert NOTE in every[-1]
    assert not any("Nobody asked for the contents of c" in one for one in every)
    with opened(Path.cwd()) as p:
        assert [header.title for header in p.memory.list()] == ["Release day"]


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("@file:a.py", "LIMIT = 41"),
        ("a.py", "LIMIT = 41"),
        ("file:a.py:1", "LIMIT = 41"),
        ("Compare @a.py with @b.md", "Compare @a.py with @b.md"),
    ],
)
def test_a_fragment_is_what_a_reference_points_at(run: Llm, server: ChatServer, argument: str, expected: str) -> None:
    run("-f", f"promptuary:{argument}", "Turn 1: go")

    assert expected in whole(server.asked[0])
    assert whole(server.asked[0]).count("# Message") == int(" " in argument)


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("@file:missing.py", "missing.py"),
        ("@file:../../etc/passwd", "etc/passwd"),
        ("words alone", "points at nothing"),
        ("", "points at nothing"),
    ],
)
def test_a_fragment_of_nothing_is_refused_before_the_model_is_asked(
    run: Llm, server: ChatServer, argument: str, reason: str
) -> None:
    assert reason in run("-f", f"promptuary:{argument}", "Turn 1: go", code=1)
    assert server.asked == []


def test_no_file_breaks_out_of_its_block(run: Llm, server: ChatServer, files: Files) -> None:
    files({"h.md": HOSTILE})

    run("-f", "promptuary:h.md", "Turn 1: go")

    check_held(whole(server.asked[0]), times=1)


def test_the_command_itself_finds_fragments_and_tools(files: Files, tmp_path: Path, logs: Path) -> None:
    program = (
        "from llm.plugins import load_plugins, pm; from promptuary.integrations import llm_plugin; load_plugins(); "
        "pm.is_registered(llm_plugin) or pm.register(llm_plugin); from llm.cli import cli; cli()"
    )
    with ChatServer([Says("41.")]) as server:
        environment = os.environ | {
            "LLM_USER_PATH": str(configured(server, tmp_path / "llm", logs)),
            "OPENAI_API_KEY": "any",
        }
        done = subprocess.run(
            [sys.executable, "-c", program, "-m", "loopback", "-f", "promptuary:@file:a.py", "What is the limit?"],
            cwd=files(FILES),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert (done.stdout, done.returncode) == ("41.\n", 0), done.stderr
    assert "LIMIT = 41" in whole(server.asked[0])
