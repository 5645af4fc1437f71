"""One door to the disk, to git and to the network, held by what the program does and not by how it is written.

``audited/door.py`` is the hook; ``tests/conftest.py`` has it watch every interaction test too, with the programs that
they start. What stands here shows that it sees what it should, and that the ordinary uses of every kind pass.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import promptuary
from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from promptuary.layers.layer import Layer
from promptuary.testing.loopback import Loopback, answer
from tests.architecture.audited import door
from tests.conftest import Files, git, watched

PACKAGE = Path(promptuary.__file__).parent

DEEDS = {
    "open": "open(path).close()",
    "os.open": "os.close(os.open(path, os.O_RDONLY))",
    "os.open of a relative path": "os.close(os.open(os.path.relpath(path), os.O_RDONLY))",
    "Path.read_text": "Path(path).read_text()",
    "Path.write_text": "Path(path).write_text('mine')",
    "Path.unlink": "Path(path).unlink()",
    "Path.iterdir": "list(Path(folder).iterdir())",
    "Path.glob": "list(Path(folder).glob('*'))",
    "os.listdir": "os.listdir(folder)",
    "os.listdir of where one is": "os.listdir()",
    "os.chdir": "os.chdir(folder)",
    "os.scandir": "os.scandir(folder).close()",
    "os.walk": "list(os.walk(folder))",
    "os.mkdir": "os.mkdir(folder + '/new')",
    "os.rename": "os.rename(path, folder + '/other')",
    "os.symlink": "os.symlink('/etc/passwd', folder + '/link')",
    "shutil.copyfile": "shutil.copyfile(path, '/dev/null')",
    "sqlite3.connect": "sqlite3.connect(folder + '/new.db').close()",
    "what is private": "open(folder + '/.promptuary/own.txt', 'w').close()",
    "through a link": "os.symlink(folder, outside); open(outside + '/a.md').close()",
    "through a descriptor": "one = os.open('/', 0); open(f'/proc/self/fd/{one}{path}').close(); os.close(one)",
    "in a thread": "thread = threading.Thread(target=Path(path).read_text); thread.start(); thread.join()",
    "os.system": "os.system('true')",
    "os.execv": "os.execv('/nowhere', ['nowhere'])",
    "os.posix_spawn": "os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)",
    "subprocess.run": "subprocess.run(['true'])",
    "socket.connect": "socket.create_connection(('127.0.0.1', 9), 1)",
    "socket.getaddrinfo": "socket.getaddrinfo('localhost', 80)",
}
"""What a module could do behind the door's back."""

EVERY_KIND = (
    "@file:src/app.py:1 @folder:src @glob:**/*.md @diff @staged @status @git:1 @commit:HEAD @symbol:main #docs/style.md"
)

IMPORTS = "import os, shutil, socket, sqlite3, subprocess, threading; from pathlib import Path\n"


def planted(module: str, deed: str) -> CodeType:
    """Return a function of that body, compiled as if it stood in a module of the package."""
    source = f"{IMPORTS}def do(path, folder, outside):\n    try:\n        {deed}\n    except OSError:\n        pass\n"
    return compile(source, str(PACKAGE / module), "exec")


def run(module: str, deed: str, workspace: Path) -> None:
    found: dict[str, Any] = {}
    exec(planted(module, deed), found)
    found["do"](str(workspace / "a.md"), str(workspace), str(workspace.parent.parent / "outside"))


@pytest.fixture
def project(files: Files) -> Path:
    """Return a workspace in which somebody has worked: a part of it is the program's own."""
    return files({"a.md": "One.\n", ".promptuary/mine.txt": "1"})


