"""Texts that are made to be slow: each family is a text of any size, and a quadratic parser shows on one of them.

A family repeats a piece in one of several shapes: alone, one a line, nested and closed, with a beginning that is never
ended, or as much white space between two marks. The same families go to every parser, whatever it is made for.
"""

from collections.abc import Mapping
from typing import Final

from tests.linear import Family

_PIECES: Final = [
    "a",
    "a.",
    "a-",
    "a_",
    "A1",
    "1",
    "1_",
    "0x",
    " ",
    "\t",
    "\r",
    "\n",
    "a ",
    " a",
    "\u00e9",
    "日",
    "😀",
    "\0",
    "\ufeff",
    "#",
    "# ",
    "# a ",
    "##",
    "*",
    "* ",
    "** ",
    "* a :",
    ":a:",
    " :a",
    "=",
    "= ",
    "==",
    "-",
    "- ",
    "---",
    "+++",
    "~",
    "~~~",
    "`",
    "``",
    "```",
    "`a` ",
    "|",
    "| a ",
    ">",
    "> ",
    "<",
    "<a>",
    "<!--",
    "<a ",
    "</a",
    "&",
    "&#",
    "%",
    "%w[",
    "%w",
    "$",
    "${",
    "`${",
    '"',
    "'",
    '"""',
    "'''",
    'r#"',
    'b"',
    'R"(',
    '"a".',
    "'a'.",
    '"\\"".',
    '"\\',
    "\\",
    "\\a",
    "\\\n",
    "/",
    "//",
    "/*",
    "*/",
    "a/",
    "**/",
    "*a",
    "?",
    "[",
    "[[",
    "[!",
    "[a",
    "[a]",
    "[a-z]",
    "[[:alpha:]]",
    "[:",
    "[#",
    "[#a][",
    "[#a](",
    "[#a](#",
    "](#a)",
    "[#a](#b)",
    "](",
    "[a](",
    "(",
    "()",
    "((",
    "{",
    "{a",
    "{a,b}",
    "{a,",
    "}",
    ")",
    "]",
    ",",
    ";",
    ":",
    "::",
    "!",
    "!a",
    "@",
    "@a ",
    "@a",
    "@file:",
    '@file:"',
    "@file:a:1-",
    "#a ",
    "a=",
    "a=1",
    "a={",
    "a=[",
    "a=[1,",
    "[a.a]",
    "[[a]]",
    "a: ",
    "a: [",
    "date: ",
    "def f():",
    "class A:",
    "lambda:",
    "not ",
    "if a ",
    "if a:",
    "fn f(){",
    "impl A for ",
    "match a {",
    "function f(){",
    "class A{",
    "struct a{",
    "template<class T>",
    "a<",
    "a<b>(",
    "#if 1",
    "#define A \\",
    "<<A",
    "do ",
    "=begin",
    "diff --git a/a b/a",
    "@@ -1 +1 @@",
    "+a",
    "-a",
    ":100644 ",
    "http://",
    "https://a ",
    "a@b.c ",
    "http://a)",
    "<b>",
    "<p><b>",
    "<a href=a>",
    "<table>",
    "<tr><td>a",
    "<ul><li>",
    "<nav>",
    "<form>",
    "<header>a",
    "<main>a",
    "<article>a",
    "<div hidden>",
    "<div style='display:none'>a",
    "<style>.a{display:none}</style><b class=a>a</b>",
    "<style>@a{",
    "<style>/*",
    ".a{display:none}",
    "<pre><code class=language-a>",
    "<svg>",
    "<select>",
    "<textarea>",
    "<![CDATA[",
    "<?xml ",
    "<!DOCTYPE ",
    "&amp;",
    "&notit;",
    '{"a":',
    "[{},",
    "\\u0041",
    "1e9",
    "%41",
    "../",
    "a:1,",
    "\u0301",
    "\u200d",
    "-----BEGIN PRIVATE KEY-----",
    "ghp_a",
    "password = ",
    "refs/heads/a ",
    "e.g. ",
    "A. ",
    "A! ",
    "TODO ",
]
_CLOSING: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_BLANKS: Final = [
    ("# a", "b"),
    ("#", ""),
    ("*", ""),
    ("* a", ":b"),
    ("* a", "b"),
    ("* ", ":a:"),
    ("= a", "="),
    ("a", "b"),
    ("a =", "1"),
    ("a", "= 1"),
    ("`a", "`"),
    ("[#a", "](#b)"),
    ("@file:", "a"),
    ("!", "a"),
    ("def f(", "):"),
    ("fn", "f(){}"),
    ("a:", "#"),
    ("---\na", ": b\n---"),
    ("> ", "a"),
    ("-", "a"),
    ("|", "|"),
    ("```", "a"),
    ("\\", "\\"),
    ("<a", ">"),
    ('"', '"'),
]


def _repeated(piece: str) -> Family:
    return lambda size: piece * (size // len(piece))


def _lines(piece: str) -> Family:
    return lambda size: f"{piece}\n" * (size // (len(piece) + 1))


def _nested(piece: str, closing: str) -> Family:
    def text(size: int) -> str:
        depth = size // (len(piece) + len(closing))
        return f"{piece * depth}a{closing * depth}"

    return text


def _blank(before: str, after: str) -> Family:
    return lambda size: f"{before}{' ' * size}{after}"


def _opened(opening: str, piece: str) -> Family:
    return lambda size: opening + piece * (size // len(piece)) + "\nend"


def _families() -> Mapping[str, Family]:
    found: dict[str, Family] = {}
    for piece in _PIECES:
        found[f"{piece!a} repeated"] = _repeated(piece)
        found[f"{piece!a} on every line"] = _lines(piece)
        closing = "".join(_CLOSING[mark] for mark in reversed(piece) if mark in _CLOSING)
        if closing:
            found[f"{piece!a} nested"] = _nested(piece, closing)
        found[f"{piece!a} after a beginning"] = _opened(f"{piece}\n@a # ", f" {piece}")
    for before, after in _BLANKS:
        found[f"blanks between {before!a} and {after!a}"] = _blank(before, after)
    return found


FAMILIES: Final = _families()
