"""Front matter is read without trust, and rewritten without touching what did not change."""

import pytest

from promptuary.base.errors import FrontMatterError
from promptuary.base.front_matter import MAX_ENTRIES, MAX_SIZE, parse
from tests.linear import assert_linear, repeated


def values(matter: str) -> dict[str, object]:
    document = parse(f"---\n{matter}\n---\nbody\n")
    assert document.problem == ""
    return {key: field.value for key, field in document.fields.items()}


@pytest.mark.parametrize(
    ("matter", "read"),
    [
        ("a: b", {"a": "b"}),
        ("a: b # why", {"a": "b"}),
        ("a: b#c", {"a": "b#c"}),
        ("a: 'it''s'", {"a": "it's"}),
        (r'a: "b\n\"c\" \u00e9 \ud83d\ude00"', {"a": 'b\n"c" é 😀'}),
        ("a:", {"a": ""}),
        ("a: # why", {"a": ""}),
        ("a: yes\nb: 12\nc: 2026-01-02\nd: null", {"a": "yes", "b": "12", "c": "2026-01-02", "d": "null"}),
        ("a: [b, 'c, d', \"e\", don't, ]  # why", {"a": ("b", "c, d", "e", "don't")}),
        ("a: [\n  b,\n  c # why\n]", {"a": ("b", "c")}),
        ("a: []", {"a": ()}),
        ("a:\n- b\n- c", {"a": ("b", "c")}),
        ("a:\n  - b\n  # why\n\n  - 'c'\nd: e", {"a": ("b", "c"), "d": "e"}),
        ("a: b\n  c\n\n  d\ne: f", {"a": "b c d", "e": "f"}),
        ('a: "b\n  c"', {"a": "b c"}),
        ("a:\n  b c\n  d", {"a": "b c d"}),
        ("a: |\n  b\n   c\n\n  # d\ne: f", {"a": "b\n c\n\n# d", "e": "f"}),
        ("a: >-\n  b\n  c\n\n  d", {"a": "b c\nd"}),
        ("a:\n  - |\n    b\n    c\n  - d", {"a": ("b\nc", "d")}),
        ("a:\n  b: c\n  d:\n    - e\nf: g", {"a": None, "f": "g"}),
        ("a:\n  - b: c\n  - b: d\nf: g", {"a": None, "f": "g"}),
        ("a: {b: c, d: [e]}\nf: g", {"a": None, "f": "g"}),
        ('"a b": c\nd e: f', {"a b": "c", "d e": "f"}),
        ("a: b: c", {"a": "b: c"}),
        ("a: '%$@`'", {"a": "%$@`"}),
    ],
)
def test_what_people_write_is_read_as_text(matter: str, read: dict[str, object]) -> None:
    assert values(matter) == read


@pytest.mark.parametrize(
    "matter",
    [
        "a: &x 1",
        "a: *x",
        "a: !!python/object:os.system 1",
        "a: [&x b]",
        "a: [b, *x]",
        "a: {b: *x}",
        "a:\n  b: &x 1",
        "a:\n  - *x",
        "<<: b",
        "a:\n  <<: b",
        "owner: ada\nowner: bob",
        "owner: ada\n'owner': bob",
        "a:\n  b: 1\n  b: 2",
        "a:\n b:\n  c:\n   d:\n    e: 1",
        "a: [[[[b]]]]",
        "a: [b",
        "a: [b}",
        "a: [b] c",
        'a: "b',
        'a: "b" c',
        "  a: b",
        "- a",
        "? a\n: b",
        "a",
        "\n".join(f"k{number}: 1" for number in range(MAX_ENTRIES + 1)),
        f"a: [{'b,' * (MAX_ENTRIES + 1)}]",
        "a:\n" + "  - b\n" * (MAX_ENTRIES + 1),
        f"a: {'b' * MAX_SIZE}",
        f"{'a' * 200}: b",
    ],
    ids=lambda matter: matter[:20],
)
def test_of_what_could_trick_a_reader_nothing_is_believed(matter: str) -> None:
    text = f"---\nid: abcd\n{matter}\n---\nbody\n"
    document = parse(text)

    assert document.problem
    assert document.fields == {}
    assert document.text == text


@pytest.mark.parametrize(
    "text", ["", "body", "---", "---\nbody", "--- a\n---\n", " ---\na: b\n---\n", "----\na: b\n----"]
)
def test_a_text_without_front_matter_is_all_body(text: str) -> None:
    document = parse(text)

    assert (document.body, document.fields) == (text, {})


DOCUMENT = """---
# Written by hand
id: abcd   # keep me
title : 'Old title'
tags:
    - a
    - "b"
# about the rest
aliases: [x, y] # also me
mine:
  deep: true
text: |
  one
  two

last: 1
---

  Body, indented
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_only_the_lines_of_changed_keys_change(newline: str, bom: str) -> None:
    document = parse((bom + DOCUMENT).replace("\n", newline))
    changed = document.with_values(
        {"id": "efgh", "title": "Yes: no", "tags": ["c", "d, e"], "aliases": ["z"], "text": None, "pinned": True}
    )

    assert changed.text == (bom + DOCUMENT).replace("id: abcd   #", "id: efgh   #").replace(
        "title : 'Old title'", 'title : "Yes: no"'
    ).replace('    - a\n    - "b"', '    - c\n    - "d, e"').replace("[x, y]", "[z]").replace(
        "text: |\n  one\n  two\n", ""
    ).replace("last: 1\n", "last: 1\npinned: true\n").replace("\n", newline)


def test_what_has_the_value_already_is_not_touched() -> None:
    document = parse("---\ntitle:   'a'\ntags: [ b ,c ]\n---\n")

    assert document.with_values({"title": "a", "tags": ["b", "c"], "gone": None}) is document


def test_a_text_without_front_matter_gets_some_and_keeps_every_byte() -> None:
    assert parse("\ufeff# A\r\nb").with_values({"id": "abcd"}).text == "\ufeff---\r\nid: abcd\r\n---\r\n\r\n# A\r\nb"


def test_front_matter_that_cannot_be_read_is_kept_below_the_new_one() -> None:
    text = "---\nowner: ada\nowner: bob\n---\nbody"
    changed = parse(text).with_values({"id": "abcd"})

    assert changed.text == f"---\nid: abcd\n---\n\n{text}"
    assert changed.value("owner") is None


def test_what_would_not_be_read_again_is_not_written() -> None:
    with pytest.raises(FrontMatterError, match="does not end within"):
        parse("a").with_values({"a": "b" * MAX_SIZE})
    with pytest.raises(FrontMatterError, match="more than 200"):
        parse("a").with_values({"a": ["b"] * (MAX_ENTRIES + 1)})


@pytest.mark.parametrize(
    "piece", ["a: [", "[", "{", "'", '"', "\\", "- ", "  ", "&a ", "# ", "a:\n ", "|\n", '"a', "a#", "\n \n"]
)
@pytest.mark.parametrize("opening", ["---\na: ", "---\n", "---\na:\n  - ", '---\na: "', "---\na: ["])
def test_hostile_front_matter_is_read_in_linear_time(piece: str, opening: str) -> None:
    assert_linear(parse, repeated(piece, opening, "\n---\n"), 4_000)
