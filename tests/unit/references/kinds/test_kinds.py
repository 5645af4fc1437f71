"""What each kind of reference brings, beyond the plain case."""

import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.references.expansion import Expansion
from promptuary.references.kinds.glob import MAX_FILES
from promptuary.workspace.listing.listing import NameStream, _Scan
from tests.conftest import Files, git


def expand(project: Path, text: str, **options: Any) -> Expansion:
    with Promptuary.open(project, exact=True, **options) as promptuary:
        return promptuary.expand(text)


def content(project: Path, text: str, **options: Any) -> str:
    return expand(project, text, **options).messages[-1]["content"]


def test_a_tree_honours_ignore_files_and_marks_what_is_not_readable(files: Files, repository: Path) -> None:
    files(
        {
            ".gitignore": "build/\n",
            "build/x.js": "",
            "src/.promptuaryignore": "*.log\n",
            "src/a.log": "",
            "src/b.py": "x\n",
        }
    )
    files({"src/logo.png": b"\x89PNG\0", "src/.env": "A=1\n"})

    text = content(repository, "@folder:.")
    assert "build" not in text.replace(".gitignore", "")
    assert "a.log" not in text
    assert "b.py  2 B · 1 line · 2 tokens" in text
    assert "logo.png  5 B · not readable: DISALLOWED_EXTENSION" in text
    assert ".env  4 B · not readable: SENSITIVE_PATH" in text


def test_an_ignored_folder_that_is_named_outright_is_shown(files: Files, repository: Path) -> None:
    files({".gitignore": "build/\n", "build/x.js": "let x\n"})

    assert "x.js" in content(repository, "@folder:build")
    assert "let x" in content(repository, "@file:build/x.js")
    assert expand(repository, "@glob:build/*.js").outcomes[0].code == "NO_MATCH"


def test_an_empty_folder_says_so(workspace: Path) -> None:
    (workspace / "void").mkdir()

    assert "void/  (no files)" in content(workspace, "@folder:void")


def test_a_large_tree_is_folded_level_by_level(files: Files) -> None:
    project = files({f"a{i}/b{j}/c{k}.txt": "x" for i in range(4) for j in range(4) for k in range(6)})

    outcome = expand(project, "@folder:.", window=1_000).outcomes[0]
    text = content(project, "@folder:.", window=1_000)
    assert (outcome.status, outcome.detail) == ("degraded", "outline")
    assert "b3/  (6 files" in text
    assert "c0.txt" not in text


def test_a_pattern_that_matches_too_much_is_cut_with_a_notice(files: Files) -> None:
    project = files({f"f{n:04}.txt": "x" for n in range(MAX_FILES + 20)})

    assert f"matches {MAX_FILES + 20} files; only the first {MAX_FILES} are read" in content(project, "@glob:*.txt")


def test_braces_and_excludes_work_in_patterns(files: Files) -> None:
    project = files(dict.fromkeys(("a.py", "b.ts", "c.go", "t/a.py", "t/deep/b.ts"), "x\n"))

    blocks = expand(project, "@glob:**/*.{py,ts},!t/deep/**").blocks
    assert [block.source.label for block in blocks] == ["a.py", "b.ts", "t/a.py"]


@pytest.mark.parametrize("pattern", ["../**", "/etc/*", "~/*"])
def test_a_pattern_cannot_leave_the_workspace(files: Files, pattern: str) -> None:
    outcome = expand(files({"a.py": ""}), f"@glob:{pattern}").outcomes[0]

    assert outcome.code in {"PATH_TRAVERSAL", "ABSOLUTE_PATH"}


def test_several_ranges_are_joined_with_what_lies_between_them_marked(files: Files) -> None:
    project = files({"a.txt": "".join(f"line {n}\n" for n in range(1, 21))})

    text = content(project, "@file:a.txt:1-2,10,18-")
    assert (
        "line 1\nline 2\n⋯ lines 3-9 left out ⋯\nline 10\n⋯ lines 11-17 left out ⋯\nline 18\nline 19\nline 20\n" in text
    )


def test_a_range_past_the_end_is_clamped_and_says_so(files: Files) -> None:
    project = files({"a.txt": "1\n2\n3\n"})

    assert "lines 2-3 of 3; the file ends at line 3" in content(project, "@file:a.txt:2-99")


