"""The fields of a note and the names that it goes by."""

import pytest

from promptuary.base.front_matter import fields, names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ntitle: My Note\n---\n", ("My Note",)),
        ('---\ntitle: "One: two"\ntags: [a, b/c]\n---\n', ("One: two", "a", "b/c")),
        ("---\naliases: [one two, 'three, four']\n---\n", ("one two", "three, four")),
        ("---\ntags:\n  - one\n  - '#two'\n- three\n---\n", ("one", "two", "three")),
        ("---\ntags: one, two\nalias: short\n---\n", ("short", "one", "two")),
        ("---\naliases: [a,\n  b]\ntitle:\n---\n", ("a", "b")),
        ("+++\ntitle = 'x y'\ntags = [\n  'a',\n  'b',\n]\n[extra]\ntags = ['no']\n+++\n", ("x y", "a", "b")),
        ("\ufeff---\r\ntitle: x\r\ntags: [y, x]\r\n---\r\n", ("x", "y")),
        ("---\ntitle: x\n", ()),
        ("title: x\n", ()),
        ("----\ntitle: x\n----\n", ()),
        ("---\nnested:\n  title: x\n---\n", ()),
        ("---\ntags: []\naliases:\ntitle: ''\n---\n", ()),
        ("", ()),
    ],
)
def test_the_names_of_a_note_are_its_title_its_aliases_and_its_tags(text: str, expected: tuple[str, ...]) -> None:
    assert names(text) == expected


def test_names_are_few_and_short_whatever_is_written() -> None:
    many = names(f"---\ntitle: {'x' * 5_000}\ntags: [{', '.join(map(str, range(500)))}]\n---\n")

    assert len(many) == 32
    assert max(map(len, many)) == 200


def test_each_value_of_a_key_comes_as_it_is_written() -> None:
    assert fields("---\nDate: 2024-01-02 # day\ntags:\n- a\n- b\n---\n") == {
        "date": ["2024-01-02 # day"],
        "tags": ["", "a", "b"],
    }
