"""Which part of a file a value means, and cutting it out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.errors import Code, SourceError
from promptuary.base.references import LineRange
from promptuary.references.scan import scan
from promptuary.references.selection import FilePart, Selection, count_lines, cut, interpretations

TEN = "".join(f"{number}\n" for number in range(1, 11))


def lines(*ranges: tuple[int | None, int | None]) -> Selection:
    return Selection(ranges=tuple(LineRange(first, last) for first, last in ranges))


def meanings(text: str) -> list[FilePart]:
    return list(interpretations(scan(text)[0]))


@pytest.mark.parametrize(
    ("suffix", "selection"),
    [
        (":10", lines((10, 10))),
        (":10-50", lines((10, 50))),
        (":10-", lines((10, None))),
        (":-50", lines((None, 50))),
        (":42:7", lines((42, 42))),
        (":10:1-25:4", lines((10, 25))),
        (":1,3-5,9-", lines((1, 1), (3, 5), (9, None))),
        (":0", lines((0, 0))),
        (":50-10", lines((50, 10))),
        ("#L10", lines((10, 10))),
        ("#L10-L50", lines((10, 50))),
        ("#L10-50", lines((10, 50))),
        ("#L10-", lines((10, None))),
        ("#L10C3-L50C7", lines((10, 50))),
        ("#L1,L3-L5", lines((1, 1), (3, 5))),
        ("#func", Selection(symbol="func")),
        ("#Class.method", Selection(symbol="Class.method")),
        ("#größe", Selection(symbol="größe")),
        ("#L10x", Selection(symbol="L10x")),
        ("#_x1", Selection(symbol="_x1")),
        ("#a-b", Selection(symbol="a-b")),
        ("#1", Selection(symbol="1")),
    ],
)
def test_a_suffix_is_read_after_the_literal_path(suffix: str, selection: Selection) -> None:
    assert meanings(f"@file:a.py{suffix}") == [FilePart(f"a.py{suffix}"), FilePart("a.py", selection)]
    assert meanings(f'@file:"a b.py"{suffix}') == [FilePart("a b.py", selection)]
    assert meanings(f'@"a b.py"{suffix}') == [FilePart("a b.py", selection)]
    assert meanings(f"#a.py{suffix}") == [FilePart(f"a.py{suffix}"), FilePart("a.py", selection)]


@pytest.mark.parametrize("value", ["a.py", "a.py:x", "a.py:1-2-3", "a.py:1,,2", ":10", "#func", "a.py:-"])
def test_what_is_no_suffix_belongs_to_the_path(value: str) -> None:
    assert meanings(f"@file:{value}") == [FilePart(value)]


@pytest.mark.parametrize("suffix", [":contents", ":-", ":x", "#", "#1", ".", ":1-2-3"])
def test_a_quoted_path_always_has_a_meaning(suffix: str) -> None:
    assert meanings(f'@file:"a b.py"{suffix}')[0].path == "a b.py"


def test_the_suffix_of_a_path_with_colons_is_its_last() -> None:
    assert meanings("@file:a:b.py:10") == [FilePart("a:b.py:10"), FilePart("a:b.py", lines((10, 10)))]
    assert meanings("@file:a#b.py#L3") == [FilePart("a#b.py#L3"), FilePart("a#b.py", lines((3, 3)))]


@pytest.mark.parametrize(
    ("first", "last", "text", "span"),
    [
        (1, 1, "1\n", (1, 1)),
        (2, 4, "2\n3\n4\n", (2, 4)),
        (9, None, "9\n10\n", (9, 10)),
        (None, 2, "1\n2\n", (1, 2)),
        (None, None, TEN, (1, 10)),
        (10, 10, "10\n", (10, 10)),
        (9, 99, "9\n10\n", (9, 10)),
        (1, 999_999_999, TEN, (1, 10)),
    ],
)
def test_a_range_is_cut_out_and_its_end_clamped(
    first: int | None, last: int | None, text: str, span: tuple[int, int]
) -> None:
    part = cut(TEN, [LineRange(first, last)], "a.py")

    assert (part.text, (part.first, part.last), part.total) == (text, span, 10)
    assert part.clamped == (last is not None and last > 10)
    assert not part.gaps


@pytest.mark.parametrize(
    ("ranges", "reason"),
    [
        ([(0, 0)], "are not a valid range"),
        ([(0, 5)], "are not a valid range"),
        ([(5, 4)], "are not a valid range"),
        ([(None, 0)], "are not a valid range"),
        ([(99, 5)], "are not a valid range"),
        ([(11, 11)], "has 10 lines, so there is no line 11"),
        ([(11, 20)], "has 10 lines, so there is no line 11"),
        ([(11, None)], "has 10 lines, so there is no line 11"),
        ([(1, 2), (11, 12)], "no line 11"),
        ([(1, 2), (4, 3)], "lines 4-3 of a.py are not a valid range"),
    ],
)
def test_an_impossible_range_is_refused_with_its_reason(
    ranges: list[tuple[int | None, int | None]], reason: str
) -> None:
    with pytest.raises(SourceError, match=reason) as refused:
        cut(TEN, [LineRange(*one) for one in ranges], "a.py")

    assert refused.value.code is Code.BAD_RANGE


@pytest.mark.parametrize("wanted", [LineRange(1, 1), LineRange(1, None), LineRange(None, 5), LineRange(None, None)])
def test_no_line_of_an_empty_file_can_be_had(wanted: LineRange) -> None:
    with pytest.raises(SourceError, match=r"a\.py is empty, so there is no line 1") as refused:
        cut("", [wanted], "a.py")

    assert refused.value.code is Code.BAD_RANGE


def test_overlapping_and_touching_ranges_are_merged_and_put_in_order() -> None:
    part = cut(TEN, [LineRange(7, 8), LineRange(1, 3), LineRange(2, 4), LineRange(5, 5)], "a.py")

    assert part.text == "1\n2\n3\n4\n5\n⋯ lines 6-6 left out ⋯\n7\n8\n"
    assert (part.first, part.last, part.gaps) == (1, 8, True)


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("", 0),
        ("a", 1),
        ("a\n", 1),
        ("a\nb", 2),
        ("a\nb\n", 2),
        ("\n", 1),
        ("\n\n", 2),
        ("a\r\nb\r\n", 2),
        ("a\fb\n", 1),
        ("a\u2028b\x0bc\x85d\n", 1),
        ("a\rb\n", 1),
    ],
)
def test_lines_end_at_line_feeds_only(text: str, total: int) -> None:
    assert count_lines(text) == total
    if total:
        whole = cut(text, [LineRange(None, None)], "a.py")
        assert (whole.text, whole.total) == (text, total)


def test_line_ends_stay_as_they_are() -> None:
    assert cut("a\r\nb\r\nc", [LineRange(2, 3)], "a.py").text == "b\r\nc"
    assert cut("a\nb\nc", [LineRange(3, 3), LineRange(1, 1)], "a.py").text == "a\n⋯ lines 2-2 left out ⋯\nc"


@given(
    st.lists(st.text("ab\r\f\u2028", max_size=3), min_size=1, max_size=8),
    st.booleans(),
    st.integers(1, 9),
    st.integers(0, 9),
)
def test_a_cut_equals_the_slice_of_the_lines(parts: list[str], ended: bool, first: int, more: int) -> None:
    kept = [part + "\n" for part in parts]
    if not ended and parts[-1]:
        kept[-1] = parts[-1]
    text = "".join(kept)
    if first > len(kept):
        with pytest.raises(SourceError):
            cut(text, [LineRange(first, first + more)], "a.py")
    else:
        part = cut(text, [LineRange(first, first + more)], "a.py")

        assert part.text == "".join(kept[first - 1 : first + more])
        assert (part.total, part.clamped) == (len(kept), first + more > len(kept))
