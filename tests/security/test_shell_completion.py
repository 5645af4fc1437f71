"""Names that others chose, at every completion of a real shell: pressing Tab and Enter runs nothing.

Each name is completed in an interactive shell at a pseudo-terminal and entered. A program in the place of
``promptuary`` records the words that it was given: they must be the reference or the name itself, to the letter.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import pexpect
import pytest

from promptuary.base.messages import Item
from promptuary.base.principals import LOCAL
from promptuary.base.references import format_reference
from promptuary.blocking import Promptuary
from promptuary.cli.completion import script
from promptuary.references.completion.menu import spell_value
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from tests.conftest import Figure, git

SHELLS: Final = ("bash", "zsh", "fish")
_PATIENCE: Final = 20.0

_RUN: Final = "touch PWNED"
_ATTACKS: Final = (
    f"$({_RUN})",
    f"`{_RUN}`",
    f";{_RUN};",
    f"|{_RUN}|",
    f"&{_RUN}&",
    f"&&{_RUN}&&",
    f"||{_RUN}",
    f"<({_RUN})",
    f">({_RUN})",
    f"=({_RUN})",
    f"({_RUN})",
    f"{{{_RUN};}}",
    ">PWNED",
    f"${{x:-$({_RUN})}}",
    f"$((a[$({_RUN})]))",
    f"$[a[$({_RUN})]]",
    f"*(e:'{_RUN}':)",
    f"(e{{{_RUN}}})",
    f"${{(e):-$({_RUN})}}",
    f"!{_RUN}",
    f"!!;{_RUN}",
    f"~$({_RUN})",
    "$(touch${IFS}PWNED)",
    "`touch${IFS}PWNED`",
    "$'\\x24\\x28touch PWNED\\x29'",
)
"""What bash, zsh (with its qualifiers) or fish would run, or create a file with, if it read a name as code."""
_AROUND: Final = ("{}", "'{}'", '"{}"', "\\{}", "'{}", '"{}', "a b{}", "$x{}")
HOSTILE: Final = [around.format(attack) for around in _AROUND for attack in _ATTACKS]


def _marked(names: list[str]) -> list[str]:
    """Return names that begin in a way of their own, so that a person can type a prefix that only one has."""
    return [f"{hashlib.sha256(name.encode()).hexdigest()[:8]}{name}" for name in names]


NAMES: Final = _marked(HOSTILE)
_NOT_IN_BRANCHES: Final = str.maketrans("", "", "~^:?*[\\")
BRANCHES: Final = _marked(
    list(dict.fromkeys(name.replace(" ", "${IFS}").translate(_NOT_IN_BRANCHES) for name in HOSTILE))
)
"""Git refuses blanks and some other characters in the names of branches."""


class Shell:
    """An interactive shell with our completion; what it gives to ``promptuary`` is recorded."""

    def __init__(self, name: str, workspace: Path, home: Path) -> None:
        self.name, self.told, self._ended = name, home / "told", home / "ended"
        program = home / "bin" / "promptuary"
        program.parent.mkdir(parents=True)
        program.write_text(
            f'#!/bin/sh\ncase "$1" in complete|thread|completion) exec "{sys.executable}" -m promptuary "$@" ;; esac\n'
            f"printf '%s\\0' \"$@\" > '{self.told}.part'\nmv '{self.told}.part' '{self.told}'\n"
        )
        program.chmod(0o755)
        start = {
            "bash": ["--norc", "--noprofile", "-i"],
            "zsh": ["-f", "-i"],
            "fish": ["--no-config", "-i"],
        }[name]
        environment = {**os.environ, "TERM": "dumb", "PATH": f"{program.parent}:{os.environ['PATH']}"}
        self._child: Any = pexpect.spawn(
            name, start, cwd=str(workspace), env=environment, encoding="utf-8", dimensions=(50, 500)
        )
        self._child.delaybeforesend = 0
        for line in {
            "bash": ["bind 'set enable-bracketed-paste off'", "set -H", 'eval "$(promptuary completion bash)"'],
            "zsh": ["autoload -Uz compinit", "compinit -u -D", 'eval "$(promptuary completion zsh)"'],
            "fish": ["promptuary completion fish | source"],
        }[name]:
            self._child.send(f"{line}\r")
        assert self.entered("promptuary ready") == ["ready"]

    def entered(self, keys: str) -> list[str]:
        """Type ``keys`` and Enter; return the words that ``promptuary`` was called with."""
        self.told.unlink(missing_ok=True)
        self._child.send(f"{keys}\r")
        end = time.monotonic() + _PATIENCE
        while not self.told.exists():
            self._read()
            if time.monotonic() > end:
                self._child.sendintr()  # the line was not complete, or ran something else
                return []
        return self.told.read_text(encoding="utf-8").split("\0")[:-1]

    def _read(self) -> None:
        with suppress(pexpect.TIMEOUT):
            self._child.read_nonblocking(65536, timeout=0.01)

    def close(self) -> None:
        self._child.close(force=True)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("a\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First")
    return folder


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, workspace: Path, tmp_path: Path) -> Iterator[Shell]:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    with closing(Shell(request.param, workspace, tmp_path / "home")) as opened:
        yield opened


def _tried(shell: Shell, workspace: Path, cases: dict[str, str], before: str = "promptuary ask ") -> int:
    """Complete every case, a prefix with what must become of it; nothing may run. Return how many were tried."""
    for typed, whole in cases.items():
        words = shell.entered(f"{before}{typed}\t")
        assert not list(workspace.rglob("PWNED*")), (shell.name, typed, whole, words)
        # What cannot be written in a message, as a path with a backslash, is not offered.
        assert words[-1:] == [whole] or (words[-1:] == [typed.replace("\\#", "#")] and "\\" in whole), (typed, words)
    return len(cases)


@pytest.mark.torture
@pytest.mark.parametrize("sigil", ["@file:", "@", "@diff:", "\\#"])
def test_names_of_files_run_nothing(shell: Shell, workspace: Path, sigil: str, figure: Figure) -> None:
    names = NAMES[:: figure(67, 1 if sigil == "@file:" else 4)]
    for name in names:
        (workspace / name).write_text("text\n")
    kind = {"@diff:": "diff", "\\#": "#"}.get(sigil, "file")
    count = _tried(shell, workspace, {f"{sigil}{name[:8]}": _reference(kind, name) for name in names})
    print(f"{shell.name}: {count} names of files after {sigil}")


@pytest.mark.torture
@pytest.mark.parametrize("quote", ["'", '"'])
def test_names_run_nothing_in_quotes_that_are_open(shell: Shell, workspace: Path, quote: str, figure: Figure) -> None:
    names = NAMES[:: figure(100, 4)]
    for name in names:
        (workspace / name).write_text("text\n")
    cases = {f"look at @file:{name[:8]}": f"look at {_reference('file', name)}" for name in names}
    if shell.name != "bash":  # zsh and fish complete whole words: here the line stays as it is, and is closed
        for typed in cases:
            assert shell.entered(f"promptuary ask {quote}{typed}\t{quote}") == ["ask", typed]
        return
    count = _tried(shell, workspace, cases, before=f"promptuary ask {quote}")
    print(f"{shell.name}: {count} names of files in {quote}")


@pytest.mark.torture
def test_names_of_folders_and_extensions_run_nothing(shell: Shell, workspace: Path, figure: Figure) -> None:
    names = NAMES[:: figure(100, 4)]
    for name in names:
        (workspace / name).mkdir()
        (workspace / name / f"file.{name[:8]}").write_text("text\n")
    cases = {f"@folder:{name[:8]}": _reference("folder", f"{name}/") for name in names}
    count = _tried(shell, workspace, cases)
    for name in names:
        assert shell.entered(f"promptuary ask @glob:{name[:8]}\t")[0] == "ask"
    assert not list(workspace.rglob("PWNED*"))
    print(f"{shell.name}: {count} names of folders")


@pytest.mark.torture
@pytest.mark.parametrize("kind", ["diff", "git"])
def test_names_of_branches_run_nothing(shell: Shell, workspace: Path, kind: str, figure: Figure) -> None:
    names = BRANCHES[:: figure(67, 1 if kind == "diff" else 4)]
    for name in names:
        git(workspace, "branch", name)
    values = {name: f"{name}..HEAD" if kind == "git" else name for name in names}
    count = _tried(
        shell, workspace, {f"@{kind}:{name[:8]}": spell_value(kind, value) for name, value in values.items()}
    )
    print(f"{shell.name}: {count} names of branches after @{kind}:")


@pytest.mark.torture
def test_names_of_threads_run_nothing(shell: Shell, workspace: Path, figure: Figure) -> None:
    names = NAMES[:: figure(67, 1)]
    _add_threads(workspace, names)
    count = _tried(shell, workspace, {name[:8]: name for name in names}, before="promptuary ask --thread ")
    print(f"{shell.name}: {count} names of threads")


@pytest.mark.torture
def test_titles_of_notes_and_names_in_code_run_nothing(shell: Shell, workspace: Path, figure: Figure) -> None:
    names = NAMES[:: figure(100, 4)]
    with Promptuary.open(workspace) as p:
        ids = [p.memory.write(f"{name[:8]} is about this: {name}", title=name).header.id for name in names]
    (workspace / "named.md").write_text("\n\n".join(f"# {name}" for name in names), encoding="utf-8")
    for note, name in zip(ids, names, strict=True):
        assert shell.entered(f"promptuary ask @memory:{name[:8]}\t")[0] == "ask"
        assert shell.entered(f"promptuary ask @memory:{note[:10]}\t")[0] == "ask"
        assert shell.entered(f"promptuary ask @symbol:{name[:8]}\t")[0] == "ask"
    assert not list(workspace.rglob("PWNED*"))


@pytest.mark.parametrize("place", ["--model ", "--session ", "--workspace ", "thread show ", "memory show ", "x "])
def test_a_place_without_names_of_ours_offers_files_as_the_shell_does(
    shell: Shell, workspace: Path, place: str
) -> None:
    for name in NAMES[::40]:
        (workspace / name).write_text("text\n")
    _add_threads(workspace, NAMES[1::40])
    for name in [*NAMES[::40], *NAMES[1::40]]:
        assert shell.entered(f"promptuary ask {place}{name[:8]}\t")[0] == "ask"
    assert not list(workspace.rglob("PWNED*"))


def test_fish_offers_threads_and_no_files_beside_them(workspace: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    (workspace / "tele.txt").write_text("text\n")
    with Promptuary.open(workspace) as p:
        p.threads.finish(p.threads.prepare("Hello", thread="telegram:42"), "Hi.")
    program = f"function promptuary; {sys.executable} -m promptuary $argv; end\n{script('fish')}"
    asked = "complete -C 'promptuary ask --thread tele'; echo and; complete -C 'promptuary backup tele'"
    done = subprocess.run(
        ["fish", "-c", f"{program}{asked}"], cwd=workspace, check=True, capture_output=True, text=True
    )

    assert done.stdout.split() == ["telegram:42", "and", "tele.txt"]


def _reference(kind: str, name: str) -> str:
    if kind != "#":
        return format_reference(kind, name)
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'#"{escaped}"'


def _add_threads(workspace: Path, names: list[str]) -> None:
    """Add threads as a version did that took every name."""
    with Promptuary.open(workspace) as p:
        p.threads.finish(p.threads.prepare("Hello"), "Hi.")
    with closing(StateDatabase(workspace / ".promptuary" / "state.db")) as state:
        store = state.threads(LOCAL)
        for name in names:
            store.apply(ThreadChange(name, items=[Item(f"item-{name[:8]}", "user", "Hello")]))
