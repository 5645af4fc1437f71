"""What earlier versions understood exits with 2, and names what replaced it."""

from pathlib import Path

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.cli.command_table import COMMANDS
from promptuary.cli.main import _parsed, main
from promptuary.cli.old_spellings import OLD_COMMANDS, OLD_FLAGS
from promptuary.config.settings import SETTINGS
from promptuary.hooks.flags import of_hook


@pytest.mark.parametrize(("old", "new"), OLD_COMMANDS.items())
def test_an_old_command_exits_with_2_and_names_the_new_one_which_works(
    old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (old.split(), [*old.split(), "x", "--json"], ["--json", *old.split()], [*old.split(), "--help"]):
        assert main(words) == 2
        assert capsys.readouterr().err == f"promptuary: promptuary {old} is now: promptuary {new}\n"
    assert list(tmp_path.iterdir()) == []

    if new.endswith("--help"):
        assert main(new.split()) == 0
    else:
        assert _parsed(new.split()).command in {command.name for command in COMMANDS}


@pytest.mark.parametrize(
    ("typed", "new"),
    [
        ("watch --once", "promptuary index"),
        ("complete --max 3 @", "--limit N"),
        ("expand --limit 50% hello", "--share SHARE"),
        ("chat --limit=50%", "--share SHARE"),
        ("expand --compact 50% hello", "--set compact_share=VALUE"),
        ("config --files-slot 3", "--set file_reference_slot=VALUE"),
        ("memory learn --writeback-model m", "--set writeback_model=VALUE"),
        ("index --chunk-tokens=30", "--set chunk_tokens=VALUE"),
        ("index --index-hidden", "--set index_hidden=VALUE"),
        ("index --no-index-hidden", "--set index_hidden=no"),
    ],
)
def test_an_old_flag_exits_with_2_and_names_the_new_one(
    typed: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed.split()) == 2
    assert capsys.readouterr().err.rstrip("\n").endswith(f"; it is now: {new}")


def test_what_replaced_a_flag_works() -> None:
    assert _parsed(["expand", "--share", "50%", "hello"]).limit_share == "50%"
    assert _parsed(["complete", "--limit", "3", "@"]).limit == 3
    for new in OLD_FLAGS.values():
        _, is_setting, name = new.partition("--set ")
        assert not is_setting or name.removesuffix("=VALUE") in SETTINGS
    for old in OLD_FLAGS:
        with pytest.raises((SystemExit, PromptuaryError)):
            _parsed([*(old.split() if " " in old else ["expand", old]), "x"])


@pytest.mark.parametrize(
    "line", ["mcp", "mcp --with-hooks", "mcp --resources", "hook claude-code Stop", "hook codex UserPromptSubmit"]
)
def test_what_install_wrote_into_the_settings_of_other_programs_still_starts(line: str) -> None:
    hook = of_hook(line.split())

    assert hook == line.split()[1:] if line.startswith("hook") else _parsed(line.split()).function == "main"
