"""What was probably meant as a reference and is none is told, with and without a thread; ordinary text stays silent."""

import json
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from promptuary.references.typos import MAX_SLIPS, KnownPaths, one_edit
from tests.conftest import Files, git

TREE = {
    "README.md": "Read me.\n",
    "src/main.py": "x = 1\n",
    "src/deep/b.py": "z = 3\n",
    "my notes.md": "Mine.\n",
    "my dir/a.py": "y = 2\n",
}
MEANT = [
    ("@flie:src/main.py", "@file:src/main.py"),
    ("@ifle:src/main.py", "@file:src/main.py"),
    ("@foldr:src", "@folder:src"),
    ("@dir:src", "@folder:src"),
    ('@flie:"my notes.md"', '@file:"my notes.md"'),
    ("@gti:5", "@git:5"),
    ("@uri:https://example.com/", "@url:https://example.com/"),
    ("@status:src", "@status"),
    ("see @src/mian.py, please", "@src/main.py"),
    ("@src/mian.py:1-3", "@src/main.py:1-3"),
    ("@scr/main.py", "@src/main.py"),
    ("@src/main", "@src/main.py"),
    ("@main.py", "@src/main.py"),
    ("@readme.md", "@README.md"),
    ('@"my notess.md"', '@"my notes.md"'),
    ("@file:“my notes.md”", '@file:"my notes.md"'),
    ("@file:„my notes.md“", '@file:"my notes.md"'),
    ("@“my notes.md”", '@"my notes.md"'),
    ("@search:“how do we”", '@search:"how do we"'),
    ("@file：src/main.py", "@file:src/main.py"),
    ('@file:"my notes.md', '@file:"my notes.md"'),
    ('@"my notes.md', '@"my notes.md"'),
    ("@my notes.md", '@"my notes.md"'),
    ("#my notes.md", '#"my notes.md"'),
    ("@https://example.com/x", "@url:https://example.com/x"),
    ("#file:src/main.py", "#src/main.py"),
    ("see #src/ and", "@folder:src/"),
    ("#src/deep", "@folder:src/deep"),
    ("#file:x", "#x"),
    ("@file: src/main.py", "@file:src/main.py"),
    ("@remember: always use tabs", '@remember:"always use tabs"'),
    ("look at @dif", "@diff"),
    ("@stagd?", "@staged"),
    ("@README.rst", "@README.md"),
    ("#/src/main.py", "#src/main.py"),
    ("@/src/main.py:1-3", "@src/main.py:1-3"),
    ("@src/*.py", "@glob:src/*.py"),
    ("@**/*.py", "@glob:**/*.py"),
    ("@'my notes.md'", '@"my notes.md"'),
    ("@my\\ notes.md", '@"my notes.md"'),
    ("#my\\ notes.md", '#"my notes.md"'),
    ("@codebase", '@search:"what you look for"'),
    ("@Git-Changes", "@diff"),
    ("@README.md(intro)", "@README.md"),
    ("see [[my note]]", "[[my notes]]"),
    ("@~/README.md", "@README.md"),
]
SILENT = [
    'import x from \'@/components/main.py\' and {"$ref": "#/definitions/x"} and @/absent.md',
    "mail me@example.com, or ask @alice and @bob-smith",
    "npm install @types/node @vitejs/plugin-vue @babel/core",
    "@app.route('/') @pytest.mark.parametrize(...) @click.command() @property",
    "@media (min-width: 1px) { } @import 'a.css'; @font-face @keyframes x",
    "uses: actions/checkout@v4",
    "@param {string} name @returns: nothing @see {@link x} @default",
    "@get:Rule @field:NotNull @set:Inject",
    "fixes #123, #4567 and #fff, see #general",
    "# Heading",
    "`@flie:x` and [@flie:x](y) and \\@flie:x",
    "https://example.com/@alice/src/mian.py",
    '@search:"" and @file: and @file:<path>',
    'b"/%20ABC%20123%20:/[]@",',
    "@alice: look at this, @bob:thanks",
    "@absent.py and @absent/main.rs and @absent/*.py",
    "[[ -f x ]] and [[1, 2], [3]] and a[[0]] and [[nodiscard]] and [[maybe_unused]] int x;",
    "[[tool.mypy.overrides]]",
    "[[section]]",
    "[read @src/main.py](x) and [x](@file:README.md) and [x](@README.md)",
    "@property @state @workspace @web",
    "let x = '@~/components/x' and (@'no such thing')",
]


