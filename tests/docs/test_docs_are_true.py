"""What the documents promise exists, and what exists is documented."""

import argparse
import inspect
import pkgutil
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary import Promptuary
from promptuary.base.errors import Code
from promptuary.base.references import KEYWORDS, KINDS, WRITING_KINDS
from promptuary.cli.command_table import flags_of, make_parser
from promptuary.cli.main import without_arguments
from promptuary.commands.registry import COMMANDS as SLASHES
from promptuary.config.settings import SETTINGS, USER_ONLY, Settings
from promptuary.context.assemble import Room
from promptuary.context.history import CompactionPolicy
from promptuary.engine import AsyncMemory, AsyncPrompts, AsyncSearch, AsyncSessions, AsyncThreads
from promptuary.references.completion.menu import HELP
from promptuary.references.kinds import KINDS as RESOLVERS
from promptuary.threads.options import compaction_policy
from tests.conftest import Files

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")])


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_code_is_documented_and_every_documented_code_exists() -> None:
    section = page("docs/references.md").partition("| code |")[2].partition("##")[0]
    documented = set(re.findall(r"`([A-Z_]{4,})`", section))

    assert documented == set(Code)


def test_every_kind_is_resolved_offered_and_documented() -> None:
    documented = set(re.findall(r"^\| `@(\w+)[:`]", page("docs/references.md"), re.MULTILINE)) - {
        "src",
        "flie",
        "https",
    }

    assert documented == set(RESOLVERS) | WRITING_KINDS == set(HELP) == KINDS | KEYWORDS


def test_every_setting_is_documented_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*)$", page("docs/configuration.md"), re.MULTILINE))
    public = set(Settings.__struct_fields__) - {"static_layers", "models", "gateways", "mcp", "warnings", "origins"}

    assert rows.keys() == public
    assert {name for name, row in rows.items() if row.rstrip().endswith("| no |")} == USER_ONLY


def test_the_documents_tell_the_numbers_that_the_settings_have() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([0-9.]+) \|", page("docs/configuration.md"), re.MULTILINE)
    compaction = re.findall(r"\| `(\w+)` \| ([0-9.]+) \|$", page("docs/threads.md"), re.MULTILINE)

    assert len(rows) > 15
    assert {name for name, _ in compaction} >= {
        name for name in SETTINGS if re.match("history|compact|short|summ(?!ary_model)", name)
    }
    for name, number in [*rows, *compaction]:
        assert getattr(Settings(), name) == float(number) or (name, number) == ("window", "128000")


def test_a_thread_is_compacted_by_the_figures_of_its_settings() -> None:
    assert compaction_policy(Settings()) == CompactionPolicy()
    assert Room(1, 0).history_share == Settings().history_share


def test_every_command_and_flag_has_help() -> None:
    commands = next(action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for name, parser in commands.choices.items():
        assert parser.description
        assert f"`promptuary {name}" in page("docs/cli.md")
        flags = [one for one in parser._actions if not isinstance(one, argparse._SubParsersAction)]
        assert all(action.help for action in flags)  # a test of the help itself sees to the actions


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:\s]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_to_headings_lead_to_headings(path: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", prose):
        assert anchor in anchors(path.parent / target if target else path), f"{target}#{anchor}"


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page: its headings in lower case, without punctuation, with hyphens between words."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "docs/library.md",
        "docs/threads.md",
        "docs/layers.md",
        "docs/search.md",
        "docs/sessions.md",
        "docs/experiences.md",
    ],
)
def test_python_in_the_documents_runs(files: Files, name: str) -> None:
    project = files({"src/app.py": "x = 1\n" * 60, "docs/style.md": "Be brief.\n"})
    for code in re.findall(r"```python\n(.*?)```", page(name), re.DOTALL):
        subprocess.run([sys.executable, "-c", code], cwd=project, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("facade", "heading"),
    [
        (Promptuary, "Messages"),
        (AsyncThreads, "Threads"),
        (AsyncSearch, "Search"),
        (AsyncMemory, "Memory"),
        (AsyncSessions, "Sessions"),
        (AsyncPrompts, "Prompts"),
    ],
)
def test_every_method_of_the_library_is_documented_and_every_documented_one_exists(facade: type, heading: str) -> None:
    section = page("docs/library.md").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    section = section.partition("`p.models` has")[0]
    methods = {name for name, _ in inspect.getmembers(facade, inspect.isfunction) if not name.startswith("_")}

    assert set(re.findall(r"`(\w+)\(", re.sub(r"```.*?```", "", section, flags=re.DOTALL))) == methods


