"""A heading alone is no chunk: it belongs to what follows it, or at the end to what is before it."""

import pytest

from promptuary.search.chunks.chunker import chunks
from promptuary.search.chunks.lines import Sizes
from promptuary.search.values import Chunk
from promptuary.tokens.counting import DEFAULT_VOCABULARY, Counter

COUNTER = Counter(DEFAULT_VOCABULARY)
LONG = "\n\n".join(
    f"The heron number {number} stands in the shallow water and waits for a fish." for number in range(12)
)
BLOCK = "```\n" + "\n".join(f"heron {number} = {number}" for number in range(8)) + "\n```"


def cut(text: str, path: str = "a.md") -> list[Chunk]:
    return chunks(text, path, Sizes(64, 8), COUNTER)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (f"# Birds\n\n## Herons\n\n{LONG}\n", "a.md"),
        (f"# Birds\n\n## Waders\n\n### Herons\n\n{LONG}\n", "a.md"),
        (f"# Empty\n\n# Herons\n\n{LONG}\n", "a.md"),
        (f"## Empty\n\n## Herons\n\n{LONG}\n", "a.md"),
        (f"Birds\n=====\n\nHerons\n------\n\n{LONG}\n", "a.md"),
        (f"Birds\n=====\n\nHerons\n------\n\n{LONG}\n", "a.rst"),
        (f"=====\nBirds\n=====\n\nHerons\n------\n\n{LONG}\n", "a.rst"),
        (f"* Birds\n** Herons\n{LONG}\n", "a.org"),
        (f"# Herons\n\n{BLOCK}\n\n{LONG}\n", "a.md"),
    ],
)
def test_a_heading_goes_with_the_beginning_of_what_follows(text: str, path: str) -> None:
    found = cut(text, path)
    assert all("heron" in one.text for one in found), [one.text for one in found]
    assert found[0].start_line == 1
    assert found[0].heading[-1:] == ("Herons",)
    assert all(COUNTER.count(one.text) <= 64 for one in found)


def test_a_heading_at_the_end_goes_with_what_is_before_it() -> None:
    found = cut(f"# Birds\n\n{LONG}\n\n## Herons\n\nOne heron.\n\n# Empty\n")
    assert found[-1].text.endswith("One heron.\n\n# Empty")


def test_a_file_of_headings_alone_is_a_chunk() -> None:
    assert [one.text for one in cut("# Birds\n\n## Herons\n")] == ["# Birds\n\n## Herons"]
