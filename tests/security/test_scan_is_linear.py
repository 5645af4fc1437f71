"""No text makes the scanner slow: twice the text takes twice the time, whatever it is made of."""

import time

import pytest

from promptuary.references.scan import scan
from tests.conftest import TORTURE, Figure

REPEATED = [
    "a", "a ", "\n", "@", "#", "`", "\\", "[", ":", "~", ">", "@a ", "#a ", "@a,", "@a!", "@a.", ",@", ";#", "a@b.c ",
    "# ", "## ", "@... ", '@"', '#"', '@"a" ', '@"a\n', "@file:", "@file: ", "@file:a ", "@file:a,", "@file:) ",
    "@file:(((", "@file:))))", '@file:"', "@file:'", "@file:`", '@file:"\\', '@file:"\\"\n', '@file:"a":1 ',
    '@file:"a":1,', '@file:"a"#L', "@file:`'\"", "@file:*@", "@file:!@a,", "@diff ", "@diff", "@diff=",
    "@status \t", "[#", "[#a](", "[@a](", "[#a](b)", "` ", "`a", "``a", "``` ", "`\n", "\n`", "\n\n`",
    "` `` ``` ```` ", "```` ``` `` ` ", "\\`", "\n```", "\n~~~", "~~~\n", "\n```a`", "\n> > ", "\n \t", "\n````\n```",
    "http://", "https://a ", "日本語@", "的.py", "@a.py的 ", "\0", "\ud800", "the quick brown fox\n", "`a` b",
    "`a` b`\n\n",
]  # fmt: skip
OPENED = [
    ("@file:", "("), ("@file:", ")"), ("@file:", "."), ("@file:", "'s"), ("@file:", "a,"), ("@file:", "a"),
    ("@file:", ".a"), ('@file:"', "a"), ('@file:"', '\\"'), ("@file:'", "a "), ("@", "a."), ('#"', "\\a"),
    ("[#", "a"), ("[#a](", "a"), ("`", "a "), ("`", "a\n"), ("`", "``"), ("``", "` "), ("` `` ``` ", "a"),
    ("```\n", "a\n"), ("```\n", "``\n"), ("```\n", "\n > "), ("~~~\n", "~~\n"),
    ('@file:"a":', "1,"), ('@file:"a"#a', ".a"), ("://", "a"), ("@diff", " "),
]  # fmt: skip
LONGEST_VALUES = ["@file:" + ")" * 4080, "@file:" + "(" * 2000 + ")" * 2080, "@a" + "'s" * 2040, "@a" + "." * 4080]

FAMILIES = {
    **{f"{piece!a} repeated": ("", piece) for piece in REPEATED},
    **{f"{opening!a}, then {piece!a}": (opening, piece) for opening, piece in OPENED},
    **{f"{piece[:8]!a} as long as a value": ("", f"{piece} ") for piece in LONGEST_VALUES},
}


def seconds(opening: str, piece: str, size: int) -> float:
    """Return the processor time that a scan takes: what else the machine does counts less."""
    # A sigil at the end: a text without any is not looked at.
    text = opening + piece * (size // len(piece)) + "@"
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        scan(text)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.torture
@pytest.mark.parametrize("family", FAMILIES)
def test_twice_the_text_takes_twice_the_time(family: str, figure: Figure) -> None:
    opening, piece = FAMILIES[family]
    size = figure(60_000, 1_000_000)
    small = large = 0.0
    for _ in range(5):
        small, large = seconds(opening, piece, size), seconds(opening, piece, 2 * size)
        # Below a millisecond the clock decides, and a text that grew faster than itself would take longer.
        if large <= 2.5 * max(small, 0.001):
            break
    else:
        pytest.fail(f"twice the text took {large / small:.1f} times as long: {small:.4f} s, {large:.4f} s")
    if TORTURE:
        print(f"\n{small * 1e9 / size:8.1f} ms per MB  {family}")


def test_there_are_many_families() -> None:
    assert len(FAMILIES) >= 30
