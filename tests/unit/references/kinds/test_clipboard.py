"""What was copied can be referred to, and what is expanded can be copied, by the program that the desktop has."""

import os
import stat
from pathlib import Path

import pytest

from promptuary.base.errors import Code, SourceError
from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from promptuary.references.expansion import Expansion
from promptuary.workspace.programs import clipboard
from tests.conftest import Files


@pytest.fixture
def desk(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is all of PATH; programs of the clipboard are put into it."""
    folder = tmp_path_factory.mktemp("desk")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    return folder


def install(folder: Path, name: str, script: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def expand(project: Path, text: str = "What is @clipboard?") -> Expansion:
    with Promptuary.open(project, current_folder=project) as promptuary:
        return promptuary.expand(text)


def test_the_clipboard_is_attached_as_text_from_outside(files: Files, desk: Path) -> None:
    install(desk, "xclip", 'test "$*" = "-selection clipboard -o" && printf "Ignore\\nthis"')
    found = expand(files({"a.txt": "a"}))

    assert found.outcomes[0].status == "included"
    assert found.blocks[0].source.text == "Ignore\nthis"
    assert "<external " in found.blocks[0].text
    assert found.blocks[0].source.facts == ("2 lines",)


def test_without_a_program_the_person_is_told_what_to_install(files: Files, desk: Path) -> None:
    (outcome,) = expand(files({"a.txt": "a"})).outcomes

    assert outcome.code == Code.NEEDS_EXTRA
    assert "install wl-clipboard" in (outcome.reason or "")


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 1", Code.NOT_FOUND),
        ("true", Code.NOT_FOUND),
        ("printf '\\377\\376'", Code.BINARY),
        (
            "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaa; done",
            Code.FILE_TOO_LARGE,
        ),
        ("while :; do :; done", Code.TIMEOUT),
    ],
    ids=["failing", "empty", "bytes", "endless", "stuck"],
)
def test_a_clipboard_without_usable_text_says_why(
    files: Files, desk: Path, monkeypatch: pytest.MonkeyPatch, script: str, code: Code
) -> None:
    monkeypatch.setattr(clipboard, "MAX_BYTES", 2_000)
    monkeypatch.setattr(clipboard, "_SECONDS", 0.5)
    install(desk, "xsel", script)

    assert expand(files({"a.txt": "a"})).outcomes[0].code == code


@pytest.mark.parametrize("place", ["bin", "."])
def test_a_workspace_cannot_choose_the_program(
    files: Files, desk: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    project = files({"a.txt": "a"})
    install(project / "bin", "xclip", "echo owned")
    (desk / "xsel").symlink_to(project / "bin" / "xclip")
    monkeypatch.chdir(project / "bin")
    monkeypatch.setenv("PATH", os.pathsep.join([str(project / "bin"), place, "", str(desk)]))

    assert expand(project).outcomes[0].code == Code.NEEDS_EXTRA


def test_a_program_that_passes_on_messages_reads_no_clipboard(files: Files, desk: Path) -> None:
    install(desk, "xclip", "echo mine")
    with Promptuary.open(files({"a.txt": "a"})) as promptuary:
        (outcome,) = promptuary.expand("@clipboard").outcomes

    assert outcome.code == Code.PERMISSION_DENIED


def test_without_a_desktop_no_program_is_asked(files: Files, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(desk, "xclip", "echo mine")
    monkeypatch.delenv("DISPLAY")

    assert "no desktop here" in (expand(files({"a.txt": "a"})).outcomes[0].reason or "")


def test_the_program_of_the_display_that_there_is_goes_first(files: Files, desk: Path) -> None:
    for name in ("wl-paste", "xclip"):
        install(desk, name, f"printf {name}")

    assert expand(files({"a.txt": "a"})).blocks[0].source.text == "xclip"


def test_expand_copies_what_would_be_sent(
    files: Files, desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project, copied = files({"a.txt": "bees\n"}), desk / "copied"
    install(desk, "xclip", f'while IFS= read -r line; do echo "$line" >> {copied}; done; test "$2" = clipboard')
    monkeypatch.chdir(project)

    assert main(["expand", "--copy", "Read @a.txt\n"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "bees" in copied.read_text(encoding="utf-8")
    assert "copied" in err


def test_what_cannot_be_copied_is_printed_and_the_exit_code_tells(
    files: Files, desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files({"a.txt": "a"}))

    assert main(["expand", "--copy", "words"]) == 1
    out, err = capsys.readouterr()
    assert out == "words\n"
    assert "cannot copy: no program is installed" in err


def test_copying_without_a_program_is_refused(files: Files, desk: Path) -> None:
    with Promptuary.open(files({"a.txt": "a"})) as promptuary, pytest.raises(SourceError, match="install"):
        promptuary.copy("words")


def test_in_tmux_its_buffer_gets_the_text_and_passes_it_on(
    files: Files, desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUX", "/tmp/tmux,1,0")
    install(desk, "tmux", f'test "$*" = "load-buffer -w -" && /bin/cat > {tmp_path / "copied"}')
    with Promptuary.open(files({"a": ""}), exact=True) as promptuary:
        assert promptuary.copy("words") is False  # whether the terminal takes it nobody says
    assert (tmp_path / "copied").read_text() == "words"


def test_a_terminal_copies_where_no_program_does(
    files: Files, desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Promptuary.open(files({"a.txt": "a"})) as promptuary:
        promptuary.copy("words")

    assert capsys.readouterr().err == "\x1b]52;c;d29yZHM=\a"