def test_an_empty_file_is_included_as_empty(files: Files) -> None:
    project = files({"a.txt": ""})

    assert "file; empty" in content(project, "@file:a.txt")
    assert expand(project, "@file:a.txt").outcomes[0].status == "included"


def test_text_in_other_encodings_is_decoded(files: Files) -> None:
    project = files({"a.txt": "\ufeffgrüße".encode("utf-16-le"), "b.txt": "grüße aus köln\n".encode("cp1252")})

    assert content(project, "@file:a.txt").count("grüße") == 1
    assert "decoded from" in content(project, "@file:b.txt")


def test_a_symbol_is_found_in_the_language_it_is_in(files: Files) -> None:
    project = files({"a.py": "class A:\n    def run(self): pass\n", "b.ts": "class B { run() { return 1 } }\n"})

    assert [block.source.label for block in expand(project, "@symbol:run").blocks] == ["a.py#A.run", "b.ts#B.run"]
    assert [block.source.label for block in expand(project, "@symbol:B.run").blocks] == ["b.ts#B.run"]


@pytest.mark.parametrize(
    ("reference", "label", "shown"),
    [
        ("@symbol:Point::new", "p.rs#Point.new", "/// Makes one.\n#[inline]\npub fn new() -> Self { Point }\n"),
        ("@symbol:Point.new", "p.rs#Point.new", "/// Makes one.\n#[inline]\npub fn new() -> Self { Point }\n"),
        ("@file:p.rs#Point::new", "p.rs#Point.new", "/// Makes one.\n#[inline]\npub fn new() -> Self { Point }\n"),
        ("@symbol:A::b", "a.cpp#A.b", "// The body.\nvoid A::b() {}\n"),
        ("@symbol:Reader.Read", "r.go#Reader.Read", "\t// Read reads.\n\tRead() int\n"),
        ("@symbol:LIMIT", "c.py#LIMIT", "# As many as fit.\nLIMIT = 3\n"),
    ],
)
def test_a_symbol_comes_with_what_stands_above_it_however_its_name_is_spelled(
    files: Files, reference: str, label: str, shown: str
) -> None:
    pytest.importorskip("tree_sitter")
    project = files(
        {
            "p.rs": "struct Point;\nimpl Point {\n/// Makes one.\n#[inline]\npub fn new() -> Self { Point }\n}\n",
            "a.h": "class A { void b(); };\n",
            "a.cpp": "\n// The body.\nvoid A::b() {}\n",
            "r.go": "package r\n\ntype Reader interface {\n\t// Read reads.\n\tRead() int\n}\n",
            "c.py": "import os\n# As many as fit.\nLIMIT = 3\n\ndef f():\n    return LIMIT\n",
        }
    )
    (block,) = expand(project, reference).blocks

    assert (block.source.label, block.source.text) == (label, shown)


def test_a_symbol_with_many_definitions_names_the_others(files: Files) -> None:
    project = files({f"m{n}.py": "def main(): pass\n" for n in range(8)})

    text = content(project, "@symbol:main")
    assert "main is defined 8 times" in text
    assert "m7.py#main" in text


SLOW = 'r#"' * 30_000
"""Rust that takes quadratic time to parse."""


def test_a_file_that_takes_too_long_to_parse_is_attached_without_an_outline_and_the_person_is_told(
    files: Files,
) -> None:
    pytest.importorskip("tree_sitter")
    project = files({"raw.rs": SLOW, "b.rs": "fn main() {}\n"})
    found = expand(project, "@file:raw.rs and @glob:*.rs", window=4_000)

    assert [(block.source.label, block.detail) for block in found.blocks] == [("raw.rs", "excerpt"), ("b.rs", "full")]
    assert [one for one in found.general_warnings if "parse" in one] == [
        "raw.rs has no outline: it takes too long to parse"
    ]


def test_a_symbol_in_a_file_that_takes_too_long_to_parse_is_refused_with_advice(files: Files) -> None:
    pytest.importorskip("tree_sitter")
    (outcome,) = expand(files({"raw.rs": SLOW}), "@file:raw.rs#main").outcomes

    assert outcome.code == "TIMEOUT"
    assert outcome.reason == "raw.rs takes too long to parse; use a line range instead of main"


