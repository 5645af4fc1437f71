"""No file, message or setting makes a parser slow: four times the text takes about four times the time.

A parser that somebody else wrote may be slower than that, if it stops at its deadline.
"""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.config.settings import load
from promptuary.context.compact.extract import links, names, paths, prose, sentences
from promptuary.core.errors import ConfigError, SourceError
from promptuary.core.query import parse as parse_query
from promptuary.core.text import one_line, slug, visible
from promptuary.layers.instructions.imports import parse as parse_imports
from promptuary.layers.tracked.links import linked, without
from promptuary.outline import definitions, has_grammar, outline
from promptuary.references.scan import MAX_VALUE, scan
from promptuary.search.chunks.chunker import chunks
from promptuary.search.chunks.file_kinds import date_of
from promptuary.search.chunks.sizes import Sizes
from promptuary.tokens import Counter
from promptuary.workspace.git.config import parse_settings
from promptuary.workspace.git.patch import build_patch, parse_names
from promptuary.workspace.listing.glob import match_glob
from promptuary.workspace.listing.ignore import IgnoreFile
from promptuary.workspace.web.addresses import parse_url
from tests.adversarial import FAMILIES
from tests.conftest import TORTURE, Figure, Files
from tests.embedders import search_with

Parser = Callable[[str], object]


def settings(text: str) -> object:
    """Parse ``text`` as every file that settings may come from."""
    folder = Path.home() / "workspace"
    (folder / ".promptuary").mkdir(parents=True, exist_ok=True)
    user = Path.home() / ".config" / "promptuary" / "config.toml"
    user.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    for path in (folder / "promptuary.toml", folder / "pyproject.toml", folder / ".promptuary" / "config.toml"):
        path.write_bytes(data)
    load(folder)
    user.write_bytes(data)
    try:
        return load(folder)
    except ConfigError:
        return None
    finally:
        user.unlink()


def ignore_file(text: str) -> object:
    rules = IgnoreFile(text)
    return [rules.verdict(path, folder=True) for path in ("a", "a/b.c", "a" * 200, "a/" * 100 + "b")]


def pattern(text: str) -> object:
    try:
        return match_glob(["a" * 200, "a/" * 100 + "b"], [text[:MAX_VALUE]])
    except SourceError:
        return None


def message(text: str) -> object:
    references = scan(text)
    return linked(text, [(one, "a") for one in references]), without(text, references), without(text, ())


def summary(text: str) -> object:
    return [way(text) for way in (links, names, paths, prose, sentences)]


def patch(text: str) -> object:
    data = text.encode()
    listed = parse_names(b":100644 100644 1111111 2222222 M\0a\0")
    made = build_patch(listed, b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n" + data, lambda _: None)
    try:
        return made, parse_names(data)
    except (ValueError, IndexError, StopIteration):
        return made


def address(text: str) -> object:
    try:
        return parse_url(f"https://{text}"[:MAX_VALUE])
    except SourceError:
        return None


def file(name: str) -> Parser:
    return lambda text: (chunks(text, name, Sizes(), Counter()), date_of(name, text, 0))


CODE = {
    "c": "c",
    "cpp": "cpp",
    "go": "go",
    "java": "java",
    "js": "javascript",
    "rb": "ruby",
    "rs": "rust",
    "ts": "typescript",
    "tsx": "tsx",
}
PARSERS: dict[str, Parser] = {
    "settings": settings,
    "an ignore file": ignore_file,
    "a pattern": pattern,
    "a message": message,
    "a summary": summary,
    "a patch": patch,
    "an address": address,
    "a query": parse_query,
    "instructions": parse_imports,
    "git's settings": lambda text: parse_settings(text.encode()),
    "shown text": lambda text: (visible(text), one_line(text), slug(text)),
    "an outline of Markdown": lambda text: outline(text, "markdown"),
    "an outline of Python": lambda text: outline(text, "python"),
    **{f"a .{ending} file": file(f"a.{ending}") for ending in ("md", "rst", "org", "adoc", "txt", "json", "py")},
    **{f"a .{ending} file": file(f"a.{ending}") for ending, language in CODE.items() if has_grammar(language)},
}
FLOOR = 0.05
"""Seconds that a text may always take: below them the machine decides, and quadratic time would be longer."""


def seconds(parser: Parser, text: str) -> float:
    start = time.process_time()
    parser(text)
    return time.process_time() - start


def deadline(parser: str, text: str) -> float:
    """Return the time after which a parser that is not ours stops, with some to spare."""
    language = CODE.get(parser.removeprefix("a .").removesuffix(" file"))
    return 2 * (0.5 + 4e-6 * len(text.encode())) if language else 0.0


def fails(parser: str, family: str, size: int) -> str:
    """Return what is wrong with the time that ``parser`` takes for ``family``; empty if nothing is."""
    texts = FAMILIES[family](size), FAMILIES[family](4 * size)
    small = large = 0.0
    for _ in range(3):
        large = seconds(PARSERS[parser], texts[1])
        if large <= max(5 * FLOOR, deadline(parser, texts[1])):
            return ""
        small = seconds(PARSERS[parser], texts[0])
        if large <= 5 * max(small, FLOOR):
            return ""
    return f"{parser}, {family}: four times the text took {large / small:.1f} times as long: {small:.3f}, {large:.3f} s"


@pytest.mark.torture
@pytest.mark.parametrize("parser", PARSERS)
def test_four_times_the_text_takes_about_four_times_the_time(parser: str, figure: Figure) -> None:
    turn = list(PARSERS).index(parser)
    # The short slice gives every family to some parser, and every parser some of the families.
    some = [family for number, family in enumerate(FAMILIES) if TORTURE or (number + turn) % len(PARSERS) == 0]

    assert [why for family in some if (why := fails(parser, family, figure(8_000, 40_000)))] == []


def test_there_are_many_families() -> None:
    assert len(FAMILIES) >= 300


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

    assert seconds(PARSERS[parser], text) <= 20 * max(seconds(PARSERS[parser], ordinary), FLOOR)


@pytest.mark.parametrize(("language", "piece"), [("rust", 'r#"'), ("rust", '"'), ("ruby", "%w["), ("ruby", "`")])
def test_a_file_that_takes_too_long_to_parse_has_no_definitions_and_is_reported(language: str, piece: str) -> None:
    pytest.importorskip("tree_sitter")
    text, slow = piece * (200_000 // len(piece)), []
    start = time.thread_time()

    assert definitions(text, language, lambda: slow.append(language)) == ()
    assert slow == [language]
    assert time.thread_time() - start < 2 * (0.5 + 4e-6 * len(text))


def test_definitions_nested_without_end_do_not_fill_the_memory() -> None:
    pytest.importorskip("tree_sitter")
    found = definitions("class A{" * 20_000 + "}" * 20_000, "java")

    assert sum(len(one.name) for one in found) < 100_000


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

    with search_with(workspace) as search:
        report = search.index([workspace])
        missing = [name for name in good if not any(hit.path == name for hit in search.find(f"word{name[5:-3]}").hits)]

    assert missing == []
    assert str(workspace / "hostile" / "raw.rs") in report.unparsed