def expand(project: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["expand", "--workspace", str(project), *arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(("text", "meant"), MEANT)
def test_a_slip_is_told_with_what_was_meant(files: Files, text: str, meant: str) -> None:
    with Promptuary.open(files(TREE)) as promptuary:
        expansion = promptuary.expand(text)

    assert [one.meant for one in expansion.slips] == [meant]
    slip = expansion.slips[0]
    assert text[slip.start : slip.end] == slip.raw
    assert str(slip) in expansion.warnings
    assert expansion.messages[-1]["content"] == text  # the model is told nothing


@pytest.mark.parametrize("text", ["@src/absent.py", "see @src/absent.py:3-5, please", '@"my dir/absent.py"'])
def test_a_file_that_is_not_in_a_folder_that_is_there_is_reported_without_a_guess(files: Files, text: str) -> None:
    with Promptuary.open(files(TREE)) as promptuary:
        expansion = promptuary.expand(text)

    assert [one.meant for one in expansion.slips] == [""]
    assert [str(one) for one in expansion.slips] == [
        f"{expansion.slips[0].raw} is sent as text: there is no such file or folder."
    ]
    assert expansion.incomplete


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("@src/nothing", "no such file or folder"),
        ("@~/x", "not read as a home folder"),
        ("@../x", "out of the workspace"),
        ("@../x.md", "out of the workspace"),
        ("see [[Nowhere]] there", "no note of this name"),
        ("[[Not a note]]", "no note of this name"),
    ],
)
def test_what_cannot_be_attached_is_told_with_the_reason(files: Files, text: str, reason: str) -> None:
    with Promptuary.open(files(TREE)) as promptuary:
        [slip] = promptuary.expand(text).slips

    assert slip.meant == ""
    assert reason in slip.reason


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("@file:SRC/Main.PY", "Did you mean src/main.py?"),
        ("@file:README.rst", "Did you mean README.md?"),
        ("@file:my\\ notes.md", '@file:"my notes.md"'),
        ("@folder:my\\ dir", '@folder:"my dir"'),
        ("@file:my dir/a.py#f", '@file:"my dir/a.py"#f'),
        ("@symbol:my dir/a.py#f", '@symbol:"my dir/a.py"#f'),
        ("@glob:my dir/*.py", '@glob:"my dir/*.py"'),
        ("@diff:my notes.md", '@diff:"my notes.md"'),
        ("@file:absent.exe", 'There is no "absent.exe"'),
        ("@file:long.md#Two words", 'long.md#"Two words"'),
    ],
)
def test_a_reference_that_fails_says_what_to_write(files: Files, text: str, told: str) -> None:
    git(files({**TREE, "long.md": "# One\n\n## Two words\n\nText.\n"}), "init", "-q")
    with Promptuary.open(files({})) as promptuary:
        [outcome] = promptuary.expand(text).outcomes

    assert outcome.status in {"missing", "refused"}
    assert told in (outcome.reason or "")


@pytest.mark.parametrize("form", ['@file:"{}"', '@"{}"', '#"{}"'])
def test_a_part_may_stand_inside_the_quotes(files: Files, form: str) -> None:
    files(TREE)
    project = files({"my long.md": "# One\n\n1\n\n## Two words\n\n2\n"})
    with Promptuary.open(project) as promptuary:
        for part, body in (("#Two words", "## Two words\n\n2"), (":3", "1")):
            [block] = promptuary.expand(form.format(f"my long.md{part}")).blocks
            assert block.source.text.strip() == body


