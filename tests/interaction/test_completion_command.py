"""``promptuary completion``: the scripts, run by the shells that are there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from promptuary.cli.command_table import COMMANDS
from promptuary.cli.completion import script
from promptuary.cli.main import main

SHELLS = ("bash", "zsh", "fish")
_TRY_IN_BASH = """
try() {
    COMP_LINE="$1"; COMP_POINT=${#1}
    read -ra COMP_WORDS <<< "$1"
    [[ "$1" == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _promptuary
    printf '%s\\n' "${COMPREPLY[@]}"
}
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which ``promptuary`` is the one that is tested, in a folder with one file."""
    program = tmp_path / "bin" / "promptuary"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m promptuary "$@"\n')
    program.chmod(0o755)
    (tmp_path / "app.py").write_text("x = 1\n")
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}


def run(shell: str, program: str, environment: dict[str, str], folder: Path) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run(
        [shell, "-c", program], env=environment, cwd=folder, check=True, capture_output=True, text=True
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_every_command_action_and_flag(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    shown = capsys.readouterr().out

    assert shown == script(shell)
    assert all(command.name in shown for command in COMMANDS)
    assert all(word in shown for word in ("--window", "replay", "proposals", "help"))


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("promptuary exp", {"expand", "experience"}),
        ("promptuary comp", {"completion"}),  # complete is for programs
        ("promptuary thread rep", {"replay"}),
        ("promptuary expand --mod", {"--model"}),
        ("promptuary expand @file:ap", {"app.py"}),
        # bash replaces everything after the quote
        ('promptuary expand "look at @file:ap', {"look", "at", '@file:app.py"'}),
    ],
)
def test_bash_completes(typed: str, offered: set[str], environment: dict[str, str], tmp_path: Path) -> None:
    found = run("bash", f"{script('bash')}{_TRY_IN_BASH}try '{typed}'", environment, tmp_path)

    assert set(found) == offered


@pytest.mark.parametrize(
    ("typed", "offered"), [("promptuary exp", "expand"), ("promptuary expand @file:ap", "@file:app.py")]
)
def test_fish_completes(typed: str, offered: str, environment: dict[str, str], tmp_path: Path) -> None:
    assert offered in run("fish", f"{script('fish')}complete -C '{typed}'", environment, tmp_path)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("promptuary ask -p rev", {"review"}),
        ("promptuary ask -p team:re", {"review-all"}),  # bash keeps what is before the colon
        ("promptuary ask -p review --ba", {"--base"}),
        ("promptuary ask -p team:review-all --foc", {"--focus"}),
    ],
)
def test_bash_completes_prompts_and_their_arguments(
    typed: str, offered: set[str], environment: dict[str, str], tmp_path: Path
) -> None:
    write_prompts()

    assert set(run("bash", f"{script('bash')}{_TRY_IN_BASH}try '{typed}'", environment, tmp_path)) == offered


def write_prompts() -> None:
    folder = Path.home() / ".config/promptuary/prompts"
    (folder / "team").mkdir(parents=True)
    (folder / "review.md").write_text("Review {{base}}.", encoding="utf-8")
    (folder / "team/review-all.md").write_text("Look at {{focus}}.", encoding="utf-8")


@pytest.mark.parametrize(("typed", "offered"), [("-p rev", "review"), ("-p review --ba", "--base")])
def test_fish_completes_prompts_and_their_arguments(
    typed: str, offered: str, environment: dict[str, str], tmp_path: Path
) -> None:
    write_prompts()

    assert offered in run("fish", f"{script('fish')}complete -C 'promptuary ask {typed}'", environment, tmp_path)


@pytest.mark.parametrize(("words", "offered"), [("-p rev", "review"), ("-p review --ba", "--base")])
def test_zsh_completes_prompts_and_their_arguments(
    words: str, offered: str, environment: dict[str, str], tmp_path: Path
) -> None:
    write_prompts()
    typed = f"words=(promptuary ask {words}); CURRENT=${{#words}}; compadd() {{ print -l -- $@ }}; _promptuary"

    assert offered in run("zsh", f"compdef() {{ }}\n{script('zsh')}{typed}", environment, tmp_path)


def test_zsh_takes_the_script_and_finds_its_words(environment: dict[str, str], tmp_path: Path) -> None:
    asked = "_promptuary_words expand 2 ''; print; _promptuary_words x 1 ''"
    found = run("zsh", f"compdef() {{ }}\n{script('zsh')}{asked}", environment, tmp_path)

    assert {"--window", "expand", "help"} <= set(found)
