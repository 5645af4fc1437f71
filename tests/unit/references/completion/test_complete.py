"""What the menus offer at the end of a text."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from promptuary.base.references import KEYWORDS, KINDS, MenuItem
from promptuary.base.text import human_size
from promptuary.references.completion.complete import complete
from promptuary.references.completion.menu import HELP, CompletionSources, extensions_of, size_hint
from promptuary.references.scan import scan
from promptuary.workspace.git.repository import CommitLine
from promptuary.workspace.listing.listing import folders_of
from promptuary.workspace.matching.ranker import MatchKind, PathMatch, Ranker

PATHS = ["README.md", "docs/my file.md", "docs/word list.txt", "src/app.py", "src/core/words.py", "src/ui/work.ts"]
COMMITS = [
    CommitLine("a1b2c3d4e5f60718293a4b5c6d7e8f9012345678", "Fix the word count", "2026-01-02"),
    CommitLine("ffb2c3d4e5f60718293a4b5c6d7e8f9012345678", "Lay the foundation", "2026-01-01"),
]


class Listed:
    complete = True
    generation = 1

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = sorted(paths)
        self.folders = folders_of(paths)


def sources_of(paths: Sequence[str]) -> CompletionSources:
    ranker = Ranker(Listed(paths))

    def rank(query: str, limit: int, kinds: Sequence[MatchKind]) -> Sequence[PathMatch]:
        return ranker.rank(query, limit=limit, kinds=kinds)

    return CompletionSources(
        rank=rank,
        recent=lambda limit: ["src/app.py", "docs/my file.md"][:limit],
        extensions=lambda folder: extensions_of(paths, folder),
        commits=lambda: COMMITS,
        branches=lambda: ["main", "feature/words"],
        symbols=lambda query: [("src/app.py:Word", "class")] if "Word".startswith(query) else [],
        urls=lambda: ["https://example.com/a", "https://example.org/b"],
    )


SOURCES = sources_of(PATHS)


def inserts(text: str, sources: CompletionSources = SOURCES) -> list[str]:
    return [item.insert for item in complete(text, sources).items]


def test_a_bare_at_sign_offers_every_kind_with_an_explanation_then_recent_files() -> None:
    completion = complete("look at @", SOURCES)
    kinds, files = completion.items[: len(HELP)], completion.items[len(HELP) :]

    assert (completion.start, completion.prefix) == (8, "@")
    assert {item.insert.strip("@:") for item in kinds} == KINDS | KEYWORDS
    assert all(item.kind == "kind" and item.hint for item in kinds)
    assert [item.insert for item in files] == ["@src/app.py", '@file:"docs/my file.md"']


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@wor", ['@file:"docs/word list.txt"', "@src/ui/work.ts", "@src/core/words.py"]),
        ("@fi", ["@file:", '@file:"docs/my file.md"']),
        ("@dif", ["@diff"]),
        ("@sta", ["@staged", "@status"]),
        ("@core", ["@src/core/", "@src/core/words.py"]),
        ("@src/a", ["@src/app.py"]),
        ("@file:words", ["@file:src/core/words.py", '@file:"docs/word list.txt"']),
        ("@FILE:app", ["@file:src/app.py"]),
        ('@file:"my fi', ['@file:"docs/my file.md"']),
        ("@file:'word l", ['@file:"docs/word list.txt"']),
        ('@"my fi', ['@file:"docs/my file.md"']),
        ("@folder:", ["@folder:src/", "@folder:docs/", "@folder:src/ui/", "@folder:src/core/"]),
        ("@folder:co", ["@folder:src/core/"]),
        ("@glob:", ["@glob:**/*.md", "@glob:**/*.py", "@glob:**/*.ts", "@glob:**/*.txt"]),
        ("@glob:**/*.t", ["@glob:**/*.ts", "@glob:**/*.txt"]),
        ("@glob:py", ["@glob:**/*.py"]),
        ("@glob:src/", ["@glob:src/**/*.py", "@glob:src/**/*.ts"]),
        ("@git:1", ["@git:1", "@git:10"]),
        ("@git:mai", ["@git:main..HEAD"]),
        ("@commit:", ["@commit:a1b2c3d4e5", "@commit:ffb2c3d4e5"]),
        ("@commit:ff", ["@commit:ffb2c3d4e5"]),
        ("@commit:found", ["@commit:ffb2c3d4e5"]),
        ('@commit:"word co', ["@commit:a1b2c3d4e5"]),
        ("@symbol:Wo", ["@symbol:src/app.py:Word"]),
        ("@symbol:No", []),
        ("@url:", ["@url:https://example.com/a", "@url:https://example.org/b"]),
        ("@url:org", ["@url:https://example.org/b"]),
        ("#wor", ['#"docs/word list.txt"', "#src/ui/work.ts", "#src/core/words.py"]),
        ('#"my', ['#"docs/my file.md"']),
    ],
)
def test_every_kind_completes(text: str, expected: list[str]) -> None:
    assert inserts(text) == expected
    assert inserts(f"first line\nand then {text}") == expected


def test_git_offers_counts_then_branches_then_recent_commits() -> None:
    items = complete("@git:", SOURCES).items

    assert [item.insert for item in items] == [
        "@git:1",
        "@git:3",
        "@git:10",
        "@git:main..HEAD",
        "@git:feature/words..HEAD",
        "@git:a1b2c3d4e5..HEAD",
        "@git:ffb2c3d4e5..HEAD",
    ]
    assert items[5].hint == "since: Fix the word count"


def test_a_commit_is_shown_by_its_subject() -> None:
    item = complete("@commit:a1", SOURCES).items[0]

    assert item == MenuItem("@commit:a1b2c3d4e5", "Fix the word count", "commit", "a1b2c3d4e5 · 2026-01-02")


def test_a_glob_says_how_many_files_it_would_find() -> None:
    assert [item.hint for item in complete("@glob:", SOURCES).items] == ["2 files", "2 files", "1 file", "1 file"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no sigil",
        "me@",
        "me@wor",
        "mail ada.lovelace@wor",
        "a/@wor",
        "x.@wor",
        "x-@wor",
        "@@wor",
        "C#wor",
        "&#wor",
        "\\@wor",
        "`@wor",
        "see `code @wor",
        "``a ` @wor",
        "```\n@wor",
        "text\n~~~py\nx = 1\n@wor",
        "https://example.com/@wor",
        "@src/app.py ",
        "@wor\n",
        '@file:"docs/my file.md" ',
        "# Heading",
    ],
)
def test_nothing_is_offered_in_emails_in_code_or_after_a_finished_reference(text: str) -> None:
    assert complete(text, SOURCES).items == ()


@pytest.mark.parametrize(
    "before", ["", "(", "`code` ", "```\ncode\n```\n", "don't ", "“", "，", "me@example.com ", "\t", "[", '"']
)
def test_a_reference_may_begin_after_punctuation_and_after_closed_code(before: str) -> None:
    completion = complete(f"{before}@src/ap", SOURCES)

    assert [item.insert for item in completion.items] == ["@src/app.py"]
    assert completion.start == len(before)


AWKWARD = [
    "plain.py",
    "a b.py",
    "it's.py",
    'say "hi".py',
    "tick`s.py",
    "both\"'`.py",
    "(x).py",
    "ends.",
    "diff",
]
AWKWARD += [
    "a,b.py",
    "é/ü.py",
    "日本語.md",
    "x!.py",
    "[slug].tsx",
    "a;b",
    "star*.py",
    "#1.md",
    "@scope/pkg.json",
    "v1:10.py",
]


@pytest.mark.parametrize("path", AWKWARD)
@pytest.mark.parametrize("start", ["@", "@file:", "#"])
def test_what_is_inserted_is_read_back_as_the_same_path(path: str, start: str) -> None:
    sources = CompletionSources(rank=lambda _query, _limit, _kinds: [PathMatch(path, "file", 0)], kinds={"file": ""})  # type: ignore[arg-type]
    (item,) = [item for item in complete(f"{start}q", sources).items if item.kind == "file"]

    (reference,) = scan(f"see {item.insert} please")
    assert (reference.value, reference.raw, reference.sigil) == (path, item.insert, start[0])


@pytest.mark.parametrize("path", ["new\nline.py", "bell\x07.py", "back\\slash.py", "bad\udcff.py", "esc\x1b[31m.py"])
def test_a_name_that_cannot_be_written_is_not_offered(path: str) -> None:
    sources = CompletionSources(rank=lambda _query, _limit, _kinds: [PathMatch(path, "file", 0)])  # type: ignore[arg-type]

    assert inserts("@file:x", sources) == []


def test_a_name_that_would_reorder_the_menu_is_shown_with_its_hidden_characters() -> None:
    sources = CompletionSources(rank=lambda _query, _limit, _kinds: [PathMatch("a\u202eyp.py", "file", 0, (0, 4))])  # type: ignore[arg-type]
    (item,) = complete("@file:a", sources).items

    assert (item.label, item.matches) == ("a⟨U+202E⟩yp.py", ())


def test_what_policy_refuses_is_not_offered_and_leaves_no_gap() -> None:
    paths = [f"key{number}.pem" for number in range(5)] + [f"key{number}.py" for number in range(5)]
    sources = replace(sources_of(paths), allowed=lambda path: not path.endswith(".pem"))

    assert [item.label for item in complete("@file:key", sources, limit=5).items] == paths[5:]


def test_the_files_shown_are_measured_and_no_others() -> None:
    asked: list[str] = []

    def measure(path: str) -> tuple[int, int, int]:
        asked.append(path)
        return 4_120, 120, 980

    sources = replace(SOURCES, measure=measure)
    completion = complete("@file:wor", sources, limit=2)

    assert [item.hint for item in completion.items] == ["4.1 kB · 120 lines · 980 tokens"] * 2
    assert asked == ["docs/word list.txt", "src/ui/work.ts"]


@pytest.mark.parametrize(
    ("typed", "insert"),
    [
        ("@file:it's", '@file:"it\'s mine.md"'),
        ("@file:\"it's mi", '@file:"it\'s mine.md"'),
        ("@it's", '@file:"it\'s mine.md"'),
        ('@file:"say \\"hel', "@file:'say \"hello\".txt'"),
        ('#"say \\"hel', '#"say \\"hello\\".txt"'),
    ],
)
def test_quotes_in_a_name_are_typed_as_they_are_and_inserted_as_they_are_read(typed: str, insert: str) -> None:
    items = complete(typed, sources_of(["it's mine.md", 'say "hello".txt', "other.md"])).items

    assert items[0].insert == insert
    (found,) = scan(insert)
    assert found.raw == insert
    assert found.value == items[0].path


def test_a_value_whose_quote_is_closed_has_no_menu() -> None:
    assert complete('@file:"a.py":10', sources_of(["a.py"])).items == ()


def test_measuring_stops_when_it_takes_too_long() -> None:
    now = 0.0

    def slow(_path: str) -> tuple[int, None, None]:
        nonlocal now
        now += 0.006
        return 10, None, None

    sources = replace(sources_of([f"a{number}.py" for number in range(5)]), measure=slow, clock=lambda: now)

    assert [item.hint for item in complete("@file:a", sources).items] == ["10 B", "10 B", "", "", ""]


def test_a_menu_tells_that_the_workspace_is_still_being_listed() -> None:
    assert complete("@wor", replace(SOURCES, scanning=lambda: True)).scanning
    assert not complete("@wor", SOURCES).scanning


def test_the_letters_that_match_are_marked_in_the_label() -> None:
    item = complete("@file:wor", SOURCES).items[0]

    assert "".join(item.label[index] for index in item.matches) == "wor"


def test_a_kind_of_a_plug_in_is_offered_with_the_others() -> None:
    sources = replace(SOURCES, kinds={**HELP, "ticket": "a ticket of the tracker"})

    assert inserts("@tick", sources)[0] == "@ticket:"
    assert inserts("@ticket:12", sources) == []


def test_an_empty_workspace_offers_kinds_only() -> None:
    assert {item.kind for item in complete("@", CompletionSources()).items} == {"kind"}
    assert complete("@file:", CompletionSources()).items == ()


def test_a_long_message_and_a_long_token_are_answered() -> None:
    assert inserts("word `code` " * 20_000 + "@src/ap") == ["@src/app.py"]
    assert inserts("@" + "x" * 100_000) == []


def test_sizes_are_written_for_people() -> None:
    assert [human_size(count) for count in (0, 999, 1_000, 4_120, 2_500_000)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "4.1 kB",
        "2.5 MB",
    ]
    assert size_hint((10, 1, 1)) == "10 B · 1 line · 1 token"
    assert size_hint((2_500_000, None, None)) == "2.5 MB"
    assert size_hint(None) == ""


def test_extensions_are_counted_below_a_folder() -> None:
    assert extensions_of(PATHS) == {"md": 2, "py": 2, "ts": 1, "txt": 1}
    assert extensions_of([".gitignore", "Makefile", "a.tar.gz", "src/.env.py"], "src/") == {"py": 1}


MORE = sources_of(["docs/a@b.md", "node_modules/@types/x.md", "notes/bees and hives.md", "notes/odd[1].md", "bees.py"])


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("see @docs/a@b", "@docs/a@b.md"),
        ("see @a@", "@docs/a@b.md"),
        ("see @file:a@b", "@file:docs/a@b.md"),
        ("see #docs/a@b", "#docs/a@b.md"),
        ("see @node_modules/@ty", "@node_modules/@types/x.md"),
        ("mail me@here.org @a@b", "@docs/a@b.md"),
    ],
)
def test_a_name_may_hold_another_sigil(text: str, offered: str) -> None:
    assert offered in inserts(text, MORE)


@pytest.mark.parametrize("text", ["mail me@here.org", "mail me@he@re", "x@" * 5_000])
def test_a_sigil_within_a_word_still_opens_no_menu(text: str) -> None:
    assert inserts(text, MORE) == []


def test_two_brackets_offer_notes_as_links() -> None:
    menu = complete("see [[bee", MORE)

    assert (menu.start, menu.prefix) == (4, "[[bee")
    assert [item.insert for item in menu.items] == ["[[notes/bees and hives]]"]
    assert inserts("see [[bees and", MORE) == ["[[notes/bees and hives]]"]
    assert "[[docs/a@b]]" in inserts("[[", MORE)
    assert not any("odd" in one for one in inserts("[[odd", MORE))
    assert inserts("`code [[bee", MORE) == inserts("see [[bees]] and", MORE) == []
