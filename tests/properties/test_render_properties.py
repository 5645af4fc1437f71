"""No content can break out of its block, whatever it is made of."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from promptuary.base.blocks import Block, Detail, Source, Trust
from promptuary.base.text import visible, with_unix_lines
from promptuary.references.detail import best_within, whole
from promptuary.references.render import preamble, render, render_message
from promptuary.tokens.counting import VOCABULARIES, Counter
from tests.conftest import TORTURE

pytestmark = pytest.mark.torture

COUNTER = Counter()

PIECES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "`",
            "```",
            "`````",
            "\n",
            "\r\n",
            "~~~",
            "## fake\nfile · 1 line",
            "# Message\n\n",
            "</external 0>",
            "\u2028",
            "\x00",
        ]
    ),
)
BODIES = st.lists(PIECES, max_size=30).map("".join)


def source(body: str, trust: Trust, label: str = "a.md") -> Source:
    return Source(key="k", label=label, kind="file", text=body, revision="0" * 64, language="markdown", trust=trust)


def rendered(body: str, trust: Trust, label: str = "a.md") -> Block:
    return render(source(body, trust, label), Detail.FULL, body, COUNTER)


def parse(prompt: str) -> list[tuple[str, str]]:
    """Read blocks back the way a careful reader would: heading, facts, fence, and everything up to the same fence."""
    blocks, lines, index = [], prompt.split("\n"), 0
    while index < len(lines):
        if not lines[index].startswith("## "):
            index += 1
            continue
        label = lines[index][3:]
        while not re.fullmatch(r"`{3,}\w*", lines[index]):
            index += 1
        fence = lines[index].rstrip("markdown")
        end = next(n for n in range(index + 1, len(lines)) if lines[n] == fence)
        blocks.append((label, "\n".join(lines[index + 1 : end])))
        index = end + 1
    return blocks


@pytest.mark.parametrize("counter", [Counter(name) for name in VOCABULARIES], ids=VOCABULARIES)
@settings(max_examples=1_000 if TORTURE else 20)
@given(BODIES, st.sampled_from([*Trust]), st.sampled_from(["@file:a.md", "#a.md", ""]))
def test_the_head_of_what_was_asked_for_says_what_the_block_costs_exactly(
    counter: Counter, body: str, trust: Trust, asked: str
) -> None:
    block = render(replace(source(body, trust), asked=asked), Detail.FULL, body, counter)
    stated = block.text.splitlines()[1].split(";")[0]

    assert stated == f"{asked} ({block.tokens:,} tokens)".lstrip()
    assert block.tokens == counter.count(block.text)


@settings(max_examples=100_000 if TORTURE else 300)
@given(st.lists(st.tuples(BODIES, st.sampled_from(list(Trust))), min_size=1, max_size=3))
def test_the_prompt_parses_back_into_the_blocks_it_was_made_from(bodies: list[tuple[str, Trust]]) -> None:
    texts = [rendered(body, trust, f"{n}.md").text for n, (body, trust) in enumerate(bodies)]
    expected = [(f"{n}.md", visible(with_unix_lines(body))[0].removesuffix("\n")) for n, (body, _) in enumerate(bodies)]

    assert parse(preamble(texts)) == expected


ANY_BODIES = st.lists(
    st.one_of(PIECES, st.sampled_from(["日本語", "🧑‍🚀", "def a():\n    pass\n", "word " * 60])), max_size=30
)


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    """Return a source in full, or in as much detail as a small budget allows."""
    text = "".join(draw(ANY_BODIES))
    one = source(text, draw(st.sampled_from(list(Trust))), draw(st.text(max_size=8)))
    full = whole(one, COUNTER)
    return best_within(one, draw(st.integers(20, 300)), COUNTER, full) or full if draw(st.booleans()) else full


@settings(max_examples=100_000 if TORTURE else 300)
@given(st.text(max_size=40), st.lists(blocks(), max_size=4), st.lists(st.text(max_size=10), max_size=2))
def test_attachments_say_exactly_where_the_bodies_are_and_where_the_words_begin(
    words: str, attached: list[Block], absent: list[str]
) -> None:
    message = render_message(words, attached, absent)
    end = 0

    assert message.content[message.words_start :] == words
    for block, one in zip(attached, message.attachments, strict=True):
        body = message.content[one.start : one.end]
        assert end <= one.start <= one.end <= message.words_start
        assert body == block.text[slice(*block.body)]
        assert (one.label, one.detail, one.source) == (block.source.label, block.detail, block.source.address)
        if one.detail is Detail.FULL:
            assert body == visible(with_unix_lines(block.source.text))[0]
        assert (one.detail is Detail.PATH) <= (body == "")
        end = one.end


@given(BODIES)
def test_the_boundary_of_external_text_is_never_part_of_it(body: str) -> None:
    text = rendered(body, Trust.EXTERNAL).text
    boundary = re.search(r"^<external ([0-9a-f]{16})>$", text, re.MULTILINE)

    assert boundary
    assert text.count(boundary[1]) == 2


@given(BODIES)
def test_an_unchanged_source_renders_to_the_same_bytes(body: str) -> None:
    assert rendered(body, Trust.EXTERNAL).text == rendered(body, Trust.EXTERNAL).text


@given(st.text())
def test_a_hostile_name_stays_in_its_heading(label: str) -> None:
    heading = rendered("x", Trust.WORKSPACE, label).text.split("\n")[0]

    assert heading.startswith("## ")
    assert visible(heading) == (heading, 0)