def test_a_search_for_a_symbol_names_the_files_that_take_too_long_to_parse(files: Files) -> None:
    pytest.importorskip("tree_sitter")
    project = files({"raw.rs": f"fn main() {{}} fn other() {{}}\n{SLOW}", "b.rs": "fn main() {}\n"})
    found, missing = expand(project, "@symbol:main"), expand(project, "@symbol:other")
    slow = "raw.rs could not be searched, since parsing takes too long"

    assert [block.source.label for block in found.blocks] == ["b.rs#main"]
    assert found.general_warnings == (f"main may be defined elsewhere, too: {slow}",)
    assert missing.outcomes[0].reason == f"nothing called other is defined in this workspace; {slow}"


@pytest.mark.parametrize("reference", ["@folder:.", "@glob:**/*.txt", "@symbol:main"])
def test_ignore_files_with_too_many_rules_are_named_where_files_are_listed(files: Files, reference: str) -> None:
    rules = "".join(f"a{number}*\n" for number in range(2_001))
    project = files({"a.txt": "x\n", "b.py": "def main(): pass\n", ".ignore": rules, "c/.gitignore": rules})

    assert expand(project, f"{reference} and @file:a.txt").general_warnings == (
        "too many rules to apply all, so files that they should hide may be listed: .ignore and 1 more",
    )
    assert expand(project, "@file:a.txt").general_warnings == ()


def test_a_missing_symbol_of_a_file_names_those_it_has(files: Files) -> None:
    outcome = expand(files({"a.py": "def one(): pass\ndef two(): pass\n"}), "@file:a.py#three").outcomes[0]

    assert outcome.reason == "a.py does not define three: it defines one, two"


def test_a_large_file_becomes_an_outline_or_an_excerpt_and_then_its_name(files: Files) -> None:
    code = "".join(f"def function_{n}(argument: int) -> int:\n" + "    argument += 1\n" * 30 for n in range(40))
    project = files({"a.py": code, "a.txt": code})
    details = {
        name: [expand(project, f"@file:{name}", window=window).outcomes[0].detail for window in (60_000, 6_000, 130)]
        for name in ("a.py", "a.txt")
    }

    assert details == {"a.py": ["full", "outline", "path"], "a.txt": ["full", "excerpt", "path"]}


@pytest.mark.parametrize("window", [600, 1_000, 1_600, 2_600])
def test_what_does_not_fit_shows_definitions_first_and_imports_last(files: Files, window: int) -> None:
    imports = "".join(f"from package.module_{n} import name_{n}\n" for n in range(40))
    methods = "".join(f"    def method_{n}(self):\n" + "        work()\n" * 5 for n in range(60))
    text = content(
        files({"a.py": f'"""Imports much."""\n\n{imports}\n\nclass Large:\n{methods}'}), "@file:a.py", window=window
    )

    assert text.count("def method_") > 10
    if text.count("def method_") < 60 or "        work()" not in text:
        assert "from package" not in text


def test_one_large_file_does_not_starve_the_small_ones(files: Files) -> None:
    project = files({"big.txt": "many words here\n" * 5_000, "small.txt": "small\n", "tiny.txt": "tiny\n"})

    outcomes = expand(project, "@file:big.txt @file:small.txt @file:tiny.txt", window=2_000).outcomes
    assert [one.detail for one in outcomes] == ["excerpt", "full", "full"]


def test_what_is_named_outright_goes_before_what_a_pattern_brings(files: Files) -> None:
    project = files(
        {f"src/{n}.txt": "many words here\n" * 300 for n in range(20)} | {"named.txt": "many words here\n" * 300}
    )

    outcomes = expand(project, "@glob:src/*.txt @file:named.txt", window=6_000).outcomes
    assert outcomes[1].detail == "full"
    assert outcomes[0].status == "degraded"


def test_a_minified_line_is_cut_by_characters(files: Files) -> None:
    text = content(files({"a.js": "x=1;" * 20_000}), "@file:a.js", window=2_000)

    assert "characters left out ⋯" in text
    assert text.count("x=1;") > 100


