"""What is shown, what stays, and that nothing hidden comes through."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.text import VisibleStream, name_word_pattern, one_line, slug, unique_slug, visible, with_unix_lines
from tests.linear import assert_linear, repeated

LEGITIMATE = [
    "plain ASCII\n\twith a tab",
    "naïve façade, Ærøskøbing, Straße, cafe\u0301",
    "Здравствуй, Ελληνικά, Հայերեն, ქართული",
    "日本語 中文 한국어 ｶﾀｶﾅ\u3000全角",
    "葛\U000e0100飾区, 辻\U000e0101",
    "﨑\ufe00",
    "\u1112\u1161\u11ab\u1100\u1173\u11af",
    "العربية، لله، مُحَمَّد",
    "می\u200cخواهم کتاب\u200cها را",
    "PDF\u200cها و API\u200cی ما",
    "ه\u200d",
    "اردو: علی\u200cگڑھ",
    "עברית בְּרֵאשִׁית",
    "ܣܘܪܝܝܐ",
    "हिन्दी क्\u200dष श्\u200cच",
    "বাংলা র\u200d্য",
    "ਪੰਜਾਬੀ ગુજરાતી ଓଡ଼ିଆ",
    "தமிழ் తెలుగు క్\u200c",
    "ಕನ್ನಡ ರ\u200d್ಕ",
    "മലയാളം ന്\u200d, അവന്\u200d",
    "සිංහල ශ්\u200dරී",
    "ภาษาไทย ກ\u0eb2ສາ\u200bລາວ",
    "ភាសា\u200bខ្មែរ",
    "မြန်မာ\u200bဘာသာ",
    "བོད་སྐད།",
    "ᠮᠣᠩᠭᠣᠯ ᠠ\u180b ᠨ\u180eᠠ",
    "አማርኛ።",
    "😀 👍🏽 ❤ ❤\ufe0f ☺\ufe0e",
    "👩\u200d💻 👨\u200d👩\u200d👧\u200d👦 👩🏽\u200d🚀",
    "🏳\ufe0f\u200d🌈 🏴\u200d☠\ufe0f ❤\ufe0f\u200d🔥 👁\ufe0f\u200d🗨\ufe0f",
    "🧑🏻\u200d❤\ufe0f\u200d💋\u200d🧑🏿 🤷🏾\u200d♀\ufe0f 🐻\u200d❄\ufe0f",
    "🇩🇪 🇯🇵 🇺🇳",
    "".join(chr(0xE0000 + ord(c)) for c in "gbeng").join(["🏴", "\U000e007f"]),
    "".join(chr(0xE0000 + ord(c)) for c in "gbsct").join(["🏴", "\U000e007f"]),
    "".join(chr(0xE0000 + ord(c)) for c in "gbwls").join(["🏴", "\U000e007f"]),
    "1\ufe0f\u20e3 #\ufe0f\u20e3 *\ufe0f\u20e3",
    "©\ufe0f ®\ufe0f ™\ufe0f ℹ\ufe0f ‼\ufe0f ㊗\ufe0f ↔\ufe0f",
    "“quotes” — dashes … ‘too’ «and» these",
    "∑ ∫ √ ≤ → ⟨a⟩ ┌─┐ ░ ⠋",
    "\ue0b0 \uf113",
]

HIDDEN = [
    *map(chr, range(0x09)),
    *map(chr, range(0x0B, 0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u180f\u200b\u200c\u200d\u200e\u200f\u2028\u2029",
    *"\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u206a\u206f\u3164",
    *"\ufe00\ufe0e\ufe0f\ufeff\uffa0\ufff0\ufff9\ufffa\ufffb\ud800\udfff",
    *"\U0001bca0\U0001d173\U000e0001\U000e0020\U000e0041\U000e007f\U000e0100\U000e01ef",
]

ALLOWED = frozenset("\u200b\u200c\u200d\u180b\u180c\u180d\u180e\u180f\ufe00\ufe01\ufe02\ufe0e\ufe0f") | {
    *map(chr, range(0xE0061, 0xE0080)),
    *map(chr, range(0xE0100, 0xE01F0)),
}
"""Hidden characters that have a place in some script; each is allowed there only."""


def is_hidden(char: str) -> bool:
    """By category, where the module lists code points."""
    return char not in "\n\t" and (unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} or char in HIDDEN)


@pytest.mark.parametrize("text", LEGITIMATE)
def test_legitimate_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == (text, 0)
    assert visible(f"a {text} z\n") == (f"a {text} z\n", 0)


@pytest.mark.parametrize("char", HIDDEN, ids=lambda char: f"U+{ord(char):04X}")
def test_a_hidden_character_is_shown_in_ordinary_text(char: str) -> None:
    shown = f"⟨U+{ord(char):04X}⟩"

    assert visible(char) == (shown, 1)
    assert visible(f"a{char}b") == (f"a{shown}b", 1)
    assert visible(f"é{char} {char}é") == (f"é{shown} {shown}é", 2)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("नम\u200d\u200d", 2),
        ("😀\ufe0f\ufe0f", 2),
        ("😀\u200d", 1),
        ("😀\u200da", 1),
        ("a\u200d😀", 1),
        ("葛\U000e0100\U000e0101", 2),
        ("می\u200c\u200b", 2),
        ("ក\u200b\u200bខ", 2),
        ("ក\u200b", 1),
        ("🏴" + "".join(chr(0xE0000 + ord(c)) for c in "usca") + "\U000e007f", 5),
        ("😀" + "".join(chr(0xE0000 + ord(c)) for c in "gbeng") + "\U000e007f", 6),
        ("1\ufe0f", 1),
        ("1\ufe0f2", 1),
        ("password\u200c", 1),
        ("pass\u200cword", 1),
    ],
)
def test_what_has_a_place_elsewhere_is_shown_where_it_has_none(text: str, count: int) -> None:
    shown, hidden = visible(text)

    assert hidden == count
    assert shown.count("⟨U+") == count


def test_every_character_that_draws_nothing_is_shown() -> None:
    every = [chr(code) for code in range(0x110000)]
    formats = {char for char in every if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    # Signs that enclose the number or the text after them: they are drawn.
    drawn = {
        char for char in formats if unicodedata.name(char, "").startswith(("ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN"))
    }

    passed = {char for char in formats - drawn if visible(f"a{char}b")[1] == 0}

    assert passed == set("\n\t")


@given(st.text(st.characters(), max_size=40) | st.text("".join({*"aي1葛🏴😀क \n", *HIDDEN, *ALLOWED}), max_size=12))
def test_nothing_hidden_comes_through_and_twice_is_once(text: str) -> None:
    shown, count = visible(text)

    assert visible(shown) == (shown, 0)
    assert {char for char in shown if is_hidden(char)} <= ALLOWED
    assert (count == 0) == (shown == text)


@given(st.text(st.characters(), max_size=40))
def test_a_name_stays_on_one_line(text: str) -> None:
    line = one_line(text)

    assert not {*line} & {*"\n\r\t\v\f\x1c\x1d\x1e\x85\u2028\u2029"}
    assert one_line(line) == line


def test_windows_line_ends_become_line_feeds_and_a_lone_return_is_kept() -> None:
    assert with_unix_lines("a\r\nb\rc\n") == "a\nb\rc\n"


@pytest.mark.parametrize("piece", ["\0", "\0a", "a", "می\u200c", "👩\u200d💻", "\ufe0f", "\ud800 ", "क\u200d\u200d"])
def test_the_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    assert_linear(visible, repeated(piece), 25_000)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("src/App.py", "src-app-py"),
        ("a_b.ts", "a_b-ts"),
        ("Größe.md", "größe-md"),
        ("a\u3164.md", "a-u-3164-md"),
        ("---", "file"),
        ("", "file"),
    ],
)
def test_a_slug_has_letters_digits_underscores_and_hyphens_only(label: str, expected: str) -> None:
    assert slug(label) == expected


def test_a_slug_that_is_taken_gets_a_number() -> None:
    assert unique_slug("a.b", {"c"}) == "a-b"
    assert unique_slug("a.b", {"a-b", "a-b-2"}) == "a-b-3"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("HTTPServer_2", ["HTTP", "Server", "2"]),
        ("camelCase.snake_case", ["camel", "Case", "snake", "case"]),
        ("Größe/МирЖизнь", ["Größe", "МирЖизнь"]),
        ("修复Bug42", ["修复", "Bug", "42"]),
    ],
)
def test_names_are_split_into_words_in_any_script(text: str, words: list[str]) -> None:
    assert name_word_pattern(text).findall(text) == words


PIECES = [
    "a",
    "1",
    "\u20e3",
    "\u2764",
    "\ufe0f",
    "\u200d",
    "\u200b",
    "\U0001f468",
    "\U0001f467",
    "\x1b",
    "\u0628",
    "\u180b",
    "\r",
    "\n",
]
FLAG = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbwls") + "\U000e007f"


@given(st.lists(st.text(st.sampled_from(PIECES)) | st.just(FLAG), max_size=6), st.integers(1, 4))
def test_a_text_that_arrives_in_pieces_is_shown_as_if_it_came_at_once(parts: list[str], size: int) -> None:
    text = "".join(parts)
    stream = VisibleStream()
    shown = [stream.piece(text[at : at + size]) for at in range(0, len(text), size)]

    assert "".join([*shown, stream.rest()]) == visible(with_unix_lines(text))[0]
