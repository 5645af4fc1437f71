"""Whatever a file holds and whatever it is called: its chunks are its lines, all of them, in order, and they fit."""

import random
from datetime import UTC, date, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.budget import TokenCounter
from promptuary.search.chunks.chunker import chunks
from promptuary.search.chunks.file_kinds import date_of
from promptuary.search.chunks.lines import Sizes
from promptuary.search.values import Chunk
from promptuary.tokens.counting import Counter

NAMES = ["a.md", "a.rst", "a.org", "a.adoc", "a.py", "a.ts", "a.go", "a.txt", "a.json", "Makefile"]
PIECES = st.one_of(
    st.text(max_size=40),
    st.text(st.characters(codec=None), max_size=20),
    st.sampled_from(
        ["\n", "\n\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\u2028", "\x85", "\ud800", "\0", "\ufeff", " ", "\t\n"]
    ),
    st.sampled_from(
        [
            "# One\n",
            "## Two\n\n",
            "### *Three* `x`\n",
            "Title\n=====\n",
            "Title\n-----\n",
            "```\n",
            "~~~~ py\n",
            "| a | b |\n|---|---|\n",
            "---\n",
            "---\ndate: 2024-01-02\n---\n",
            "=====\nOver\n=====\n",
            "* Star\n",
            "** TODO Star :tag:\n",
            "== Equals\n",
        ]
    ),
    st.sampled_from(
        [
            "def f():\n    return 1\n\n\n",
            "class A:\n    x = 1\n\n    def m(self):\n        pass\n\n",
            "@d\ndef g(): pass\n",
            "# above\n",
            "import os\n",
            "function f() { return 1 }\n",
            "class B {\n  m() {\n  }\n}\n",
            "func (a *T) F() {\n}\n",
            "    indented\n",
            "(",
            '"""',
        ]
    ),
    st.sampled_from(
        [
            "user: I ask you?\n",
            "assistant: yes\n\n",
            "assistant: " + "long " * 60 + "\n",
            "user: I ask you?\nassistant: yes\n" * 8,
            "Anna: do you?\nBen: I do\n" * 6,
            "[10:32] anna: hi you\n[2023-05-08 10:33] ben: hi\n" * 3,
            "## User\n",
            "## Assistant\n\n",
            "2023-05-08\n",
            "# Chat on 8 May 2023\n\n",
        ]
    ),
    st.sampled_from(
        ["word " * 40 + "\n", "line\n" * 40, "x" * 300, "\n" * 30, "日本語の文章。" * 20 + "\n", "a b\n\n" * 30]
    ),
)
TEXTS = st.lists(PIECES, max_size=25).map("".join)
SIZES = st.integers(16, 80).flatmap(lambda n: st.builds(Sizes, st.just(n), st.integers(0, n // 2)))


class Rough:
    """A counter in which the whole costs more than its parts: nothing can be kept by adding up."""

    def count(self, text: str) -> int:
        return -(-len(text) // 4) + 3 * text.count("\n\n")


class Odd:
    """A counter in which less text can cost more."""

    def count(self, text: str) -> int:
        return len(text) // 4 + (9 if text.endswith(("e", "d", "1")) else 0)


COUNTER = Counter()
COUNTERS = st.sampled_from([COUNTER, COUNTER, Rough(), Odd()])


@pytest.mark.torture
@given(TEXTS, st.sampled_from(NAMES), SIZES, COUNTERS)
def test_chunks_are_the_lines_of_the_file(text: str, name: str, sizes: Sizes, counter: TokenCounter) -> None:
    found = chunks(text, name, sizes, counter)
    lines = text.split("\n")

    for chunk in found:
        assert "\n".join(lines[chunk.start_line - 1 : chunk.end_line]) == chunk.text
        assert 1 <= chunk.start_line <= chunk.end_line <= len(lines)
        assert lines[chunk.start_line - 1].strip()
        assert lines[chunk.end_line - 1].strip()
    firsts = [chunk.start_line for chunk in found]
    assert firsts == sorted(set(firsts))
    covered = {line for chunk in found for line in range(chunk.start_line, chunk.end_line + 1)}
    assert [number for number, line in enumerate(lines, 1) if line.strip() and number not in covered] == []


def fits(line: str, sizes: Sizes, counter: TokenCounter) -> bool:
    """Say whether a line is short enough for a chunk; one of very few tokens a character is not even counted."""
    return len(line) < 8 * sizes.tokens and counter.count(line) <= sizes.tokens


@pytest.mark.torture
@given(TEXTS, st.sampled_from(NAMES), SIZES, COUNTERS)
def test_a_chunk_of_several_lines_fits_but_for_a_title_with_a_line_too_long(
    text: str, name: str, sizes: Sizes, counter: TokenCounter
) -> None:
    for chunk in chunks(text, name, sizes, counter):
        if chunk.start_line < chunk.end_line and counter.count(chunk.text) > sizes.tokens:
            title, *between, last = chunk.text.split("\n")
            assert chunk.heading[-1] in title
            assert not "".join(between).strip()
            assert not fits(last, sizes, counter)


@given(TEXTS, st.sampled_from(NAMES), SIZES, COUNTERS)
def test_what_two_chunks_share_is_no_more_than_the_overlap(
    text: str, name: str, sizes: Sizes, counter: TokenCounter
) -> None:
    found = chunks(text, name, sizes, counter)
    lines = text.split("\n")

    for before, after in pairwise(found):
        assert after.end_line > before.end_line
        if after.start_line <= before.end_line:
            shared = "\n".join(lines[after.start_line - 1 : before.end_line])
            assert counter.count(shared) <= sizes.overlap or not isinstance(counter, Counter)
            assert after.heading == before.heading


@given(TEXTS, st.sampled_from(NAMES), SIZES)
def test_the_same_text_gives_the_same_chunks(text: str, name: str, sizes: Sizes) -> None:
    assert chunks(text, name, sizes, COUNTER) == chunks(text, name, sizes, Counter())


@given(TEXTS, st.sampled_from(NAMES))
def test_titles_are_single_lines_of_words(text: str, name: str) -> None:
    for chunk in chunks(text, name, Sizes(), COUNTER):
        assert all(title and title == " ".join(title.split()) for title in chunk.heading)


@given(TEXTS, st.sampled_from(["a.md", "a.txt"]), SIZES)
def test_own_words_are_words_of_the_file(text: str, name: str, sizes: Sizes) -> None:
    for chunk in chunks(text, name, sizes, COUNTER):
        assert all(line in text for line in chunk.own.split("\n"))
        assert chunk.date is None or isinstance(chunk.date, int)


QUESTIONS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=40), min_size=1, max_size=12
)


@given(QUESTIONS, st.sampled_from(["a.md", "a.txt"]))
def test_what_a_person_says_in_one_line_is_their_own_and_the_reply_is_not(questions: list[str], name: str) -> None:
    asked = [f"i ask {question.strip() or 'this'}?" for question in questions]
    text = "".join(f"user: {one}\nassistant: said{number}\n" for number, one in enumerate(asked))
    found = chunks(text, name, Sizes(), COUNTER)

    assert "\n".join(filter(None, (chunk.own for chunk in found))).split("\n") == asked


UNDATED = st.text(st.characters(codec="utf-8", exclude_categories=["Nd", "Nl", "No"]), max_size=30)


@given(st.text(max_size=30), TEXTS, st.integers(-(2**62), 2**62))
def test_every_file_has_a_date_whatever_is_in_it(path: str, text: str, modified: int) -> None:
    found = date_of(path, text, modified)

    assert found == modified // 10**9 or datetime.fromtimestamp(found, UTC).second >= 0


@given(UNDATED, UNDATED, st.integers(-(2**62), 2**62))
def test_a_file_without_digits_is_of_the_time_of_its_last_change(path: str, text: str, modified: int) -> None:
    assert date_of(path, text, modified) == modified // 10**9


@given(UNDATED, st.dates(date(1971, 1, 1), date(2099, 1, 1)), UNDATED, st.integers(0, 2**62))
def test_a_file_is_of_the_day_in_its_name(before: str, day: date, text: str, modified: int) -> None:
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)

    assert date_of(f"{before}/{day.isoformat()}.md", text, modified) == midnight.timestamp()


WORDS = ["alpha", "beta", "gamma", "delta", "river", "stone", "quick", "brown", "lazy", "token", "cache", "index"]


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(4, 24))).capitalize() + "."


