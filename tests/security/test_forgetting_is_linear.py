"""A hostile note, or a hostile thread, does not make forgetting slow: four times the text, four times the time."""

from collections.abc import Callable

import pytest

from promptuary.memory.redaction import holds, passages, without_blocks, without_words
from tests.linear import assert_linear, repeated

ADDRESS = "memory:4f1c00aa11bb"
SENTENCE = "The spare key lies under the blue pot."
BLOCK = f"# x\n## {ADDRESS}\nx\n\n```\n- a ({ADDRESS})\n```\n"
PIECES = (
    "a",
    "a ",
    "a-",
    "\\",
    "\\n",
    "\\u00e9",
    f"x {SENTENCE}\n",
    "- line of a note, and so on.\n",
    "## ",
    "```\n",
    BLOCK,
)

WAYS: dict[str, Callable[[str], object]] = {
    "a tenth of the text is looked for": lambda text: holds(text, passages([text[: len(text) // 10]])),
    "a sentence is taken out": lambda text: without_words(text, ADDRESS, passages([SENTENCE])),
    "a long note is looked for": lambda text: holds(SENTENCE * 9, passages([text])),
    "blocks are taken out": lambda text: without_blocks(f"# {ADDRESS}\n{text}", ADDRESS),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("piece", PIECES, ids=ascii)
def test_four_times_the_text_takes_about_four_times_the_time(way: str, piece: str) -> None:
    assert_linear(WAYS[way], repeated(piece), 30_000)
