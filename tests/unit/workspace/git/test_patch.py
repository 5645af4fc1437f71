"""Patches follow git's own list of names step by step, or are refused."""

import pytest

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.git.patch import FileChange, Patch, PatchMismatchError, build_patch, parse_names, quote

META = b":100644 100644 1111111 2222222 "
TWO = (
    b"diff --git a/ok.txt b/ok.txt\nindex 1..2 100644\n--- a/ok.txt\n+++ b/ok.txt\n@@ -1 +1,2 @@\n-a\n+b\n+c\n"
    b"diff --git a/.env b/.env\nindex 1..2 100644\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-KEY=1\n+KEY=2\n"
)
TWO_NAMES = META + b"M\0ok.txt\0" + META + b"M\0.env\0"


def refuse_env(path: str) -> SourceError | None:
    return SourceError(Code.SENSITIVE_PATH, "no") if path.rpartition("/")[2].startswith(".env") else None


def shown(names: bytes, text: bytes, *, truncated: bool = False) -> Patch:
    return build_patch(parse_names(names), text, refuse_env, truncated=truncated)


def test_a_refused_file_is_named_and_not_shown() -> None:
    assert shown(TWO_NAMES, TWO) == Patch(
        text=TWO[: TWO.index(b"diff --git a/.env")].decode(),
        files=(FileChange("ok.txt", 2, 1),),
        withheld=(".env",),
    )


def test_a_rename_from_or_to_a_refused_name_is_withheld() -> None:
    names = META + b"R090\0.env\0fine.txt\0" + META + b"R090\0b.txt\0.env.b\0"
    text = (
        b"diff --git a/.env b/fine.txt\nsimilarity index 90%\n@@ -1 +1 @@\n-KEY\n+KEY\n"
        b"diff --git a/b.txt b/.env.b\nsimilarity index 90%\n@@ -1 +1 @@\n-KEY\n+KEY\n"
    )
    patch = shown(names, text)
    assert patch.text == ""
    assert patch.withheld == ("fine.txt", ".env.b")


def test_a_header_inside_content_or_a_message_opens_no_section() -> None:
    sha = b"a" * 40
    text = (
        b"commit " + sha + b"\nAuthor: x\n\n    diff --git a/ok b/ok\n    commit " + b"b" * 40 + b"\n\n"
        b"diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -0,0 +1,2 @@\n"
        b"+diff --git a/ok b/ok\n+commit " + b"c" * 40 + b"\n"
    )
    patch = shown(sha + b"\0\n" + META + b"M\0.env\0", text)
    assert "    diff --git a/ok b/ok" in patch.text
    assert "\n+" not in patch.text
    assert patch.withheld == (".env",)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (TWO_NAMES, TWO[: TWO.index(b"diff --git a/.env")]),
        (META + b"M\0ok.txt\0", TWO),
        (b"", TWO),
        (META + b"M\0other\0" + META + b"M\0.env\0", TWO),
        (META + b"M\0.env\0" + META + b"M\0ok.txt\0", TWO),
        (b"a" * 40 + b"\0", b"commit " + b"b" * 40 + b"\n"),
        (b"a" * 40 + b"\0", b"nothing"),
        (b"a" * 40 + b"\0", b""),
        (b"noise\0", b""),
        (META + b"M\0", b""),
        (META + b"R100\0only-one\0", b""),
        (b"::100644 100644 100644 1 2 3 MM\0f\0f\0f\0", b"diff --cc f\n"),
    ],
)
def test_a_patch_out_of_step_with_the_names_is_refused_whole(names: bytes, text: bytes) -> None:
    with pytest.raises(PatchMismatchError):
        shown(names, text)


def test_a_truncated_patch_keeps_whole_lines_and_lists_the_files_it_did_not_reach() -> None:
    cut = TWO.index(b"+c") + 1
    patch = shown(TWO_NAMES, TWO[:cut], truncated=True)
    assert patch.truncated
    assert patch.text.endswith("-a\n+b\n")
    assert patch.files == (FileChange("ok.txt", None, None),)
    assert patch.withheld == (".env",)


def test_a_truncated_patch_still_withholds() -> None:
    for cut in range(len(TWO)):
        assert "KEY" not in shown(TWO_NAMES, TWO[:cut], truncated=True).text


def test_a_type_change_is_one_file_in_two_sections() -> None:
    section = b"diff --git a/l b/l\n@@ -1 +0,0 @@\n-x\n"
    patch = shown(b":120000 100644 1 2 T\0l\0", section + section.replace(b"-x", b"+x"))
    assert patch.files == (FileChange("l", 1, 1),)


def test_a_conflict_counts_both_columns() -> None:
    text = b"diff --cc f\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,2 @@@\n- main\n -side\n++both\n +mine\n"
    patch = shown(b":000000 100644 0 0 U\0f\0", text)
    assert patch.files == (FileChange("f", 2, 2),)


def test_a_conflict_in_a_refused_file_is_withheld() -> None:
    text = b"diff --cc .env\n--- a/.env\n+++ b/.env\n@@@ -1,1 -1,1 +1,1 @@@\n- KEY\n -KEY\n++KEY\n"
    patch = shown(b":000000 100644 0 0 U\0.env\0", text)
    assert patch.text == ""
    assert patch.withheld == (".env",)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("plain name", b"plain name"),
        ("ä", "ä".encode()),
        ("ta\tb", rb'"ta\tb"'),
        ('q"\\', rb'"q\"\\"'),
        ("\x01ä", b'"\\001\xc3\xa4"'),
    ],
)
def test_names_are_quoted_as_git_quotes_them(name: str, written: bytes) -> None:
    assert quote(name.encode()) == written


def test_a_file_is_binary_where_git_says_so_and_a_change_of_its_mode_says_nothing() -> None:
    names = META + b"M\0b.png\0" + META + b"M\0run.sh\0"
    text = (
        b"diff --git a/b.png b/b.png\nindex 1..2 100644\nBinary files a/b.png and b/b.png differ\n"
        b"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    )

    assert shown(names, text).files == (FileChange("b.png", 0, 0, binary=True), FileChange("run.sh", 0, 0))


def test_the_total_counts_what_is_known() -> None:
    patch = Patch(
        "",
        (
            FileChange("a.py", 3, 1),
            FileChange("b.png", 0, 0, binary=True),
            FileChange("new", 0, 0, previous="old"),
            FileChange("late", None, None),
        ),
    )
    assert patch.total() == "4 files changed, +3 −1"
    assert patch.names() == "a.py\nb.png\nnew\nlate"
