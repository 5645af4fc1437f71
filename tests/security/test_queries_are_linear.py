"""No text makes taking it apart slow: four times the text takes about four times the time, whatever it is made of."""

from collections.abc import Callable

import pytest

from promptuary.search.query import extra_terms, folded, parse
from tests.conftest import Figure
from tests.linear import assert_linear, repeated

PIECES = [
    "a", "A", "aA", "aB ", "AAa", "a1", "_", "a_", "a.", "a-b ", "a/", "'", '"', '"a" ', "“", "”", "“a", "«", "「", "*",
    "a*", "a* ", "**", "(", "()", " ", "\n", "\0", "\ud800", "é", "e\u0301", "\u0301", "\u0315\u0300", "\u0316\u0301a",
    "ﷺ", "日",
    "日a", "日本 ", "ก่", "ไทย ", "한", "\u1112\u1161", "か\u3099", "😀", "the ", "word ", "getName ", "हिन्दी",
]  # fmt: skip
WAYS: dict[str, Callable[[str], object]] = {
    "parse": parse,
    "fold": folded,
    "extra terms": lambda text: extra_terms(folded(text)),
}


@pytest.mark.torture
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("piece", PIECES, ids=ascii)
def test_four_times_the_text_takes_about_four_times_the_time(way: str, piece: str, figure: Figure) -> None:
    assert_linear(WAYS[way], repeated(piece), figure(30_000, 500_000))