@pytest.fixture
def watcher(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[door.Watch]:
    monkeypatch.chdir(workspace)  # and back again, whatever a deed does
    with watched(workspace, monkeypatch) as one:
        yield one


class Planted(Layer):
    """A layer that does what it must not."""

    id = "planted"

    def __init__(self, deed: str, workspace: Path) -> None:
        self._deed, self._workspace = deed, workspace

    async def recall(self, *_: object) -> None:
        run("layers/planted.py", self._deed, self._workspace)


@pytest.mark.parametrize("deed", DEEDS.values(), ids=DEEDS)
def test_a_layer_that_goes_behind_the_door_is_found_out(deed: str, project: Path, watcher: door.Watch) -> None:
    with Promptuary.open(project, exact=True, layers=[Planted(deed, project)], embedder="none") as opened:
        opened.threads.prepare("Hello")

    assert watcher.found
    assert {line.rpartition(" by ")[2] for line in watcher.found} <= {
        "layers/planted.py",
        "a thread without a module of ours",
    }


@pytest.mark.parametrize(
    ("module", "path", "allowed"),
    [
        ("workspace/planted.py", "a.md", True),
        ("workspace/disk/planted.py", ".promptuary/mine.txt", True),
        ("database/planted.py", ".promptuary/mine.txt", True),
        ("database/planted.py", "a.md", False),
        ("base/durable.py", ".promptuary/mine.txt", True),
        ("durable.py", "a.md", False),
        ("layers/planted.py", ".promptuary/mine.txt", False),
        ("engine.py", "a.md", False),
        ("workspaces.py", "a.md", False),
    ],
)
def test_the_door_opens_everything_and_the_store_what_is_its_own(
    module: str, path: str, allowed: bool, project: Path, watcher: door.Watch
) -> None:
    run(module, f"open(folder + '/{path}').close()", project)

    assert watcher.found == ([] if allowed else [f"open of {project / path} by {module}"])


def test_what_a_test_or_an_import_opens_is_its_own_affair(project: Path, watcher: door.Watch) -> None:
    (project / "a.md").read_text()
    (project / "one.py").write_text("")
    run("layers/planted.py", "import sys; sys.path.insert(0, folder); import one; sys.path.remove(folder)", project)

    assert watcher.found == []


def test_a_program_that_a_test_starts_watches_itself(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = str(PACKAGE / "layers" / "planted.py")
    program = f"""exec(compile("import os; os.listdir('.'); os.system('true')", {name!r}, "exec"))"""
    with watched(tmp_path, monkeypatch) as watcher:
        subprocess.run([sys.executable, "-c", program], cwd=project, check=True)

    assert watcher.found == [
        f"os.listdir of {project} by layers/planted.py",
        "os.system of b'true' by layers/planted.py",
    ]


def test_everything_that_the_commands_do_goes_through_the_door(
    files: Files,
    repository: Path,
    watcher: door.Watch,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    monkeypatch.setenv("PROMPTUARY_ALLOW_HOSTS", "127.0.0.1")
    files({"src/app.py": "def main() -> None:\n    pass\n", "docs/style.md": "# Style\n\nBe brief.\n"})
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Begin")
    files({"src/app.py": "def main() -> None:\n    print()\n", "AGENTS.md": "Follow @docs/style.md.\n"})
    with Loopback({"/page": answer("<p>A page.</p>")}) as server:
        every = f"{EVERY_KIND} @url:{server.url('/page')}"
        commands = [
            ["expand", every],
            ["complete", "@file:st"],
            ["complete", "#src/"],
            ["config"],
            ["index"],
            ["search", "brief"],
            ["expand", "--thread", "main", f"{every} @search:brief"],
            ["context", "add", "src/app.py", "@diff"],
            ["context", "pin", "src/app.py"],
            ["context", "list"],
            ["context", "find", "style"],
            ["thread", "list"],
            ["thread", "show"],
            ["thread", "replay"],
            ["index", "--rebuild"],
        ]
        for command in commands:
            code = main(command)
            out, err = capsys.readouterr()
            assert code == 0, (command, out, err)

    assert watcher.found == []
    seen = {"workspace open", "workspace os.scandir", "workspace subprocess.Popen", "workspace socket.connect"}
    assert set(watcher.passed) >= seen | {"database sqlite3.connect"}


def test_a_turn_with_a_layer_that_keeps_to_the_rules_goes_through_the_door(project: Path, watcher: door.Watch) -> None:
    with Promptuary.open(project, exact=True, layers=[Planted("pass", project)], embedder="none") as opened:
        turn = opened.threads.prepare("See @file:a.md and #a.md")
        opened.threads.finish(turn, "Seen.")
        opened.threads.abandon(opened.threads.prepare("Again"))
        opened.threads.history()

    assert watcher.found == []
    assert watcher.passed["database sqlite3.connect"] > 0
