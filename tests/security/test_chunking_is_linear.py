"""No file makes chunking slow: four times the text takes about four times the time, whatever it is made of."""

import pytest

from promptuary.search.chunks.chunker import chunks
from promptuary.search.chunks.lines import Sizes
from promptuary.tokens.counting import Counter
from tests.conftest import TORTURE, Figure
from tests.linear import FACTOR, assert_linear, repeated

REPEATED = {
    "a.md": [
        "a", "a ", "\n", " \n", "\r\n", "#", "# ", "# a\n", "###### a\n", "# a\n## b\n### c\n#### d\n", "## a\n\n",
        "```\n", "```py\n", "````\n```\n", "~~~\n```\n", "```\na\n```\n", "| a | b |\n", "|\n\n", "a\n===\n",
        "a\n---\n", "---\n", "===\n", "-\n", "a\n\n", "a\n", "[", "# [a](\n", "# `a\n", "# **a\n",
        "日本語の文章です。\n", "日本語", "word " * 400 + "\n", "x" * 3000 + "\n" + "y\n" * 30,
        "\n" * 400 + "a\n", "\x0c\n", "\u2028", "\0\n",
        "- a\n  - b\n", "a" * 40 + "\n" + "```\n" + "b c d\n" * 40 + "```\n",
    ],
    "a.rst": ["a\n===\n", "===\na\n===\n", "===\n", "a\n", "a\n---\n\nb\n~~~\n\n"],
    "a.org": ["* a\n", "** a\n", "*" * 50 + " a\n", "*\n"],
    "a.adoc": ["= a\n", "=\n", "====== a\n"],
    "a.txt": ["a", "a\n", "a\n\n", "\n", "\t", "the quick brown fox\n", "\ud800\n", "😀\n"],
    "a.json": ['{"a": 1},\n', '{"a": [1, 2, 3]},', "[", "[\n"],
    "a.py": [
        "def f():\n    return 1\n", "def f():\n    return 1\n\n\n", "class A:\n    def f(self): pass\n", "# a\n",
        "a = 1\n", "@d\ndef f(): pass\n", "a = (1,\n", "a; ", "def f(): pass; ", "if a:\n    def f(): pass\n",
        "\r", "(", "'", "a\\\n",
    ],
    "a.ts": ["function f() {}\n", "class A { f() {} }\n", "f();", "// a\n", "{\n", "const f = () => 1\n",
             "function f() {"],
    "a.c": ["int f(void) { return 1; }\n", "#define A 1\n", "(", "struct a { int b; };\n"],
}  # fmt: skip
OPENED = {
    "a.md": [("---\n", "a: b\n"), ("```\n", "a\n"), ("```\n", "# a\n"), ("# a\n", "b\n\n"), ("~~~", "~\n"),
             ("\ufeff", "#")],
    "a.txt": [("a\n", "\n"), ("a" * 5000 + "\n", "b\n")],
    "a.py": [("class A:\n", "    def f(self): pass\n"), ("def f():\n", "    a = 1\n"), ("x = '''", "a\n"),
             ("x = [\n", "1,\n")],
}  # fmt: skip
FAMILIES = {
    **{f"{name}: {piece[:20]!a} repeated": (name, "", piece) for name, some in REPEATED.items() for piece in some},
    **{
        f"{name}: {opening[:20]!a}, then {piece!a}": (name, opening, piece)
        for name, some in OPENED.items()
        for opening, piece in some
    },
}


@pytest.mark.torture
@pytest.mark.parametrize("family", FAMILIES)
def test_four_times_the_text_takes_about_four_times_the_time(family: str, figure: Figure) -> None:
    name, opening, piece = FAMILIES[family]
    size = figure(10_000, 250_000)
    # A new counter: nothing was counted before.
    found = assert_linear(lambda text: chunks(text, name, Sizes(), Counter()), repeated(piece, opening, "\nend"), size)
    if TORTURE:
        print(f"\n{found.large * 1e9 / size / FACTOR:8.1f} ms per MB  {family}")


def test_there_are_many_families() -> None:
    assert len(FAMILIES) >= 60
