"""No file, message or setting makes a parser slow: four times the text takes about four times the time.

A parser that somebody else wrote may be slower than that, if it stops at its deadline.
"""

import re
import subprocess
import sys
from pathlib import Path
from types import FrameType

import pytest

import promptuary
from promptuary.search.outline import definitions
from tests.adversarial import FAMILIES
from tests.conftest import TORTURE, Figure, Files
from tests.embedders import search_with
from tests.linear import FACTOR, Growth, Parser, growth, seconds
from tests.parsers import PARSERS

TAKES_APART = re.compile(
    r"\bre\.(?:compile|match|search|fullmatch|findall|finditer|split|sub)\(|\bjson\.loads\(|\btomllib\b|\bast\.parse\("
)
JSON = "JSON of our own, or of a service that the person chose, by the standard library"
SHORT = "the value of a reference, which is short"
ONE_MESSAGE = "one message of a chat, of at most 4,096 characters; Markdown is measured with the answer in a chat"
NOT_MEASURED = {
    "chat/prompt/completer.py": "the line that a person types",
    "gateways/discord.py": ONE_MESSAGE,
    "cli/agents/install.py": "the address of the person's own server, an option",
    "cli/at_server.py": "the token of the person, from the environment",
    "server/proxy/upstreams.py": "a key in the head of a request, which the server bounds",
    "server/client_settings.py": "the address of the person's own server",
    "hooks/install/installing.py": "the person's own settings of another program, to show what changes",
    "mcp/transports/http.py": "the head of a request, which the server bounds",
    "workspace/disk/secret_forms.py": "a table; secret_values.py, which uses it, is measured",
    "config/gateways.py": "names in a setting of the person",
    "gateways/inbox_store.py": JSON,
    "api/operations.py": "our own table, and JSON by a library, of bodies that the server bounds",
    "api/values.py": "JSON by a library, of bodies that the server bounds",
    "changes/values.py": "a cursor of a bounded length",
    "server/clients.py": "a header in the head of a request, which the server bounds",
    "server/page/files.py": "the lines of an address, of a bounded length",
    "server/page/search.py": "the excerpt of a hit, which is short",
    "server/page/threads.py": "one pattern of a bounded length",
    "maintenance/notes_migration.py": "the path of a note, which the system bounds",
    "server/tokens.py": "a key in the head of a request, which the server bounds, by patterns of a fixed length",
    "workspace/data_folder/input_history.py": JSON,
    "config/api_keys.py": "the name of an environment variable",
    "present/runs.py": "JSON of a model, cut to a length, by the standard library",
    "gateways/texts/discord_markdown.py": ONE_MESSAGE,
    "gateways/texts/entities.py": ONE_MESSAGE,
    "gateways/telegram.py": "one word at the beginning of a message, and a token",
    "references/input_history.py": "the beginning of a line",
    "hooks/hook.py": "JSON of the agent that calls, cut to a length, by the standard library",
    "hooks/install/toml_text.py": "the person's own settings of another program, by the standard library",
    "integrations/formats/langchain_messages.py": "JSON of a model, by the standard library",
    "integrations/langgraph_store.py": JSON,
    "hooks/hook_server.py": JSON,
    "mcp/transports/early.py": "JSON of the client, of bounded length, by the standard library",
    "mcp/transports/messages.py": "JSON of the client, of bounded length, by the standard library",
    "mcp/transports/standard_streams.py": "JSON of the client, of bounded length, by the standard library",
    "threads/tool_calls.py": "JSON of a model, cut to a length, by the standard library",
    "maintenance/old_format.py": JSON,
    "workspace/programs/agents/config_files.py": JSON,
    "workspace/programs/agents/sockets.py": JSON,
    "cli/parsing.py": "words of a command line, which the system bounds",
    "cli/threads/reply.py": "JSON that the person types or pipes in, by the standard library",
    "config/static_layers.py": "names of at most 64 characters in settings, which are measured",
    "testing/chat_server.py": "for tests",
    "workspace/data_folder/archive.py": "names of at most 65,535 bytes in a zip file, and its bounded manifest",
    "workspace/data_folder/relocation.py": "JSON of our own, of which a bounded part is read",
    "cli/common.py": "messages of argparse",
    "cli/experiences/experience.py": "JSON of an option, by the standard library",
    "cli/threads/delete.py": "an age, an option",
    "config/named_models.py": "names in a setting of the person",
    "models/render.py": JSON,
    "layers/runner.py": JSON,
    "memory/mentions.py": SHORT,
    "memory/tools.py": "JSON of a model, by the standard library",
    "memory/memory.py": "a name that somebody typed, cut to a length",
    "memory/writeback/snapshot.py": JSON,
    "models/file_hashes.py": JSON,
    "search/trial/questions.py": "a chunk, which is short",
    "tool_servers/definitions.py": "names, a character each, in one message of a server, which is bounded",
    "workspace/data_folder/tool_consents.py": JSON,
    "models/languages.py": "the name of a model, a setting, and languages in our own table",
    "models/named/catalogue.py": "the name of a model, an option",
    "models/named/repository.py": "hashes, which have one length",
    "models/named/store.py": JSON,
    "models/onnx_folder.py": JSON,
    "references/resolve.py": SHORT,
    "search/filters.py": "patterns of an option, which listing/glob.py matches",
    "search/index/catalog/rows.py": JSON,
    "search/index/fulltext/files.py": "names and JSON of our own index",
    "memory/store/paths.py": "names of at most 255 bytes",
    "memory/store/swap.py": "names of at most 255 bytes",
    "threads/store/prompts.py": JSON,
    "database/columns.py": JSON,
    "memory/redaction.py": "measured by test_forgetting_is_linear.py",
    "threads/store/forgetting.py": JSON,
    "database/contents.py": "addresses of at most 64 characters; measured by test_forgetting_is_linear.py",
    "database/queries.py": "our own SQL",
    "database/dialect.py": "our own SQL",
    "workspace/state_file.py": JSON,
    "workspace/prompt_files.py": JSON,
    "workspace/changes/listed_names.py": JSON,
    "workspace/git/tracked.py": "the index of git, in one pass",
    "threads/store/rows.py": JSON,
    "threads/store/store.py": JSON,
    "testing/loopback.py": "for tests",
    "testing/word_embedder.py": "for tests",
    "threads/audit.py": "the beginning of a hash that somebody typed",
    "memory/places.py": "a setting of the person, which is short",
    "workspace/changes/mounts.py": "written by the kernel",
    "workspace/git/submodules.py": "lines of packed-refs, as workspace/git/shadow.py reads them",
    "workspace/indexed_folders.py": JSON,
    "workspace/web/download.py": JSON,
    "models/http.py": JSON,
}
"""Modules that take text apart and are reached by none of the parsers, and why."""


