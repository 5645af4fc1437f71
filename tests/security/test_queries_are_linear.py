"""No text makes taking it apart slow: twice the text takes twice the time, whatever it is made of."""

import time
from collections.abc import Callable

import pytest

from promptuary.core.query import extra_terms, folded, parse
from tests.conftest import Figure

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


def seconds(way: Callable[[str], object], text: str) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        way(text)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.torture
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("piece", PIECES, ids=ascii)
def test_twice_the_text_takes_twice_the_time(way: str, piece: str, figure: Figure) -> None:
    size = figure(60_000, 1_000_000)
    small = large = 0.0
    for _ in range(5):
        small = seconds(WAYS[way], piece * (size // len(piece)))
        large = seconds(WAYS[way], piece * (2 * size // len(piece)))
        # Below a few milliseconds the clock decides, and what grew faster than the text would take longer.
        if large <= 2.6 * max(small, 0.002):
            return
    pytest.fail(f"twice the text took {large / small:.1f} times as long: {small:.4f} s, {large:.4f} s")
