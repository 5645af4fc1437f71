"""The bar of a window."""

from hypothesis import given
from hypothesis import strategies as st

from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.present.window_bar import bar_text, segments


def receipt(parts: dict[str, int], *, window: int = 1_000, reserve: int = 100) -> Receipt:
    entries = [ReceiptEntry(name, name, "in", tokens) for name, tokens in parts.items()]
    return Receipt("t", "main", window, reserve, sum(parts.values()), entries)


def test_every_layer_has_its_share_and_the_rest_is_free() -> None:
    parts = segments(receipt({"files": 250, "message": 150}), 40)

    assert [(one.name, one.tokens, one.cells) for one in parts] == [
        ("files", 250, 10),
        ("message", 150, 6),
        ("reply", 100, 4),
        ("free", 500, 20),
    ]


def test_what_is_small_still_has_a_cell() -> None:
    parts = segments(receipt({"message": 1}), 20)

    assert [one.cells for one in parts] == [1, 2, 17]


def test_the_text_has_the_bar_and_a_legend() -> None:
    bar, legend = bar_text(receipt({"message": 500}), 20).split("\n")

    assert bar == "[██████████┄┄········]"
    assert legend == "█ message 500 (50.0%)  ┄ reply 100 (10.0%)  · free 400 (40.0%)"


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 5_000), max_size=8),
    st.integers(1, 10_000),
    st.integers(0, 5_000),
    st.integers(12, 100),
)
def test_the_cells_add_up_to_the_width(parts: dict[str, int], window: int, reserve: int, width: int) -> None:
    found = segments(receipt(parts, window=window, reserve=reserve), width)

    assert sum(one.cells for one in found) == width
    assert all(one.cells >= 1 for one in found if one.tokens)