def test_invisible_characters_are_shown_and_counted(files: Files) -> None:
    text = content(files({"a.md": "pay\u200bload \U000e0041\n"}), "@file:a.md")

    assert "pay⟨U+200B⟩load ⟨U+E0041⟩" in text
    assert "2 invisible or control characters shown" in text


def test_git_references_outside_a_repository_say_so(files: Files) -> None:
    project = files({"a.txt": "x"})

    assert [one.code for one in expand(project, "@diff @git:3 @status").outcomes] == ["NOT_A_REPOSITORY"] * 3


def test_a_large_diff_is_told_by_its_files(files: Files, repository: Path) -> None:
    files({f"{n}.txt": "old\n" * 300 for n in range(5)})
    git(repository, "add", ".")
    files({f"{n}.txt": "new\n" * 300 for n in range(5)})

    text = content(repository, "@diff", window=1_500)
    assert "4.txt | +300 −300" in text
    assert "5 files changed, +1500 −1500" in text


def test_a_reference_that_takes_too_long_fails_alone(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from promptuary.references.kinds import KINDS

    project = files({"a.txt": "here\n"})
    released = threading.Event()
    monkeypatch.setitem(KINDS, "symbol", lambda *_: released.wait() and [])
    outcomes = expand(project, "@symbol:x @file:a.txt", timeout=1.0).outcomes
    released.set()

    assert [(one.status, one.code) for one in outcomes] == [("failed", "TIMEOUT"), ("included", None)]


def test_a_defect_of_one_kind_fails_alone(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    from promptuary.references.kinds import KINDS

    monkeypatch.setitem(KINDS, "symbol", lambda *_: 1 / 0)
    outcomes = expand(files({"a.txt": "here\n"}), "@symbol:x @file:a.txt").outcomes

    assert [(one.status, one.code) for one in outcomes] == [("failed", "INTERNAL"), ("included", None)]


def test_one_large_file_does_not_hide_the_rest_of_a_diff(files: Files, repository: Path) -> None:
    files({"a.txt": "one\n"})
    git(repository, "add", ".")
    files({"a.txt": "two\n", "huge.txt": "words and more words\n" * 8_000})

    text = content(repository, "@diff", window=20_000)
    assert "-one\n+two" in text
    assert re.search(r"diff --git a/huge.txt b/huge.txt\n(.*\n)+⋯ [\d,]+ more lines of this file ⋯\n", text)


def test_a_folder_of_very_many_files_is_cut_short_before_it_is_folded(files: Files) -> None:
    project = files({f"many/f{n:04}.txt": "x" for n in range(2_500)} | {"few/deep/down/a.txt": "x"})

    text = content(project, "@folder:.", window=20_000)
    more = re.search(r"└── … ([\d,]+) more\n", text)
    assert more
    assert "f0100.txt" in text
    assert text.count(".txt") - 1 + int(more[1].replace(",", "")) == 2_500
    assert "many/  (2,500 files" in text
    assert "a.txt" in text


def test_every_file_of_a_tree_is_counted(files: Files) -> None:
    project = files({f"f{n:04}.txt": "x" for n in range(1_100)})

    assert "1,100 files, 1.1 kB, 1,100 tokens" in content(project, "@folder:.")


def test_what_is_too_much_to_count_is_estimated_and_says_so(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    from promptuary.references.kinds import folder

    monkeypatch.setattr(folder, "_MEASURED_BYTES", 500)
    project = files(
        {f"f{n}.txt": "word " * 100 for n in range(3)} | {"below/z.txt": "word " * 1_000, "below/.env": "A"}
    )

    text = content(project, "@folder:.")
    assert "f0.txt  500 B · 1 line · 101 tokens" in text
    assert "z.txt  5.0 kB · ~1,010 tokens" in text
    assert "below/  (2 files, 5.0 kB, ~1,010 tokens)" in text
    assert ".env  1 B · not readable: SENSITIVE_PATH" in text
    assert "~: the tokens of 3 files are estimated from their sizes" in text


def test_a_tree_of_too_many_files_names_and_measures_some_and_counts_all(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    from promptuary.references.kinds import folder
    from promptuary.references.shorten import tree

    monkeypatch.setattr(tree, "MAX_NAMED", 30)
    project = files({f"f{n:02}.txt": "word" for n in range(20)} | {f"below/{n:02}/g.txt": "word" for n in range(40)})

    text = content(project, "@folder:.")
    assert text.count(".txt") == 30
    assert "./  (60 files, 240 B, 60 tokens)" in text
    assert "below/  (40 files, 160 B, 40 tokens)" in text
    assert "│   └── … 30 more\n" in text
    assert "30 files are counted and not named: name a folder below" in text

    monkeypatch.setattr(folder, "_MEASURED_BYTES", 80)
    monkeypatch.setattr(folder, "_ESTIMATING_SECONDS", -folder._MEASURING_SECONDS)
    text = content(project, "@folder:.")
    assert "./  (60 files, more than 80 B, ~20 tokens)" in text
    assert "the sizes of 40 files were not looked up: there are too many" in text


@pytest.mark.parametrize("reference", ["@folder:.", "@folder:sub", "@glob:**/*.txt"])
def test_a_list_of_files_that_takes_too_long_is_used_as_far_as_it_came_and_says_so(
    files: Files, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    from promptuary.references.kinds import glob
    from promptuary.workspace import workspace

    project = files({"a.txt": "x", "sub/b.txt": "x"})
    for module in (glob, workspace):
        monkeypatch.setattr(module, "LISTING_SECONDS", 0.01)
    finish = threading.Event()
    listed = _Scan.list_all

    def slow(self: _Scan, streams: Sequence[NameStream], *, hide: bool) -> list[str]:
        found = listed(self, streams, hide=hide)
        finish.wait(30)
        return found

    monkeypatch.setattr(_Scan, "list_all", slow)
    try:
        expansion = expand(project, reference)
    finally:
        finish.set()
    assert "there are more files than could be listed in time" in str(expansion)


def test_the_top_of_a_large_folder_is_listed_before_anything_below(files: Files) -> None:
    project = files({f"part-{n:03}/{deep}/{name}.py": "x = 1\n" for n in range(105) for deep in "ab" for name in "cde"})

    expansion = expand(project, "@folder:.", window=5_000)
    text = expansion.messages[-1]["content"]
    assert all(f" part-{n:03}/  (6 files" in text for n in range(105))
    assert "… " not in text.split("part-104/")[1]


def test_what_is_not_readable_is_marked_in_a_tree_without_sizes(files: Files) -> None:
    project = files({"zip.pem": "A=1\n"} | {f"name_of_file_{n:03}.txt": "x" for n in range(100)})

    text = content(project, "@folder:.", window=2_000)
    assert "├── name_of_file_099.txt\n└── zip.pem  not readable\n" in text


def test_all_commits_of_a_history_are_named_before_any_is_shown(files: Files, repository: Path) -> None:
    for number in range(30):
        files({"a.txt": "".join(f"line {n} of {number}\n" for n in range(200))})
        git(repository, "add", ".")
        git(repository, "commit", "-qm", f"Write version {number}\n\nThis is why.")

    short = content(repository, "@git:30", window=1_200)
    assert all(f" Write version {number}\n" in short for number in range(30))
    longer = content(repository, "@git:30", window=8_000)
    assert all(f"    Write version {number}\n    \n    This is why.\n" in longer for number in range(30))
    assert " a.txt | +200 −200\n" in longer


def test_commits_that_are_too_many_to_be_named_are_counted(files: Files, repository: Path) -> None:
    files({"a.txt": "x\n"})
    git(repository, "add", ".")
    for number in range(90):
        git(repository, "commit", "--allow-empty", "-qm", f"A rather long subject of the commit number {number}")

    text = content(repository, "@git:90", window=1_000)
    named = len(re.findall(r"^[0-9a-f]{12} A rather long subject", text, re.MULTILINE))
    assert named > 20
    assert f"⋯ {90 - named} more commits" in text


def test_a_renamed_file_is_named_by_both_paths_where_its_changes_do_not_fit(files: Files, repository: Path) -> None:
    files({"old name.txt": "line\n" * 2_000, "b/b/b.txt": "x\n" * 900})
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Begin")
    git(repository, "mv", "old name.txt", "new name.txt")
    files({"b/b/b.txt": "y\n" * 900})
    git(repository, "add", ".")

    text = content(repository, "@staged", window=1_200)
    assert "rename to new name.txt" in text or " a/old name.txt b/new name.txt | +0 −0\n" in text
    assert "\n b/b/b.txt | " in text or "diff --git a/b/b/b.txt" in text


def test_a_file_that_hardly_fits_keeps_nearly_all_of_its_bodies(files: Files) -> None:
    code = "".join(
        f"def function_{n}(argument: int) -> int:\n" + f"    argument += {n}\n" * (10 + n) + "\n\n" for n in range(20)
    )
    project = files({"a.py": code})
    full = expand(project, "@file:a.py").spend.injected

    text = content(project, "@file:a.py", window=2 * int(full * 0.99))
    assert sum(f"    argument += {n}\n" * (10 + n) in text for n in range(20)) == 19
    assert "⋯ lines " in text


def test_an_outline_leaves_out_the_deepest_definitions_first(files: Files) -> None:
    methods = "".join(f"    def method_{n}(self) -> None:\n" + "        pass\n" * 40 for n in range(40))
    project = files({"a.py": "".join(f"class Class{n}:\n{methods}" for n in range(12))})

    text = content(project, "@file:a.py", window=1_200)
    assert all(f"class Class{n}\n" in text for n in range(12))
    assert "class Class0\n    2      def method_0(self) -> None\n" in text
    assert "how it begins" not in text


def test_a_long_notice_does_not_keep_a_source_from_being_named(files: Files) -> None:
    body = "    x = 1\n" * 30
    project = files({f"module_with_a_long_name_{n}.py": f"def main():\n{body}" for n in range(15)})

    expansion = expand(project, "@symbol:main", window=1_000)
    assert len(expansion.blocks) == 5
    assert "main is defined 15 times" in (expansion.outcomes[0].reason or "")


def test_a_line_break_in_a_name_cannot_forge_a_row_of_a_tree(files: Files) -> None:
    text = content(files({"a\n├── admin.py  10 lines": "x"}), "@folder:.")

    assert "├── a⏎├── admin.py" not in text
    assert "└── a⏎├── admin.py" in text


def test_what_a_pattern_leaves_out_is_told_to_the_person_too(files: Files) -> None:
    outcome = expand(files({f"f{n:04}.txt": "x" for n in range(MAX_FILES + 5)}), "@glob:*.txt").outcomes[0]

    assert outcome.status == "degraded"
    assert outcome.reason
    assert f"only the first {MAX_FILES} are read" in outcome.reason


def test_withheld_files_of_a_diff_are_told_to_the_person_too(files: Files, repository: Path) -> None:
    files({".env": "A=1\n", "a.txt": "1\n"})
    git(repository, "add", "-f", ".")
    files({".env": "A=2\n", "a.txt": "2\n"})

    assert expand(repository, "@diff").outcomes[0].reason == "withheld by the read policy: .env"


def test_files_that_do_not_fit_at_all_are_named_to_the_model_as_far_as_that_fits(files: Files) -> None:
    project = files({f"module_{n:03}.py": "value = 1\n" * 200 for n in range(200)})

    expansion = expand(project, "@glob:*.py", window=4_000)
    text = expansion.messages[-1]["content"]
    assert expansion.spend.injected <= 2_000
    assert "## Not attached\n- module_" in text
    assert re.search(r"- and \d+ more\n", text)


def test_many_missing_references_do_not_exceed_the_limit(files: Files) -> None:
    expansion = expand(files({}), " ".join(f"@file:nope{n}.txt" for n in range(50)), window=1_000)

    assert expansion.spend.injected <= 500
    assert "more\n" in expansion.messages[-1]["content"]


def test_a_message_that_is_larger_than_the_window_is_blocked_and_says_so(files: Files) -> None:
    expansion = expand(files({"a.txt": "x\n"}), "word " * 5_000 + "@file:a.txt", window=4_000)

    assert expansion.blocked
    assert "the message alone is 5,00" in expansion.warnings[0]


def test_the_message_counts_against_what_may_be_attached(files: Files) -> None:
    expansion = expand(files({"a.txt": "many words\n" * 3_000}), "word " * 3_000 + "@file:a.txt", window=4_000)

    assert expansion.spend.injected + 3_005 <= 4_000
    assert not expansion.blocked


LONG = "many words in a line " * 90


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", f"{LONG}\n{LONG}\n{LONG}\n"),
        ("a.txt", f"{LONG}\n{LONG}"),
        ("a.txt", LONG * 5),
        ("a.txt", "".join(f"line {n}\x0c\u2028of many\n" for n in range(400))),
        ("a.txt", "".join(f"line {n}\r\n" for n in range(900))),
        ("a.py", "".join(f"def function_{n}(): return '{LONG}'\n" for n in range(3))),
        ("a.py", "".join(f"def function_{n}():\n{'    x = 1' * 30}\n" for n in range(60))),
        ("with space.md", "".join(f"# Heading {n}\n\n{LONG}\n" for n in range(20))),
    ],
)
@pytest.mark.parametrize("window", [140, 400, 1_000])
def test_a_hint_how_to_read_on_names_lines_that_exist(files: Files, name: str, text: str, window: int) -> None:
    project = files({name: text})
    shown = content(project, f'@file:"{name}"', window=window)

    hint = re.search(r"read on with (@file:\S+|@file:\".*?\":\S+)\n", shown)
    lines = text.count("\n") + (not text.endswith("\n"))
    assert (hint is None) == (lines == 1)
    if hint:
        outcome = expand(project, hint[1]).outcomes[0]
        assert outcome.status == "included"
        assert outcome.lines
        assert f":{outcome.lines[0]}-{outcome.lines[1]}" == hint[1][hint[1].rindex(":") :]
        assert outcome.lines != (1, lines)


def test_the_hint_of_an_excerpt_brings_what_is_left_out(files: Files) -> None:
    project = files({"a.txt": "".join(f"line {n}\x0c\u2028of many\n" for n in range(1, 401))})
    shown = content(project, "@file:a.txt", window=1_000)

    left_out = re.search(r"⋯ lines (\d+)-(\d+) left out ⋯\nline (\d+)", shown)
    assert left_out
    assert int(left_out[3]) == int(left_out[2]) + 1


def test_a_missing_file_at_the_root_is_reported(files: Files) -> None:
    outcomes = expand(files({"a.py": ""}), "look at #later.ts and #asp.net").outcomes

    assert [(one.reference.raw, one.status, one.code) for one in outcomes] == [("#later.ts", "missing", "NOT_FOUND")]


def test_an_excerpt_names_the_lines_that_come_next(files: Files) -> None:
    text = content(files({"a.txt": "".join(f"line {n}\n" for n in range(1, 3_000))}), "@file:a.txt", window=1_000)
    first = re.search(r"⋯ lines (\d+)-\d+ left out ⋯", text)

    assert first
    assert f"read on with @file:a.txt:{first[1]}-{int(first[1]) + 199}" in text


@pytest.mark.parametrize(
    ("text", "target", "lines"),
    [
        ("@file:a.py", "a.py", None),
        ("@file:./a.py", "a.py", None),
        ("@file:a.py:1-2", "a.py", (1, 2)),
        ('@file:"a.py":1-2', "a.py", (1, 2)),
        ("@file:a.py#L2", "a.py", (2, 2)),
        ("@file:a.py#one", "a.py", (1, 2)),
        ("@file:odd:1-2", "odd:1-2", None),
        ("@a.py:2", "a.py", (2, 2)),
        ("@symbol:one", "a.py", (1, 2)),
        ("@folder:src/", "src", None),
        ("@folder:src:contents", "src", None),
        ('@folder:"src":contents', "src", None),
        ("@folder:.", ".", None),
        ("@glob:src/*.py", "src/*.py", None),
        ("@status", "status", None),
        ("@file:a.py:90-99", "a.py", None),
        ("@file:gone.py:1-2", "gone.py", None),
        ("@file:a.py#three", "a.py", None),
        ("@symbol:three", "three", None),
        ("@folder:gone:contents", "gone", None),
    ],
)
def test_the_target_is_the_path_or_the_value_and_the_range_is_apart(
    files: Files, repository: Path, text: str, target: str, lines: tuple[int, int] | None
) -> None:
    files({"a.py": "def one():\n    pass\n", "odd:1-2": "x\n", "src/b.py": "x = 1\n"})
    (outcome,) = expand(repository, text, allowed_extensions=[""]).outcomes

    assert (outcome.target, outcome.lines) == (target, lines)
