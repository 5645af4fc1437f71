"""The arguments of a hook, which are read without a parser."""

import pytest

from promptuary.hooks.flags import HookArguments, hook_arguments, of_hook

WORDS = ["codex", "Stop"]


@pytest.mark.parametrize("flag", [["-w", "DIR"], ["-wDIR"], ["--workspace", "DIR"], ["--workspace=DIR"], ["-w=DIR"]])
def test_a_workspace_is_named_in_every_way_that_the_parser_knows(flag: list[str]) -> None:
    expected = HookArguments(WORDS, "DIR")

    assert hook_arguments([*WORDS, *flag]) == expected
    assert hook_arguments([*flag, *WORDS]) == expected
    assert of_hook([*flag, "hook", *WORDS]) == [*flag, *WORDS]


def test_flags_of_every_command_are_taken() -> None:
    assert hook_arguments([*WORDS, "-q", "--json", "--quiet"]) == HookArguments(WORDS)
    assert hook_arguments([*WORDS, "--debug", "--work"]) == HookArguments(WORDS, working=True, debug=True)


@pytest.mark.parametrize("command", [[], ["expand", "hook"], ["-w", "hook"], ["hook", "-h"], ["--help", "hook"]])
def test_other_commands_and_help_are_left_to_the_parser(command: list[str]) -> None:
    assert of_hook(command) is None


def test_the_first_mistake_is_named() -> None:
    assert hook_arguments([*WORDS, "--bogus", "-w"]).problem == "there is no flag --bogus"
    assert hook_arguments([*WORDS, "-w"]).problem == "-w names no folder"
