"""What the help of the commands offers."""

import argparse

import pytest

from promptuary.base.references import KEYWORDS, KINDS
from promptuary.cli.agents.actions import ACTIONS as TOKEN_ACTIONS
from promptuary.cli.command_table import COMMANDS, flags_of, make_parser
from promptuary.cli.common import given_settings
from promptuary.cli.experiences.actions import ACTIONS as EXPERIENCE_ACTIONS
from promptuary.cli.flags import SETTING_FLAGS
from promptuary.cli.main import _parsed, main
from promptuary.cli.memory.actions import ACTIONS as MEMORY_ACTIONS
from promptuary.cli.parsing import Asked, Command
from promptuary.cli.threads.actions import ACTIONS as THREAD_ACTIONS
from promptuary.config.settings import SETTINGS, setting_help


def settings_of(command: str) -> set[str]:
    """Return the settings for which ``command`` takes a flag; one of the same name may be no setting."""
    commands = next(action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    common = {"server"}  # where the workspace is, which every command says that can be asked there
    return ({action.dest for action in commands.choices[command]._actions} & set(SETTINGS)) - common


INDEXING = {"allowed_extensions", "allow_sensitive", "max_file_size", "follow_symlinks", "embedder", "allow_hosts"}


@pytest.mark.parametrize(
    ("command", "offered"),
    [
        ("index", INDEXING),
        ("search", {*INDEXING, "reranker"}),
        ("model", {"allow_hosts"}),
        ("watch", INDEXING),
        ("expand", set(SETTING_FLAGS)),
        ("config", set(SETTING_FLAGS)),
    ],
)
def test_a_flag_is_offered_where_it_matters(command: str, offered: set[str]) -> None:
    assert settings_of(command) == offered


@pytest.mark.parametrize("command", ["install", "gateway", "completion", "hook"])
def test_a_command_that_no_setting_changes_takes_none(command: str) -> None:
    assert "--set" not in flags_of(make_parser(Asked(command)))
    assert "--set" in flags_of(make_parser(Asked("mcp")))


def test_every_setting_has_help_of_one_line_and_its_default() -> None:
    for name, default in SETTINGS.items():
        text = setting_help(name)
        assert text.isprintable()
        assert "%%" not in text
        assert not default or text.count("(default: ") == 1
    assert setting_help("max_file_size") == "maximum size of a file (default: 1MB)"
    assert setting_help("limit_share").endswith("(default: 50%)")
    assert setting_help("experiences").endswith("(default: yes)")
    assert setting_help("file_reference_follow_symlinks").endswith("(default: as follow_symlinks)")


def test_the_help_shows_every_kind_of_reference() -> None:
    shown = make_parser().format_help()

    assert [kind for kind in sorted(KINDS | KEYWORDS) if f"@{kind}" not in shown] == []


FAMILIES = {
    "memory": MEMORY_ACTIONS,
    "thread": THREAD_ACTIONS,
    "experience": EXPERIENCE_ACTIONS,
    "token": TOKEN_ACTIONS,
}
VERBS = [
    *((command.name, command) for command in COMMANDS),
    *((f"{family} {action.name}", action) for family, actions in FAMILIES.items() for action in actions),
]


@pytest.mark.parametrize(("name", "verb"), VERBS, ids=[name for name, _ in VERBS])
def test_the_help_of_every_verb_has_25_lines_at_most_and_examples(
    name: str, verb: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = ""
    for columns in ("80", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main([*name.split(), "--help"]) == 0
        short = capsys.readouterr().out
        assert len(short.splitlines()) <= 25
        assert all(example in short for example in verb.examples)
        assert f"promptuary {name} --help-all " in short
    assert main(["help", *name.split()]) == 0
    assert capsys.readouterr().out == short
    assert main([*name.split(), "--help-all"]) == 0
    long = capsys.readouterr().out

    assert "--debug" in long
    assert "--debug" not in short


@pytest.mark.parametrize(("family", "actions"), FAMILIES.items())
def test_the_short_help_of_a_family_names_every_action_once(
    family: str, actions: tuple[Command, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([family, "--help"]) == 0
    listed = capsys.readouterr().out.partition("  ACTION\n")[2].partition("\n\n")[0]
    names = [name for line in listed.splitlines() for name in line.strip().partition("  ")[0].split(", ")]

    assert sorted(names) == sorted(action.name for action in actions)


def test_without_a_command_there_is_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    shown = capsys.readouterr().err

    assert all(f"  {command.name} " in shown for command in COMMANDS if not command.hidden)
    assert len(shown.splitlines()) <= 32


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["exapnd", "hello"], "did you mean expand?"),
        (["xyzzy"], "run promptuary --help for a list of commands"),
        (["--json"], "--json needs a command"),
        (["--jsno", "config"], "did you mean --json?"),
        (["thread", "lst"], "did you mean list?"),
        (["memory", "serach", "x"], "did you mean search?"),
        (["expand", "--modle", "x", "hello"], "did you mean --model?"),
        (["search", "--kind", "markdwon", "x"], "did you mean markdown?"),
    ],
)
def test_a_typing_mistake_is_answered_with_a_suggestion(
    typed: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed) == 2
    assert meant in capsys.readouterr().err


ORDERS = [
    ("expand --window 64k hello there", {"text": ["hello", "there"], "window": "64k"}),
    ("expand hello --window 64k there", {"text": ["hello", "there"], "window": "64k"}),
    ("--window=64k expand hello there", {"text": ["hello", "there"], "window": "64k"}),
    ("-w . expand hello there", {"text": ["hello", "there"], "workspace": "."}),
    ("search word --limit 3 word2", {"text": ["word", "word2"], "limit": 3}),
    ("context -t x add a.py b.py", {"action": "add", "words": ["a.py", "b.py"], "thread": "x"}),
    ("context add a.py -t x b.py", {"action": "add", "words": ["a.py", "b.py"], "thread": "x"}),
    ("context -qt x add -- -a.py", {"action": "add", "words": ["-a.py"], "thread": "x", "quiet": True}),
    ("thread show -t x 3", {"action": "show", "number": 3, "thread": "x"}),
    ("thread -tx show 3 --json", {"action": "show", "number": 3, "thread": "x", "json": True}),
    ("model --allow-host h add name", {"action": "add", "name": "name", "allow_hosts": ["h"]}),
    ("model add --allow-host h name", {"action": "add", "name": "name", "allow_hosts": ["h"]}),
    ("index a --label l b", {"words": ["a", "b"], "label": "l"}),
    ("backup --json all.zip", {"file": "all.zip", "json": True}),
    ("completion --json bash", {"shell": "bash", "json": True}),
    ("memory --json list", {"action": "list", "json": True}),
    ("memory --limit 3 list --kind user", {"action": "list", "limit": 3, "kind": ["user"]}),
    ("memory write a --tag t b", {"action": "write", "text": ["a", "b"], "tag": ["t"]}),
    ("thread replay -t x --window 8k 3", {"action": "replay", "thread": "x", "number": 3, "rerun_window": "8k"}),
    ("thread --turn 3 audit", {"action": "audit", "source": None, "turn": 3}),
    ("experience feedback helped --json 4f1c", {"action": "feedback", "feedback": "helped", "words": ["4f1c"]}),
    ("search --limit 3 -5", {"text": ["-5"], "limit": 3}),
]


@pytest.mark.parametrize(("typed", "meant"), ORDERS, ids=[typed for typed, _ in ORDERS])
def test_flags_may_stand_before_and_after_words_and_actions(typed: str, meant: dict[str, object]) -> None:
    options = vars(_parsed(typed.split()))

    assert {name: options[name] for name in meant} == meant


def test_without_long_flags_settings_are_unset() -> None:
    plain, flagged = _parsed(["expand", "-q", "hello"]), _parsed(["expand", "--json", "-q", "hello"])

    assert given_settings(plain) == given_settings(flagged) == {}
    assert {**vars(plain), "json": True, **dict.fromkeys(SETTING_FLAGS)} == vars(flagged)


@pytest.mark.parametrize(
    ("command", "choice"),
    [
        *(("memory", "forget"), ("thread", "replay"), ("context", "unpin"), ("experience", "find")),
        *(("thread", "audit"), ("model", "add"), ("install", "codex"), ("completion", "fish")),
    ],
)
def test_a_command_without_its_action_lists_what_to_choose_from(
    command: str, choice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert "choose from" in told
    assert choice in told
    assert "WORD" not in told
