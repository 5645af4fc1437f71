"""No text makes the scanner slow: four times the text takes about four times the time, whatever it is made of."""

import pytest

from promptuary.references.scan import scan
from tests.conftest import TORTURE, Figure
from tests.linear import FACTOR, assert_linear, repeated

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


@pytest.mark.torture
@pytest.mark.parametrize("family", FAMILIES)
def test_four_times_the_text_takes_about_four_times_the_time(family: str, figure: Figure) -> None:
    opening, piece = FAMILIES[family]
    size = figure(30_000, 500_000)
    # A sigil at the end: a text without any is not looked at.
    found = assert_linear(scan, repeated(piece, opening, "@"), size)
    if TORTURE:
        print(f"\n{found.large * 1e9 / size / FACTOR:8.1f} ms per MB  {family}")


def test_there_are_many_families() -> None:
    assert len(FAMILIES) >= 30
