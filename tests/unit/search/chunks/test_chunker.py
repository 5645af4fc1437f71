"""How prose and plain text are cut."""

from itertools import pairwise

import pytest

from promptuary.base.errors import ConfigError
from promptuary.search.chunks import lines as sizes
from promptuary.search.chunks.chunker import chunks
from promptuary.search.chunks.lines import VERSION, Sizes
from promptuary.search.values import Chunk
from promptuary.tokens.counting import Counter

COUNTER = Counter()
WORDS = "the quick brown fox jumps over the lazy dog"


def cut(text: str, path: str = "a.md", tokens: int = 64, overlap: int = 0) -> list[Chunk]:
    return chunks(text, path, Sizes(tokens, overlap), COUNTER)


def trails(found: list[Chunk]) -> list[tuple[str, ...]]:
    return [chunk.heading for chunk in found]


def paragraph(lines: int = 4) -> str:
    return "\n".join([f"{WORDS}."] * lines)


def test_a_small_file_is_one_chunk_under_its_title() -> None:
    text = "# Title\n\nIntro.\n\n## A\n\nOne.\n\n## B\n\nTwo.\n"

    assert cut(text) == [Chunk(1, 11, text.rstrip("\n"), ("Title",))]


def test_a_file_without_anything_to_read_has_no_chunks() -> None:
    assert cut("") == cut("\n\n \t\n\x0c\n") == cut("\u2028\n", "a.txt") == cut("\n", "a.py") == []


def test_sections_that_do_not_fit_together_have_their_own_trails() -> None:
    text = f"# Title\n\n## A\n\n{paragraph()}\n\n### A1\n\n{paragraph()}\n\n## B\n\n{paragraph()}\n"

    assert trails(cut(text)) == [("Title", "A"), ("Title", "A", "A1"), ("Title", "B")]


def test_small_neighbouring_sections_are_one_chunk_under_what_they_share() -> None:
    text = f"# Title\n\n{paragraph(5)}\n\n## A\n\n### A1\n\nx\n\n### A2\n\ny\n\n## B\n\n{paragraph(5)}"
    found = cut(text)

    assert trails(found) == [("Title",), ("Title", "A"), ("Title", "B")]
    assert found[1].text == "## A\n\n### A1\n\nx\n\n### A2\n\ny"


def test_many_tiny_sections_become_few_chunks() -> None:
    text = "# Changes\n" + "".join(f"\n## 1.{number}\n\n- Fixed a bug.\n" for number in range(200))

    assert len(cut(text, tokens=256)) <= 20


def test_what_is_under_two_top_level_headings_is_never_mixed() -> None:
    found = cut("# 2024-01-01\n\nRain.\n\n# 2024-01-02\n\nSun.\n\n## Evening\n\nStars.\n")

    assert [(chunk.start_line, chunk.end_line, chunk.heading) for chunk in found] == [
        (1, 3, ("2024-01-01",)),
        (5, 11, ("2024-01-02",)),
    ]


def test_what_stands_before_the_first_heading_goes_with_it_if_it_is_small() -> None:
    assert [(chunk.start_line, chunk.heading) for chunk in cut("Hello.\n\n# A\n\nx\n\n# B\n\ny")] == [
        (1, ()),
        (7, ("B",)),
    ]


def test_a_file_without_a_top_level_heading_has_the_headings_that_are_there() -> None:
    text = f"### Deep\n\n{paragraph()}\n\n## Less\n\n{paragraph()}"

    assert trails(cut(text)) == [("Deep",), ("Less",)]


def test_front_matter_goes_with_the_first_section() -> None:
    found = cut("---\ntitle: x\n# no heading\n---\n\n# A\n\nx\n\n# B\n\ny\n")

    assert [(chunk.start_line, chunk.end_line, chunk.heading) for chunk in found] == [(1, 8, ("A",)), (10, 12, ("B",))]


def test_front_matter_that_does_not_end_is_text() -> None:
    assert trails(cut("---\ntitle: x\n\n# A\n\nx\n\n# B\n\ny")) == [(), ("B",)]


