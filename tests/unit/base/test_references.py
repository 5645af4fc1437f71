"""How a reference is written."""

import pytest

from promptuary.base.references import KEYWORDS, KINDS, LineRange, format_reference, quote


@pytest.mark.parametrize(
    "value",
    [
        "a.py",
        "src/a.py",
        "a-b_c+d.py",
        "a:10",
        "a#b",
        "@scope/a.json",
        "日本語.md",
        "naïve.md",
        "v1.2",
        "a=b",
        "~x",
        "$x",
        "报告v2最终.md",
    ],
)
def test_a_plain_value_needs_no_quotes(value: str) -> None:
    assert quote(value) == value


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("my file.md", '"my file.md"'),
        ("a\tb", '"a\tb"'),
        ("a\xa0b", '"a\xa0b"'),
        ("", '""'),
        (".", '"."'),
        ("a.", '"a."'),
        ("a:", '"a:"'),
        ("a_", '"a_"'),
        ("a~", '"a~"'),
        ("a,b", '"a,b"'),
        ("a;b", '"a;b"'),
        ("a!", '"a!"'),
        ("a?", '"a?"'),
        ("*.py", '"*.py"'),
        ("a(b)", '"a(b)"'),
        ("[id].tsx", '"[id].tsx"'),
        ("{a}", '"{a}"'),
        ("<a>", '"<a>"'),
        ("a|b", '"a|b"'),
        ("it's.md", '"it\'s.md"'),
        ("a`b", '"a`b"'),
        ("a“b”", '"a“b”"'),
        ("a，b", '"a，b"'),
        ("a、b", '"a、b"'),
        ("a—b", '"a—b"'),
        ("a.py的副本.md", '"a.py的副本.md"'),
        ("a\u200bb", '"a\u200bb"'),
        ('say "hi"', "'say \"hi\"'"),
        (r"src\a.py", r"'src\a.py'"),
        ('it\'s "so"', r'''"it's \"so\""'''),
        (r"it's \ so", r'''"it's \\ so"'''),
        ("\"'`", '"\\"\'`"'),
    ],
)
def test_a_value_is_quoted_where_it_would_be_misread(value: str, written: str) -> None:
    assert quote(value) == written


@pytest.mark.parametrize("kind", sorted(KEYWORDS))
def test_a_keyword_stands_alone(kind: str) -> None:
    assert format_reference(kind) == f"@{kind}"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_is_written_before_its_value(kind: str) -> None:
    assert format_reference(kind, "a") == f"@{kind}:a"


def test_a_suffix_follows_the_value_or_its_closing_quote() -> None:
    assert format_reference("file", "a.py", ":10-20") == "@file:a.py:10-20"
    assert format_reference("file", "a b.py", "#L1") == '@file:"a b.py"#L1'
    assert format_reference("folder", ".", ":contents") == '@folder:".":contents'


def test_a_suffix_after_a_colon_in_the_path_is_set_off_by_quotes() -> None:
    assert format_reference("file", "a:5") == "@file:a:5"
    assert format_reference("file", "a:5", ":10") == '@file:"a:5":10'


@pytest.mark.parametrize(
    ("lines", "written"),
    [
        (LineRange(1, 1), "1"),
        (LineRange(1, 5), "1-5"),
        (LineRange(5, None), "5-"),
        (LineRange(None, 5), "-5"),
        (LineRange(0, 0), "0"),
        (LineRange(0, 5), "0-5"),
        (LineRange(None, 0), "-0"),
        (LineRange(None, None), "-"),
    ],
)
def test_lines_are_written_as_they_are_asked_for(lines: LineRange, written: str) -> None:
    assert str(lines) == written
