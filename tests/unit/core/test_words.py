"""Questions are taken apart as people mean them, and names and unspaced scripts as people look for them."""

import pytest

from promptuary.core.recall import Words
from promptuary.core.words import MOST_TERMS, Reading, extra_terms, folded, parse, reading


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("", Words()),
        ("?!((( --- ***", Words()),
        ("\0\ud800\udfff", Words()),
        ("parse config files", Words(("parse", "config", "files"))),
        ("How does the parser work?", Words(("parser", "work"))),
        ("to be or not to be", Words(("to", "be", "or", "not"))),
        ("What’s a don't?", Words(("What’s", "a", "don't"))),
        ("Parser parser PARSER", Words(("Parser",))),
        ('the "exact phrase" here', Words((), ("exact phrase",))),
        ("“one two” «three» 「四 五」 six", Words(("six",), ("one two", "three", "四 五"))),
        ('an "unclosed quote', Words(("unclosed", "quote"))),
        ('"" "!" word', Words(("word",))),
        ("conf* file", Words(("file",), (), ("conf",))),
        ("2*x, *emphasis* and **bold**", Words(("2", "x", "emphasis", "bold"))),
        ("snake_case camelCase a-b v1.2 src/x.py:12", Words(("snake_case", "camelCase", "a-b", "v1.2", "src/x.py:12"))),
        ("cafe\u0301 हिन्दी 日本語", Words(("cafe\u0301", "हिन्दी", "日本語"))),
    ],
)
def test_a_question_becomes_words(question: str, words: Words) -> None:
    assert parse(question) == words


def test_a_long_question_keeps_its_first_words_that_mean_something() -> None:
    question = "the of and " * 1000 + " ".join(f"word{number}" for number in range(1000))

    assert parse(question).terms == tuple(f"word{number}" for number in range(MOST_TERMS))


def test_a_question_of_many_phrases_is_capped() -> None:
    assert len(parse(" ".join(f'"phrase {number}"' for number in range(500))).phrases) == 16


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ""),
        ("Plain prose, with Capitals and ACRONYMS and snake_case.", ""),
        ("getUserName", "get User Name"),
        ("HTTPServer2Error", "HTTP Server 2 Error"),
        ("a GitHub, a GitHub", "Git Hub"),
        ("my_XMLParser.parseAll()", "parse All XML Parser"),
        ("x" * 80 + "Y", ""),
        ("日本語", "日本 本語 日 本 語"),
        ("使用Python编程", "使用 使 用 Python 编程 编 程"),
        ("ab人cd", "ab 人 cd"),
        ("한국어", "한국 국어 한 국 어"),
        ("ไทย", "ไท ทย ไ ท ย"),
        ("ก่า", "กา ก า"),
    ],
)
def test_texts_are_found_by_parts_of_names_and_by_characters(text: str, terms: str) -> None:
    assert extra_terms(text) == terms


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("plain", "plain"),
        ("Café cafe\u0301 ﬁle Ｆｕｌｌ Straße Łódź", "Cafe cafe file Full Strasse Lodz"),
        ("が か\u3099", "が が"),
        ("한국 \u1112\u1161\u11ab", "한국 한"),
        ("a\ud800b", "a b"),
        ("e" + "\u0301\u0316" * 5000 + "f", "ef"),
    ],
)
def test_what_looks_alike_is_spelled_alike(text: str, plain: str) -> None:
    assert folded(text) == plain


def test_a_term_is_read_as_it_stands_by_its_parts_and_by_its_runs() -> None:
    assert reading("getName") == Reading(("getName",), ("get", "Name"), ())
    assert reading("snake_case") == Reading(("snake_case",), (), ())
    assert reading("用Python编程序") == Reading(("Python",), (), ("用", "编程 程序"))