@pytest.mark.parametrize(
    "fence", ["```\n# no\n```", "~~~ md\n# no\n```\n~~~", "````\n```\n# no\n```\n````", "  ```py\n# no\n  ```"]
)
def test_a_heading_in_fenced_code_is_none(fence: str) -> None:
    assert trails(cut(f"# A\n\n{fence}\n\n# B\n\nb\n")) == [("A",), ("B",)]


def test_a_fence_that_is_never_closed_reaches_to_the_end() -> None:
    assert trails(cut("# A\n\n```\n# no\n")) == [("A",)]


def test_code_within_a_line_opens_no_fence() -> None:
    assert trails(cut("# A\n\n```code``` here\n\n# B\n\nb\n")) == [("A",), ("B",)]


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# Plain", "Plain"),
        ("#", None),
        ("# Closed ##", "Closed"),
        ("# C#", "C#"),
        ("#hashtag", None),
        ("    # indented code", None),
        ("   # Three spaces", "Three spaces"),
        ("# **Bold** and _leaning_ words", "Bold and leaning words"),
        ("# `__init__` of snake_case_name", "__init__ of snake_case_name"),
        ("# A [link](https://a.b/c_d) and ![picture](x.png)", "A link and picture"),
        ("# Named {#anchor .class}", "Named"),
        ('# <a name="x"></a>Tagged', "Tagged"),
        ("# 2 * 3 \\* 4", "2 * 3 * 4"),
        ("# one ` backtick", "one ` backtick"),
        ("# Windows\r", "Windows"),
        ("Setext\n===", "Setext"),
        ("Setext\n---", "Setext"),
        ("- item\n---", None),
        ("> quote\n===", None),
        ("two\nlines\n---", None),
        ("===", None),
        ("# 日本語 の 見出し", "日本語 の 見出し"),
    ],
)
def test_a_heading_is_read_without_its_marks(heading: str, title: str | None) -> None:
    assert trails(cut(f"{heading}\n\ntext")) == [(title,) if title else ()]


def test_a_rule_below_a_heading_underlines_nothing() -> None:
    assert trails(cut("# A\n---\n\ntext\n\n# B\n\nb\n")) == [("A",), ("B",)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.rst", "=====\nTitle\n=====\n\nA\n=\n\n{0}\n\nB\n~\n\n{0}\n\nA\n==\n\nC\n~~~\n\n{0}\n\n----\n\n{0}\n"),
        ("a.org", "* Title\n** TODO A :tag:\n{0}\n*** B\n{0}\n** A\n*** C\n{0}\n\n{0}\n"),
        ("a.adoc", "= Title\n\n== A\n\n{0}\n\n=== B\n\n{0}\n\n== A\n\n=== C\n\n{0}\n\n{0}\n"),
        ("a.md", "Title\n===\n\nA\n---\n{0}\n### B ###\n{0}\n## A\n### C\n{0}\n\n{0}\n"),
    ],
)
def test_every_kind_of_prose_has_its_headings(path: str, text: str) -> None:
    found = trails(cut(text.format(paragraph()), path))
    assert {("Title", "A"), ("Title", "A", "B"), ("Title", "A", "C")} <= set(found)


def test_a_rule_between_paragraphs_is_no_heading() -> None:
    assert trails(cut("T\n=\n\nx\n\n-----\n\ny\n\nU\n=\n\nz\n", "a.rst")) == [("T",), ("U",)]


def test_a_long_section_is_cut_at_the_ends_of_paragraphs() -> None:
    text = "# T\n\n" + "\n\n".join(f"{number} {WORDS}\n{WORDS}" for number in range(20))
    found = cut(text)

    assert len(found) > 5
    assert all(chunk.text.count(WORDS) % 2 == 0 for chunk in found)
    assert set(trails(found)) == {("T",)}


def test_a_window_begins_with_the_last_lines_of_the_one_before() -> None:
    text = "\n".join(f"{number} {WORDS}" for number in range(60))
    found = cut(text, "a.txt", 64, 24)

    assert len(found) > 10
    for before, after in pairwise(found):
        shared = text.split("\n")[after.start_line - 1 : before.end_line]
        assert 1 <= len(shared) <= 2
        assert COUNTER.count("\n".join(shared)) <= 24