def test_the_map_names_every_room_and_nothing_else() -> None:
    tree = page("ARCHITECTURE.md").partition("## The map")[2].partition("\n```\n\n")[0]
    source = ROOT / "src" / "promptuary"
    rooms = {path.name for path in source.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    named = set(re.findall(r"^  (\w+(?:/|\.py))", tree, re.MULTILINE)) | set(re.findall(r";  (\w+\.py)", tree))

    assert {name.rstrip("/") for name in named} == {name for name in rooms if not name.startswith("_")}
    folders = re.findall(r"\b([a-z_]+)/(?=[ \n,])", tree.partition("src/promptuary/\n")[2])
    assert [name for name in folders if not [path for path in source.rglob(name) if path.is_dir()]] == []


def test_the_layer_of_the_guide_is_short_and_works(files: Files) -> None:
    from promptuary import Recall
    from promptuary.blocking import Promptuary

    code, replacing, several = re.findall(r"```python\n(.*?)```", page("docs/layers.md"), re.DOTALL)
    exec(compile(replacing, "docs/layers.md", "exec"), {})
    namespace: dict[str, object] = {}
    exec(compile(code, "docs/layers.md", "exec"), namespace)
    layer = namespace["Todos"]
    assert isinstance(layer, type)

    assert code.partition("class ")[2].count("\n") <= 20
    with Promptuary.open(files({}), exact=True, layers=[layer()]) as promptuary:
        first = promptuary.threads.prepare("What is left?")
        promptuary.threads.finish(first, "All is well: done: write the tests")
        second = promptuary.threads.prepare("And now?")
    assert first.messages[0]["content"] == "Still to do:\nwrite the tests"
    assert [message["role"] for message in second.messages] == ["user", "assistant", "user"]

    exec(compile(several, "docs/layers.md", "exec"), namespace)
    recall = namespace["recall"]
    assert isinstance(recall, Recall)
    assert recall.text == "# Still to do\n\n- write the tests"


SHELL_BLOCKS = re.compile(r"^`{3,}(sh|console)\n(.*?)^`{3}", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"""(?<![\w/'])promptuary (?:'[^']*'|"[^"]*"|[^'"|;&<>#()]|(?<! )#)*""")
"""A command up to a pipe, a redirection, the next command or a comment."""


def command_lines(path: Path) -> Iterator[str]:
    """Yield the commands of a page that a person types: those of its blocks for the shell."""
    for language, block in SHELL_BLOCKS.findall(path.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if language == "sh" or line.startswith("$ "):
                yield from COMMAND.findall(line)


def choices(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser | None]:
    """Return what a command offers to do; nothing where it does one thing."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
        if action.metavar == "ACTION" and action.choices:
            return dict.fromkeys(map(str, action.choices))
    return {}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_command_of_the_documents_parses(path: Path) -> None:
    parser = make_parser()
    for line in command_lines(path):
        parser.parse_args(without_arguments(shlex.split(line)[1:], parser)[0])


@pytest.mark.parametrize("path", [one for one in PAGES if one.name != "CHANGELOG.md"], ids=lambda path: path.name)
def test_every_command_that_a_sentence_names_exists(path: Path) -> None:
    commands = choices(make_parser())
    for name, action in re.findall(r"`promptuary ([a-z]+)(?: ([a-z]+))?", path.read_text(encoding="utf-8")):
        parser = commands[name]
        assert parser is not None
        assert not action or not choices(parser) or action in choices(parser), f"promptuary {name} {action}"


def test_every_slash_command_and_action_is_documented() -> None:
    table = page("docs/chat.md").partition("## Commands of the chat")[2]
    rows = {
        command.name: "".join(re.findall(rf"^\| `/{command.name}\b.*$", table, re.MULTILINE)) for command in SLASHES
    }

    assert [name for name, row in rows.items() if not row and f"`/{name}" not in table] == []
    actions = [(command.name, action.name) for command in SLASHES for action in command.actions]
    assert [(name, action) for name, action in actions if not re.search(rf"\b{action}\b", rows[name])] == []


NOT_PARSED = {"--help-all", "--yolo", "--filter", "--profile", "--config", "--npm", "--base"}
"""What is handled before the flags are parsed (one of help, an argument of a prompt), and flags of other programs."""


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.name
)
def test_every_flag_that_a_page_names_exists(path: Path) -> None:
    prose = re.sub(r"^(`{3,}).*?^\1$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    named = {flag for code in re.findall(r"`([^`\n]+)`", prose) for flag in re.findall(r"(?<!\S)--[a-z][a-z-]*", code)}

    assert named - NOT_PARSED <= set(flags_of(make_parser()))


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.name
)
def test_every_module_and_class_that_a_page_names_exists(path: Path) -> None:
    prose = re.sub(r"^(`{3,}).*?^\1$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for name in re.findall(r"`(promptuary(?:\.\w+)+)", prose):
        if name in {"promptuary.toml", "promptuary.json", "promptuary.layers", "promptuary.embedders"}:
            continue  # files, and groups of entry points
        pkgutil.resolve_name(name)