def reached() -> set[str]:
    """Return the files with a function that some parser calls."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    text = "# a: @file:a.py:1-2 {b} `c`\ndate: 2024-01-02\nuser: 3 days ago http://a/b\n"
    for parser in PARSERS.values():
        made = parser.prepare(text)
        sys.setprofile(note)
        try:
            parser.parse(made)
        finally:
            sys.setprofile(None)
    return found


def test_every_module_that_takes_text_apart_is_measured_or_says_why_not() -> None:
    package = Path(promptuary.__file__).parent
    # In a process of its own: what another test has cached is not called again.
    program = f"import {__name__} as linear; print(*linear.reached(), sep='\\n')"
    root = Path(__file__).parents[2]
    called = subprocess.run([sys.executable, "-c", program], cwd=root, check=True, capture_output=True, text=True)
    takes_apart = [path for path in package.rglob("*.py") if TAKES_APART.search(path.read_text(encoding="utf-8"))]
    missing = {
        path.relative_to(package).as_posix() for path in takes_apart if str(path) not in called.stdout.splitlines()
    }

    assert sorted(missing ^ set(NOT_MEASURED)) == []


def families(parser: str) -> list[str]:
    """Return what ``parser`` is given: all, or a slice in which every family goes to some parser."""
    turn = list(PARSERS).index(parser)
    return [family for number, family in enumerate(FAMILIES) if TORTURE or (number + turn) % len(PARSERS) == 0]


@pytest.mark.torture
@pytest.mark.parametrize("parser", PARSERS)
def test_four_times_the_text_takes_about_four_times_the_time(parser: str, figure: Figure) -> None:
    # Of what is stopped by a deadline, only the deadline counts.
    size = figure(4_000, 8_000) if PARSERS[parser].deadline(1) else figure(8_000, 40_000)
    found = {family: growth(PARSERS[parser], FAMILIES[family], size) for family in families(parser)}

    assert [f"{family}: {one}" for family, one in found.items() if not one.is_linear] == []
    slowest = max(found, key=lambda family: found[family].large)
    print(
        f"{parser}: {len(found)} families at {size:,} and {FACTOR * size:,} characters, "
        f"at most {found[slowest].large:.2f} s ({slowest})"
    )


@pytest.mark.torture
def test_there_are_many_families_and_every_parser_gets_each_of_them() -> None:
    print(
        f"{len(FAMILIES)} families for each of {len(PARSERS)} parsers: {len(FAMILIES) * len(PARSERS):,} pairs of texts"
    )

    assert len(FAMILIES) >= 300
    assert {family for parser in PARSERS for family in families(parser)} == set(FAMILIES)


def test_what_takes_more_than_linear_time_is_noticed() -> None:
    def quadratic(text: str) -> int:
        return sum(text.count("b", start) for start in range(len(text)))

    assert not growth(Parser(quadratic), lambda size: "a" * size, 10_000).is_linear
    assert growth(Parser(quadratic, deadline=lambda _: 60.0), lambda size: "a" * size, 10_000).is_linear
    assert growth(Parser(str.split), lambda size: "a " * size, 10_000).is_linear
    assert not Growth(1.0, 5.1).is_linear


@pytest.mark.parametrize(
    ("parser", "text"),
    [
        ("settings", "a." * 20_000 + "a = 1"),
        ("settings", '"\\"".' * 8_000 + "a = 1"),
        ("settings", "[" + "a." * 20_000 + "a]"),
        ("settings", "".join(f"[a{number}{'.a' * 14}]\n" for number in range(25_000))),
        ("an outline of Markdown", "# a" + " " * 100_000 + "b"),
        ("an outline of Markdown", "# a\n" * 25_000),
        ("an outline of Markdown", "```\n# a\n```\n" * 8_000),
        ("a .org file", "* a" + " " * 100_000 + "b"),
        ("a .md file", "user: a?\nassistant: b\n" * 8_000),
        ("a .md file", "## User\n\n" * 12_000 + "## Assistant\n"),
        ("a .md file", "# a\n" * 25_000 + "user: a?\nassistant: b\n"),
        ("a .md file", "user: a?\n" + "2023-05-08\n" * 10_000 + "assistant: b\n" + "\n" * 30_000),
        ("a .txt file", "a " * 50_000 + ": b\n" + "[10:32] a: b you\n[10:33] c: d\n" * 4_000),
        ("a .md file", "---\n" + "tags: [" * 10_000 + "\n---\n"),
        ("a message", "[#a][" * 40_000),
        ("an ignore file", "[" * 100_000),
        ("an ignore file", "[" * 100_000 + "]"),
        ("an ignore file", "".join(f"a{number}*\n" for number in range(90_000))),
        ("an ignore file", "a\n!a\n" * 90_000),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_what_once_took_minutes_takes_no_longer_than_ordinary_text(parser: str, text: str) -> None:
    ordinary = "".join(f"name{number} = 'the quick brown fox'\n" for number in range(len(text) // 32))
    seconds(PARSERS[parser], "a")

    # The floor is for a machine that is slowed down by measuring coverage: what was quadratic took minutes.
    assert seconds(PARSERS[parser], text) <= 20 * max(seconds(PARSERS[parser], ordinary), 0.2)


@pytest.mark.parametrize(("language", "piece"), [("rust", 'r#"'), ("rust", '"'), ("ruby", "%w["), ("ruby", "`")])
def test_a_file_that_takes_too_long_to_parse_has_no_definitions_and_is_reported(language: str, piece: str) -> None:
    pytest.importorskip("tree_sitter")
    slow: list[str] = []
    text = piece * (200_000 // len(piece))
    parser = Parser(lambda text: definitions(text, language, lambda: slow.append(language)))

    assert seconds(parser, text) < 2 * (0.5 + 4e-6 * len(text))
    assert definitions(text, language) == ()
    assert slow == [language]


@pytest.mark.parametrize("piece", ["%w[\n", "(", "{[(\n"])
def test_code_with_thousands_of_open_brackets_is_not_parsed_since_that_fills_the_memory(piece: str) -> None:
    pytest.importorskip("tree_sitter")
    slow: list[str] = []

    assert definitions("]" * 9_000 + piece * 9_000, "rust", lambda: slow.append(piece)) == ()
    assert slow == [piece]
    assert definitions(f"fn a() {{ {'f(' * 900}1{')' * 900} }}\nfn b() {{}}" * 20, "rust")


@pytest.mark.parametrize("depth", [900, 20_000])
def test_definitions_nested_without_end_do_not_fill_the_memory(depth: int) -> None:
    pytest.importorskip("tree_sitter")
    found = definitions("class A{" * depth + "}" * depth, "java")

    assert sum(len(one.name) for one in found) < 100_000


@pytest.mark.torture
def test_an_index_of_hostile_files_ends_and_finds_the_good_ones(files: Files, figure: Figure) -> None:
    pytest.importorskip("tree_sitter")
    endings = [".md", ".org", ".rst", ".py", ".rs", ".rb", ".ts", ".c", ".java", ".txt"]
    families = list(FAMILIES.values())
    hostile = {
        f"hostile/{number}{endings[number % len(endings)]}": families[number * 7 % len(families)](
            figure(20_000, 400_000)
        )
        for number in range(figure(20, 200))
    }
    hostile["hostile/raw.rs"] = 'r#"' * figure(30_000, 300_000)
    good = {f"good/{number}.md": f"# Note {number}\n\nword{number} here\n" for number in range(figure(100, 1_000))}
    workspace = files({**hostile, **good, "hostile/.gitignore": "[" * 50_000, "promptuary.toml": "a." * 20_000})

    with search_with(workspace, hidden=True) as search:
        report = search.index([workspace])
        missing = [name for name in good if not any(hit.path == name for hit in search.find(f"word{name[5:-3]}").hits)]

    assert missing == []
    assert str(workspace / "hostile" / "raw.rs") in report.unparsed