def markdown(chance: random.Random) -> list[str]:
    lines = ["# Book", ""]
    for chapter in range(12):
        lines += [f"## Chapter {chapter}", ""]
        for part in range(chance.randint(1, 6)):
            lines += [f"### Part {chapter}.{part}", ""]
            for _ in range(chance.randint(1, 12)):
                lines += [*(sentence(chance) for _ in range(chance.randint(1, 5))), ""]
    return lines


def diary(chance: random.Random) -> list[str]:
    days = [(f"## 2024-{1 + day // 28:02}-{1 + day % 28:02}", sentence(chance)) for day in range(300)]
    return [line for day, words in days for line in (day, "", words, "")]


def log(chance: random.Random) -> list[str]:
    return [f"[{minute // 60:02}:{minute % 60:02}] {sentence(chance)}" for minute in range(1200)]


def python(chance: random.Random) -> list[str]:
    lines = ["import os", ""]
    for number in range(60):
        lines += ["", f"def f{number}(a):", f'    """{sentence(chance)}"""']
        for step in range(chance.randint(2, 40)):
            lines += [f"    {chance.choice(WORDS)}_{step} = {chance.choice(WORDS)}({chance.randint(1, 99)})"]
        lines += ["    return a", ""]
    return lines


BOOKS = {"a.md": markdown, "diary.md": diary, "a.log": log, "a.py": python}


@pytest.mark.parametrize("name", BOOKS)
def test_an_edit_leaves_what_is_far_away_as_it_was(name: str) -> None:
    changed = []
    for seed in range(40):
        chance = random.Random(seed)
        lines = BOOKS[name](chance)
        line = int(len(lines) * chance.uniform(0.05, 0.5))
        indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
        inserted = [f"{indent}new_{number} = {number}" for number in range(6)]
        before = identities(chunks("\n".join(lines), name, Sizes(), COUNTER))
        after = identities(chunks("\n".join([*lines[:line], *inserted, *lines[line:]]), name, Sizes(), COUNTER))
        assert len(before) >= 30
        changed.append(len(before - after))

    assert sum(changed) <= 3 * len(changed)
    assert max(changed) <= 15


def identities(found: list[Chunk]) -> set[str]:
    return {chunk.sha256 for chunk in found}
