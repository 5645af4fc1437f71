"""A text between tags stays between them and within its budget, whatever it is made of."""

import asyncio
import re
from functools import cache

from hypothesis import example, given
from hypothesis import strategies as st

from promptuary.base.text import visible
from promptuary.layers.instructions.imports import parse
from promptuary.layers.layer import LayerContext, Recall, RecallRequest
from promptuary.layers.sections import escaped, unescaped
from promptuary.layers.static import NamedText, StaticContent
from promptuary.tokens.counting import Counter

TAGS = ["instructions", "a", "house-rules", "v1.2", "_", "Règles", "規則"]
ANY = st.characters(categories=("L", "M", "N", "P", "S", "Z", "C"))  # surrogates too
PIECES = st.one_of(
    st.text(ANY, max_size=40),
    st.sampled_from(
        [
            *(form.format(tag) for tag in TAGS for form in ("<{}>", "</{}>", "</ {} >", "<\\/{}>", "</{}", "</{}x>")),
            *("<![CDATA[", "]]>", "<!--", "-->", "&lt;", "<", "</", "\\", "\n", "\r\n", "\n\n", " ", "\t"),
            *("\ud83d", "\ude00", "👩\u200d💻", "e\u0301", "\u200b", "\ufeff", "[… 3 of 9 characters left out]"),
            *("word " * 60, "x" * 300, "line\n" * 50),
        ]
    ),
)
TEXTS = st.lists(PIECES, max_size=20).map("".join)
BUDGETS = st.integers(0, 400)


@cache
def counter() -> Counter:
    return Counter()


def recall(layer: StaticContent, budget: int) -> Recall:
    async def main() -> Recall:
        context = LayerContext("t", "resource:w", None, counter(), 128_000)
        await layer.init(context)
        return await layer.recall(RecallRequest("", budget), context) or Recall()

    return asyncio.run(main())


def tags_in(text: str, tag: str) -> list[tuple[int, str]]:
    """Find what a lenient reader would take for the tag: any case, any white space, closed or not."""
    found = []
    for start in (index for index, char in enumerate(text) if char == "<"):
        rest = text[start + 1 :].lstrip()
        closing = rest.startswith("/")
        name = rest[1:].lstrip() if closing else rest
        if name.lower().startswith(tag.lower()) and not re.match(r"[\w.-]", name[len(tag) : len(tag) + 1]):
            found.append((start, "closing" if closing else "opening"))
    return found


def body_of(text: str, tag: str) -> str:
    """Read the block back: one opening tag, first, and one closing tag, last."""
    closing = f"\n</{tag}>"
    assert text.endswith(closing)
    assert tags_in(text, tag) == [(0, "opening"), (len(text) - len(closing) + 1, "closing")]
    opening, _, rest = text.partition("\n")
    assert re.fullmatch(rf'<{re.escape(tag)}(?: source="[^"<>]*")?>', opening)
    return rest.removesuffix(closing)


def shown(text: str) -> str:
    return visible(text.removeprefix("\ufeff").replace("\r\n", "\n"))[0]


@given(TEXTS, st.sampled_from(TAGS), BUDGETS)
@example("</instructions-x>" * 100, "instructions", 40)
@example("</", "a", 0)
def test_a_text_is_whole_or_cut_or_absent_but_never_broken_and_never_over_budget(
    text: str, tag: str, budget: int
) -> None:
    said = recall(StaticContent(lambda: text, tag=tag), budget)
    whole = f"<{tag}>\n{escaped(shown(text), tag)}\n</{tag}>"
    said.text.encode()

    if not shown(text).strip():
        assert said == Recall()
    elif not budget or counter().count(whole) <= budget:
        assert said.text == whole
        assert unescaped(body_of(said.text, tag), tag) == shown(text)
        if tag.casefold() not in shown(text).casefold():
            assert shown(text) in said.text
    elif said.text:
        assert counter().count(said.text) <= budget
        kept, _, remark = unescaped(body_of(said.text, tag), tag).rpartition("[…")
        missing = re.fullmatch(r" ([\d,]+) of ([\d,]+) characters left out\]", remark)
        assert missing
        left, total = (int(number.replace(",", "")) for number in missing.groups())
        assert total == len(shown(text))
        assert kept in {shown(text)[: total - left], shown(text)[: total - left] + "\n"}
    else:
        assert [one.label for one in said.omitted] == ["static_content"]


@given(st.lists(TEXTS, min_size=1, max_size=6), BUDGETS)
def test_several_texts_are_each_well_formed_and_together_within_the_budget(texts: list[str], budget: int) -> None:
    sources = [NamedText(f"source <{number}>", lambda one=one: one) for number, one in enumerate(texts)]  # type: ignore[misc]
    said = recall(StaticContent(sources=sources), budget)

    for block in said.blocks:
        body_of(block.text, "instructions")
    assert not budget or counter().count(said.text) <= budget
    told = {block.source.label for block in said.blocks} | {one.label for one in said.omitted}
    assert told == {source.label for source, text in zip(sources, texts, strict=True) if shown(text).strip()}


@given(TEXTS, st.sampled_from(TAGS))
def test_escaping_can_be_taken_back(text: str, tag: str) -> None:
    assert unescaped(escaped(text, tag), tag) == text
    assert tags_in(escaped(text, tag), tag) == []


@given(st.lists(st.sampled_from([*"`~<!->@a/.\\\n \t\"'([])*", "```", "<!--", "-->", "@a.md", "x"]), max_size=60))
def test_parsing_imports_only_ever_removes_comments(parts: list[str]) -> None:
    text = "".join(parts)
    parsed = parse(text)
    rest = iter(text)

    assert all(char in rest for char in parsed.text)
    assert "<!--" in text or parsed.text == text
    assert all(value in text for value in parsed.imports)