def test_sections_of_their_own_share_no_lines() -> None:
    found = cut(f"# T\n\n## A\n\n{paragraph()}\n\n## B\n\n{paragraph()}", overlap=32)

    assert all(after.start_line > before.end_line for before, after in pairwise(found))


def test_a_line_that_is_too_long_is_a_chunk_of_its_own() -> None:
    long = "word " * 300
    found = cut(f"before\n{long}\nafter", "a.txt", 64, 32)

    assert [(chunk.start_line, chunk.end_line) for chunk in found] == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize(
    "block", ["```\n{}\n```".format("\n\n".join([WORDS] * 4)), "| a |\n|---|\n" + f"| {WORDS} |\n" * 3]
)
def test_a_block_that_fits_into_a_chunk_is_not_cut(block: str) -> None:
    for lines in range(12):
        before = "\n".join(f"{number} {WORDS}" for number in range(lines))
        text = f"# T\n\n{before}\n\n{block}\n\n{paragraph(20)}"
        assert any(block.strip() in chunk.text for chunk in cut(text, tokens=72, overlap=24))


def test_a_block_that_does_not_fit_is_cut_at_its_lines() -> None:
    text = "# T\n\n```\n" + "\n".join(f"{number} {WORDS}" for number in range(40)) + "\n```\n"
    found = cut(text)

    assert all(COUNTER.count(chunk.text) <= 64 for chunk in found)
    assert sum(chunk.end_line - chunk.start_line + 1 for chunk in found) >= 40


def test_chunks_are_filled_well_in_every_script() -> None:
    for line in (WORDS, "これは日本語の長い文章で、何度も繰り返されます。", "x = {'a': [1, 2, 3]}"):
        found = cut("\n".join([line] * 400), "a.txt", 256, 0)
        assert sum(COUNTER.count(chunk.text) for chunk in found) / len(found) > 128


def test_no_limit_is_exceeded_by_a_single_token_where_the_text_changes_its_nature() -> None:
    mixed = [WORDS, "日本語の文章", "😀😀😀", "a  b    c", "{[(<!?>)]}", "internationalization", "0123456789"]
    lines = [mixed[number * number % 11 % 7] * (1 + number % 3) for number in range(300)]
    for tokens in range(32, 96):
        found = cut("\n".join(lines), "a.txt", tokens, tokens // 2)
        assert max(COUNTER.count(chunk.text) for chunk in found if chunk.start_line < chunk.end_line) <= tokens
        shared = ["\n".join(lines[two.start_line - 1 : one.end_line]) for one, two in pairwise(found)]
        assert max(COUNTER.count(text) for text in shared) <= tokens // 2


def test_the_ends_of_lines_stay_as_they_are() -> None:
    (chunk,) = cut("# A\r\n\r\ntext\r\nmore\r\n")

    assert (chunk.text, chunk.end_line, chunk.heading) == ("# A\r\n\r\ntext\r\nmore\r", 4, ("A",))


@pytest.mark.parametrize(("tokens", "overlap"), [(15, 0), (-1, 0), (16, 9), (256, 129), (256, -1)])
def test_sizes_that_cannot_work_say_what_to_do(tokens: int, overlap: int) -> None:
    with pytest.raises(ConfigError, match="use "):
        Sizes(tokens, overlap)


def test_the_sizes_and_the_version_are_plain_numbers() -> None:
    assert (Sizes().tokens, Sizes().overlap, Sizes(16, 8).overlap) == (256, 32, 8)
    assert VERSION >= 1


def test_a_title_above_a_line_that_is_too_long_stays_with_it() -> None:
    long = "word " * 400
    found = chunks(f"# Title\n\n{long}\n\nMore.\n", "a.md", Sizes(), COUNTER)

    assert [(chunk.start_line, chunk.end_line, chunk.heading) for chunk in found] == [
        (1, 3, ("Title",)),
        (5, 5, ("Title",)),
    ]


def test_an_index_made_without_grammars_is_made_anew_when_they_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "find_spec", lambda _: None)
    without = Sizes().recipe
    monkeypatch.setattr(sizes, "find_spec", lambda _: object())

    assert Sizes().recipe != without