@pytest.mark.parametrize("text", SILENT)
def test_ordinary_text_is_no_slip(files: Files, text: str) -> None:
    with Promptuary.open(files(TREE)) as promptuary:
        assert not promptuary.expand(text).incomplete


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("@file:my notes.md, please", '@file:"my notes.md"'),
        ("@file:my notes.md:1-2", '@file:"my notes.md":1-2'),
        ("@folder:my dir", '@folder:"my dir"'),
        ("@file:*.py", "@glob:*.py"),
        ("#READMEE.md", "README.md?"),
    ],
)
def test_a_reference_that_fails_names_what_was_meant(files: Files, text: str, advice: str) -> None:
    with Promptuary.open(files(TREE)) as promptuary:
        (outcome,) = promptuary.expand(text).outcomes

    assert outcome.code == "NOT_FOUND"
    assert str(outcome.reason).endswith(advice)


@pytest.mark.parametrize("text", ["@flie:src/main.py", "@src/mian.py", "#READMEE.md", "#file:src/main.py"])
@pytest.mark.parametrize("thread", [(), ("--thread", "T")])
def test_a_slip_makes_the_command_exit_with_1(
    files: Files, capsys: pytest.CaptureFixture[str], text: str, thread: tuple[str, ...]
) -> None:
    code, _, err = expand(files(TREE), capsys, *thread, text)

    assert code == 1
    assert "Did you mean" in err


def test_json_has_the_slips(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = expand(files(TREE), capsys, "--json", "@foldr:src")

    assert code == 1
    assert json.loads(out)["slips"] == [
        {"raw": "@foldr:src", "start": 0, "end": 10, "meant": "@folder:src", "reason": 'there is no kind "foldr"'}
    ]


def test_pasted_text_has_no_slips(files: Files) -> None:
    with Promptuary.open(files(TREE)) as promptuary:
        assert not promptuary.expand("see @flie:src/main.py", pasted=["@flie:src/main.py"]).slips


def test_a_message_full_of_slips_asks_the_disk_a_limited_number_of_times(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    there = KnownPaths.there

    def counted(self: KnownPaths, typed: str) -> bool:
        nonlocal asked
        asked += self._left.lookups > 0
        return there(self, typed)

    monkeypatch.setattr(KnownPaths, "there", counted)
    with Promptuary.open(files(TREE)) as promptuary:
        expansion = promptuary.expand("@src/mian.py @src/nothing-like-it x.py\n" * 3_000)

    assert len(expansion.slips) <= MAX_SLIPS
    assert asked <= 200


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("flie", "file", True),
        ("fil", "file", True),
        ("filee", "file", True),
        ("fire", "file", True),
        ("", "a", True),
        ("file", "file", False),
        ("field", "file", False),
        ("feli", "file", False),
    ],
)
def test_one_edit_is_a_letter_or_two_swapped(one: str, other: str, near: bool) -> None:
    assert one_edit(one, other) is one_edit(other, one) is near


@pytest.mark.parametrize("thread", [(), ("--thread", "t")], ids=["alone", "in a thread"])
def test_an_absolute_path_without_a_kind_is_told(
    thread: tuple[str, ...], files: Files, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = files(TREE)
    monkeypatch.chdir(root)
    text = f"See @{root}/README.md, and #{root}/src/main.py:1-2. Not x@{root}/README.md or @{root}/none.md"
    assert main(["expand", *thread, text]) == 1
    told = capsys.readouterr().err

    assert f"Did you mean @file:{root}/README.md?" in told
    assert "Did you mean #src/main.py:1-2?" in told
    assert told.count("Did you mean") == 2


def test_a_note_that_there_is_not_is_answered_with_those_of_similar_names(
    files: Files, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files({".obsidian/app.json": "{}", "Templates/Book Template.md": "# Cover\n", "a.md": "a\n"}))
    assert main(["expand", "[[Bok Template]] and [[Book Template#Pages]] and [[a#Pages]]"]) == 1
    told = capsys.readouterr().err

    assert "Did you mean Templates/Book Template.md?" in told
    assert "Book Template.md has no heading Pages: its headings are Cover" in told
    assert "a.md has no heading Pages: it has no headings" in told
