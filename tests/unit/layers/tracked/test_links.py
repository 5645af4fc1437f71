"""Links to blocks: unique, stable, and never one inside another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.layers.tracked.links import linked, with_slug
from promptuary.references.message import ParsedMessage
from promptuary.references.scan import scan


def rewritten(text: str) -> str:
    """Link everything that is written like a tracked reference, as if all of it were there."""
    slugs: dict[str, str] = {}
    links = []
    for one in (one for one in scan(text) if one.sigil == "#"):
        slugs = with_slug(slugs, one.value)
        links.append((one, slugs[one.value]))
    return linked(text, links)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Look at #src/index.ts", "Look at [#src/index.ts](#src-index-ts)"),
        ("#a.ts, then #b/c.ts.", "[#a.ts](#a-ts), then [#b/c.ts](#b-c-ts)."),
        ("(#a.ts)", "([#a.ts](#a-ts))"),
        ('see #"my notes/a b.md":3-4', 'see [#"my notes/a b.md":3-4](#my-notes-a-b-md)'),
        ("#A/B.TS", "[#A/B.TS](#a-b-ts)"),
        ("nothing here", "nothing here"),
    ],
)
def test_a_reference_becomes_a_link_to_its_slug(text: str, expected: str) -> None:
    assert rewritten(text) == expected


def test_labels_that_would_share_a_slug_get_distinct_ones() -> None:
    slugs: dict[str, str] = {}
    for label in ("a-b.ts", "a_b.ts", "a/b.ts", "A/B.ts", "a-b-ts-2"):
        slugs = with_slug(slugs, label)

    assert slugs["a-b.ts"] == "a-b-ts"
    assert len(set(slugs.values())) == 5


def test_a_label_keeps_its_slug_for_ever() -> None:
    slugs = with_slug({"a/b.ts": "a-b-ts"}, "a-b.ts")

    assert slugs == {"a/b.ts": "a-b-ts", "a-b.ts": "a-b-ts-2"}
    assert with_slug(slugs, "a/b.ts") == slugs


def test_letters_that_draw_nothing_are_spelled_out_in_a_slug() -> None:
    assert with_slug({}, "a\u3164.md") == {"a\u3164.md": "a-u-3164-md"}


@pytest.mark.parametrize(
    "text", ["[#ok.ts](#ok-ts)", "see [#ok.ts](#ok-ts) and #new.ts", "[#app/[id].tsx](#app-id-tsx)"]
)
def test_an_existing_link_is_not_nested(text: str) -> None:
    once = rewritten(text)

    assert "[[" not in once
    assert rewritten(once) == once


def test_a_name_with_brackets_is_linked_once() -> None:
    once = rewritten("open #app/[id].tsx now")

    assert once == "open [#app/[id].tsx](#app-id-tsx) now"
    assert rewritten(once) == once


def test_the_words_of_a_message_are_those_outside_references_and_links() -> None:
    text = "Fix [#old.ts](#old-ts) and  #src/index.ts, then rest"

    assert ParsedMessage(text).without(ParsedMessage(text).tracked) == "Fix and , then rest"


@given(st.lists(st.text(min_size=1, max_size=30), max_size=30))
def test_slugs_are_unique_and_stable_whatever_the_labels(labels: list[str]) -> None:
    slugs: dict[str, str] = {}
    for label in labels:
        before, slugs = slugs, with_slug(slugs, label)
        assert before.items() <= slugs.items()

    assert len(set(slugs.values())) == len(set(labels))
    assert with_slug(slugs, labels[0]) == slugs if labels else not slugs


PARTS = st.one_of(
    st.sampled_from(
        [
            "#a.ts",
            "#src/b.md:3-9",
            '#"a b.md"',
            "[#c.ts](#c-ts)",
            "#x/[id].tsx",
            "`",
            "```\n",
            "[",
            "](#",
            "\\",
            "(",
            "#",
        ]
    ),
    st.text(max_size=8),
)


@given(st.lists(PARTS, max_size=12).map("".join))
def test_rewriting_twice_changes_nothing_more(text: str) -> None:
    once = rewritten(text)

    assert rewritten(once) == once
