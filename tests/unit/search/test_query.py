"""Questions are taken apart as people mean them, and names and unspaced scripts as people look for them."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from promptuary.search.query import (
    MOST_TERMS,
    Reading,
    _parts_of,
    extra_terms,
    folded,
    is_question,
    matched,
    parse,
    reading,
)
from promptuary.search.values import Words


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("", Words()),
        ("?!((( --- ***", Words()),
        ("\0\ud800\udfff", Words()),
        ("parse config files", Words(("parse", "config", "files"))),
        ("How does the parser work?", Words(("parser",))),
        ("where do I work, and for whom?", Words(("work",))),
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


@pytest.mark.parametrize(
    ("question", "text", "there"),
    [
        ("art", "the party", ()),
        ("art", "Art, for ART's sake", ("art",)),
        ("roll back release", "To rollback, run the release script.", ("release",)),
        ("page", "a webpage", ()),
        ("x1", "x10 and x1", ("x1",)),
        # Other forms of a word
        ("release", "releases", ("release",)),
        ("releasing", "It was released", ("releasing",)),
        ("deploys", "a deployer", ("deploys",)),
        ("debug commit", "debugging what was committed", ("debug", "commit")),
        ("policy", "policies", ("policy",)),
        ("logs", "one log", ("logs",)),
        ("quick", "quickly", ("quick",)),
        ("addresses class", "the address of a class", ("addresses", "class")),
        ("Ana’s notes", "Ana takes note", ("Ana’s", "notes")),
        ("Ana", "Ana’s", ("Ana",)),
        ("str part", "a string at a party", ()),
        ("notes", "not here", ()),
        # Names
        ("user", "loadUserConfig()", ("user",)),
        ("config", "parse_config_file", ("config",)),
        ("UserConfig", "loadUserConfig", ("UserConfig",)),
        ("loadUserConfig", "load_user_config", ("loadUserConfig",)),
        ("load_user_config", "loadUserConfig", ("load_user_config",)),
        ("loaduserconfig", "loadUserConfig", ("loaduserconfig",)),
        ("foo.getName", "bar.get_name", ()),
        ("ERR-4012 v1.2", "err 4012 in v1.3", ("ERR-4012",)),
        ("parse_file", "parse a file", ()),
        # Phrases
        ('"page cache"', "the page\n   cache", ("page cache",)),
        ('"page cache"', "the page and its cache", ()),
        ('"page cache"', "the homepage cached", ()),
        ('"the end get"', "getName: the end", ()),
        # Beginnings
        ("rel*", "released", ("rel",)),
        ("lease*", "released", ()),
        ("src/conf*", "see src/config.py", ("src/conf",)),
        ("東京*", "東京都", ("東京",)),
        # Other scripts
        ("cafe", "CAFÉ", ("cafe",)),
        ("Straße", "STRASSE", ("Straße",)),
        ("天気 京都", "東京都の天気", ("天気", "京都")),
        ("天京", "東京都の天気", ()),
        ("編Python程", "編Python程", ("編Python程",)),
        ("python", "使用Python编程", ("python",)),
        ("서울", "서울에서", ("서울",)),
        ("हिन्दी", "यह हिन्दी।", ("हिन्दी",)),
        ("हिन्द", "यह हिन्दी।", ()),
        # Nothing
        ("🚀", "a 🚀", ()),
        ("word", "", ()),
        ("", "word", ()),
        ("\ud800 word", "a \ud800 word", ("word",)),
    ],
)
def test_a_word_stands_in_a_text_as_a_word_and_not_as_some_letters(
    question: str, text: str, there: tuple[str, ...]
) -> None:
    assert matched(parse(question), text) == there


@given(st.text(), st.text(st.characters(categories=["L", "Nd", "Mn"]), min_size=1), st.text())
def test_what_stands_in_a_text_apart_from_its_neighbours_is_matched_whatever_it_is_written_in(
    before: str, word: str, after: str
) -> None:
    assume(any(one.isalnum() for one in folded(word)))
    asked = Words((word,), (word,), (word,))

    assert matched(asked, f"{before} {word} {after}") == (word, word, word)
    assert set(matched(parse(before), after)) <= {*parse(before).phrases, *parse(before).terms, *parse(before).prefixes}


@given(st.text("abc", min_size=1, max_size=8), st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_letters_around_a_word_make_it_another_one(word: str, before: str, after: str) -> None:
    assume(before or after)

    assert matched(Words((word,)), f"x {before}{word}{after} y") == ()
    assert matched(Words((word,)), f"x {before}.{word}_{after} y") == (word,)


def test_what_is_too_long_to_be_a_name_is_not_kept_in_memory() -> None:
    _parts_of.cache_clear()
    assert extra_terms("aB" * 100_000 + " getUser " + "AAa" * 30) == "get User"
    assert _parts_of.cache_info().currsize == 1


@pytest.mark.parametrize(
    "text",
    [
        "When did Ana move to Lisbon",
        "Did we choose a database?",
        "wer hat den Vertrag unterschrieben",
        "quand part le train ?",
        "¿dónde está la llave?",
        "会議はいつ？",
    ],
)
def test_who_wants_to_know_something_asks(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "thanks!",
        "use bullet points",
        "how are you?",
        "can you repeat that?",
        "kannst du das kürzen?",
        "¡qué calor!",
    ],
)
def test_who_talks_to_the_reader_asks_for_nothing(text: str) -> None:
    assert not is_question(text)
