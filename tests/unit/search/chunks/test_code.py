"""How source code is cut."""

from itertools import pairwise

import pytest

from promptuary.search.chunks.chunker import chunks
from promptuary.search.chunks.lines import Sizes
from promptuary.search.values import Chunk
from promptuary.tokens.counting import Counter

COUNTER = Counter()
BODY = "\n".join(f"    value_{number} = compute(value, {number})" for number in range(5))
METHOD = BODY.replace("    ", "        ")


def cut(text: str, path: str = "a.py", tokens: int = 64, overlap: int = 0) -> list[Chunk]:
    return chunks(text, path, Sizes(tokens, overlap), COUNTER)


def shape(found: list[Chunk]) -> list[tuple[int, int, tuple[str, ...]]]:
    return [(chunk.start_line, chunk.end_line, chunk.heading) for chunk in found]


def test_each_definition_is_a_chunk_under_its_name() -> None:
    text = f"import os\n\nLIMIT = 3\n\n\ndef first():\n{BODY}\n\n\nasync def second():\n{BODY}\n"

    assert shape(cut(text)) == [(1, 3, ()), (6, 11, ("first",)), (14, 19, ("second",))]


def test_small_neighbouring_definitions_are_one_chunk() -> None:
    text = "import os\n\n\ndef a():\n    return 1\n\n\ndef b():\n    return 2\n"

    assert shape(cut(text)) == [(1, 9, ())]


def test_decorators_and_comments_right_above_go_with_a_definition() -> None:
    text = f"X = 1\n\n# About it,\n# at length.\n@cached\ndef first():\n{BODY}\n# Next\ndef second():\n{BODY}\n"

    assert shape(cut(text, tokens=72)) == [(1, 1, ()), (3, 11, ("first",)), (12, 18, ("second",))]


def test_a_long_class_is_cut_at_its_methods() -> None:
    text = f"class A:\n    x = 1\n\n    def one(self):\n{METHOD}\n\n    # Two.\n    def two(self):\n{METHOD}\n"

    assert shape(cut(text)) == [(1, 2, ("A",)), (4, 9, ("A", "one")), (11, 17, ("A", "two"))]


def test_small_methods_of_a_long_class_are_packed_under_the_class() -> None:
    methods = "".join(f"\n    def method_{number}(self):\n        return {number}\n" for number in range(30))
    found = cut(f"class A:\n{methods}")

    assert 3 <= len(found) <= 12
    assert {chunk.heading for chunk in found} == {("A",)}


def test_a_long_function_is_cut_at_blank_lines_with_an_overlap() -> None:
    text = "def long():\n" + "\n\n".join([BODY] * 6)
    found = cut(text, tokens=160, overlap=32)

    assert len(found) >= 3
    assert {chunk.heading for chunk in found} == {("long",)}
    assert all(chunk.text.endswith("compute(value, 4)") for chunk in found)
    assert all(after.start_line <= before.end_line for before, after in pairwise(found))


def test_code_that_does_not_parse_is_cut_like_text() -> None:
    text = f"def broken(:\n{BODY}\n\ndef other():\n{BODY}\n"
    found = cut(text)

    assert len(found) == 2
    assert {chunk.heading for chunk in found} == {()}


def test_a_lone_carriage_return_moves_no_definition() -> None:
    text = f"x = 1  # a\rb\n\ndef first():\n{BODY}\n\ndef second():\n{BODY}\n"

    assert shape(cut(text))[-1] == (10, 15, ("second",))


def test_a_byte_order_mark_hides_no_definition() -> None:
    assert ("second",) in [one.heading for one in cut(f"\ufeffdef first():\n{BODY}\n\ndef second():\n{BODY}\n")]


@pytest.mark.parametrize(
    ("path", "text", "trails"),
    [
        (
            "a.ts",
            "export class A {\n  one() {\n{0}\n  }\n\n  /** Two. */\n  two() {\n{0}\n  }\n}\n",
            [("A",), ("A", "one"), ("A", "two")],
        ),
        ("a.go", "package a\n\n// F does.\nfunc (t *T) F() {\n{0}\n}\n\nfunc G() {\n{0}\n}\n", [(), ("T.F",), ("G",)]),
        ("a.rs", "struct S;\n\nimpl S {\n  fn f() {\n{0}\n  }\n\n  fn g() {\n{0}\n  }\n}\n", [("S", "f"), ("S", "g")]),
    ],
)
def test_other_languages_are_cut_at_their_definitions(path: str, text: str, trails: list[tuple[str, ...]]) -> None:
    body = "\n".join(f"    value_{number} = compute(value, {number});" for number in range(6))
    found = [one.heading for one in cut(text.replace("{0}", body), path)]

    assert [trail for trail in trails if trail not in found] == []


def test_minified_code_is_one_chunk() -> None:
    text = "function f(){return 1};" * 400

    assert shape(cut(text, "a.js")) == [(1, 1, ("f",))]


def test_definitions_nested_very_deep_are_lines_of_what_is_around_them() -> None:
    text = "\n".join("    " * depth + f"def f{depth}():" for depth in range(40)) + "\n" + "    " * 40 + "pass\n"
    found = cut(text)

    assert max(len(chunk.heading) for chunk in found) == 8
