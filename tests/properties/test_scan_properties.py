"""Laws that hold for every text, and a scanner that goes character by character to compare with."""

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from promptuary.base.references import ENDS_VALUE, KEYWORDS, KINDS, PUNCTUATION, Reference, format_reference, glued
from promptuary.references.scan import MAX_VALUE, scan
from promptuary.references.selection import SUFFIX, interpretations

pytestmark = pytest.mark.torture

Span = tuple[int, int]
Slow = tuple[int, int, str, str, str]
"""Start, end, kind, value and suffix of a reference."""

FRAGMENTS = [
    *"@#`\\[](){}<>|'\".,;:!?*~_/-+=$&a1 \n\té日를的แ",
    *[
        "``",
        "```",
        "````",
        "`````",
        "~~~",
        "~~~~",
        "\n\n",
        "\n```\n",
        "\n~~~\n",
        "\n > ",
        "\r\n",
        "[#",
        "](",
        "://",
        "\\@",
    ],
    *[
        "@file:",
        "@FILE:",
        "@glob:",
        "@url:https://",
        "@diff",
        "@status",
        "@fil",
        '@file:"',
        "@file:'",
        "@file:`",
        '@"',
        '#"',
    ],
    *[
        "a.py",
        "b/c.ts",
        ":10-20",
        "#L3",
        "#func",
        ":contents",
        "'s",
        "...",
        "..",
        "./",
        "。",
        "，",
        "…",
        "\u200b",
        " = ",
        "日.md",
    ],
    *["me@x.io", "x#a.ts", "[#a](#b)", "`x`", "```py\n", "https://x.io/#a", " @a ", " #a "],
]
texts = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)
any_text = st.text(st.characters(), max_size=60)
calm_texts = st.text(st.characters(blacklist_characters="`~", blacklist_categories=["Cs"]), max_size=20)


def within(char: str, characters: str) -> bool:
    return bool(char) and re.fullmatch(f"[{characters}]", char) is not None


def slow_scan(text: str) -> list[Slow]:
    """Find what ``scan`` finds, one character after the other, without any care for speed."""
    found: list[Slow] = []
    position = slow_fence(text, 0) or 0
    while position < len(text):
        char = text[position]
        before = text[position - 1 : position]
        if char == "\n":
            position = slow_fence(text, position + 1) or position + 1
        elif char == "`":
            length = run_length(text, position)
            end = None if before == "\\" or length > 4 else slow_code_span(text, position + length, length)
            position = end or position + length
        elif char == "[" and (end := slow_link(text, position)):
            position = end
        elif text.startswith("://", position):
            while position < len(text) and (text[position] in ":/" or not within(text[position], ENDS_VALUE)):
                position += 1
        elif char in "@#" and not within(before, r"0-9A-Za-z\u00aa\u00b5\u00ba\u00c0-\u052f/\\@#.+%&$\-"):
            position = slow_reference(text, position, found)
        else:
            position += 1
    return found


def run_length(text: str, position: int) -> int:
    return len(text) - position - len(text[position:].lstrip(text[position]))


def slow_fence(text: str, position: int) -> int | None:
    first, *lines = text[position:].split("\n")
    opening = first.lstrip(" \t>")
    if not opening.startswith(("```", "~~~")):
        return None
    mark, length = opening[0], run_length(opening, 0)
    if mark == "`" and "`" in opening[length:]:
        return None
    end = position + len(first)
    for line in lines:
        end += 1 + len(line)
        closing = line.lstrip(" \t>").rstrip(" \t\r")
        if len(closing) >= length and not closing.strip(mark):
            return end
    return len(text)


def slow_code_span(text: str, position: int, length: int) -> int | None:
    while position < len(text):
        if text[position] == "`":
            other = run_length(text, position)
            position += other
            if other == length:
                return position
        elif text[position] == "\n" and text[position + 1 :].lstrip(" \t\r").startswith("\n"):
            return None
        else:
            position += 1
    return None


def slow_link(text: str, position: int) -> int | None:
    label_end = text.find("](", position)
    end = text.find(")", label_end)
    if label_end < 0 or end < 0:
        return None
    label, target = text[position + 1 : label_end], text[label_end + 2 : end]
    good = 1 <= len(label) <= 300 and len(target) <= 300 and not {*label} & {*"[]\n"} and not {*target} & {*"(\n"}
    return end + 1 if good else None


def slow_reference(text: str, start: int, found: list[Slow]) -> int:
    """Append the reference that begins at ``start``, if one does; return where to go on."""
    if text[:start].endswith("]("):
        return start + 1
    kind = next((kind for kind in KINDS if text[start + 1 : start + 2 + len(kind)].lower() == f"{kind}:"), None)
    if text[start] == "@" and kind:
        return slow_value(text, start, start + 2 + len(kind), kind, found)
    keyword = next((word for word in KEYWORDS if text[start + 1 : start + 1 + len(word)].lower() == word), None)
    if text[start] == "@" and keyword and stands_alone(text[start + 1 + len(keyword) :]):
        end = start + 1 + len(keyword)
        found.append((start, end, keyword, "", ""))
        return end
    rest = text[start + 1 : start + 4]
    word = rest[:1].isalnum() or rest[:1] == "_"
    dotted = rest[:1] == "." and (rest[1:2].isalnum() or rest[1:2] in {"_", "/", "\\"} or rest[1:] in {"./", ".\\"})
    if word or dotted or rest[:1] == '"':
        return slow_value(text, start, start + 1, "path", found)
    return start + 1


def stands_alone(after: str) -> bool:
    if within(after[:1], r"0-9A-Za-z\u00aa\u00b5\u00ba\u00c0-\u052f_/(\-"):
        return False
    if after[:1] in {".", ":"} and (after[1:2].isalnum() or after[1:2] in {*"_/\"'`"}):
        return False
    return not any(after.lstrip(" \t").startswith(f"{sign}=") for sign in ("", *"|&+-*", "||", "&&"))


def slow_value(text: str, start: int, position: int, kind: str, found: list[Slow]) -> int:
    mark = text[position : position + 1]
    if mark and mark in "\"'`":
        return slow_quoted(text, start, position, kind, found)
    end = position
    while end < len(text) and not within(text[end], ENDS_VALUE):
        after = end
        while after < len(text) and within(text[after], PUNCTUATION):
            after += 1
        if after > end and text[after : after + 1] in {"@", "#"}:
            break
        end = max(after, end + 1)
    run = text[position:end]
    after_stops = text[position:].lstrip(",;:!?~()[]{}")
    stopped = after_stops != text[position:] and after_stops[:1] in {"@", "#"}
    if kind != "path" and (stopped or not after_stops or within(after_stops[0], ENDS_VALUE)):
        return start + 1
    value = slow_trim(run, kind, text[start - 1 : start] if start else "")
    if not value:
        return end
    found.append((start, position + len(value), kind, value, ""))
    return position + len(value)


def slow_quoted(text: str, start: int, position: int, kind: str, found: list[Slow]) -> int:
    mark, value, end = text[position], "", position + 1
    while end < len(text) and text[end] not in {mark, "\n"}:
        if mark == '"' and text[end] == "\\":
            if text[end + 1 : end + 2] in {"", "\n"}:
                return start + 1
            value += text[end + 1] if text[end + 1] in '"\\' else text[end : end + 2]
            end += 2
        else:
            value += text[end]
            end += 1
    if mark == "`" and text.startswith("``", end):
        return start + 1
    if not text.startswith(mark, end) or not value or (kind == "path" and mark != '"'):
        return start + 1
    suffix = re.compile(SUFFIX).match(text, end + 1)
    written = suffix.group() if suffix else ""
    found.append((start, end + 1 + len(written), kind, value, written))
    return end + 1 + len(written)


def slow_trim(run: str, kind: str, before: str) -> str:
    if stuck := glued().search(run):
        run = run[: stuck.end()]
    value = run
    possessives = 0
    while value:
        last = value[-1]
        opening = {")": "(", "]": "[", "}": "{"}.get(last)
        if value.endswith("'s") and not possessives:
            possessives += 1
            value = value[:-2]
        elif (
            last in ".,;:!?~'\\"
            or (last == "*" and (kind != "glob" or before == "*"))
            or (last == "_" and before == "_")
            or (opening and value.count(last) > value.count(opening))
        ):
            value = value[:-1]
        else:
            return value
    return next((dots for dots in ("..", ".") if run.startswith(dots) and not run.startswith("...")), "")


def as_slow(reference: Reference) -> Slow:
    return reference.start, reference.end, reference.kind, reference.value, reference.suffix


@given(texts)
@example("@file:a,,@b `x`` y` \n```\n@c")
def test_the_scanner_agrees_with_a_slow_and_obvious_one(text: str) -> None:
    assert [as_slow(one) for one in scan(text)] == slow_scan(text)


@given(any_text | texts)
@example("\ud800@file:a\udfff")
@example('@file:"\0" @file:\0 @"\0"')
def test_spans_are_sorted_disjoint_and_exact_whatever_the_text(text: str) -> None:
    rebuilt, position = "", 0
    for one in scan(text):
        assert position <= one.start < one.end
        assert one.raw == text[one.start : one.end]
        assert one.raw[0] == one.sigil
        assert one.kind in KINDS | KEYWORDS | {"path"}
        assert one.bare == (one.kind == "path")
        assert bool(one.value) == (one.kind not in KEYWORDS)
        rebuilt += text[position : one.start] + one.raw
        position = one.end

    assert rebuilt + text[position:] == text


@given(
    st.sampled_from(sorted(KINDS)),
    st.text(st.characters(), min_size=1, max_size=20) | texts,
    st.sampled_from(["", ":10", ":10-20", ":10-", ":-20", "#L1-L2", ":1,3-5"]),
    calm_texts,
    calm_texts,
)
@example("file", "all \" ' ` \\ of them", ":1", "", "")
@example("file", "a:5", ":10", "", "")
def test_what_is_formatted_is_read_back(kind: str, value: str, suffix: str, before: str, after: str) -> None:
    assume(value and not {*value} & {*"\n\0"} and len(value) <= MAX_VALUE)
    written = format_reference(kind, value, suffix)
    start = len(before) + 1

    [one] = [one for one in scan(f"{before} {written} {after}") if one.start == start]

    assert (one.kind, one.raw) == (kind, written)
    assert (one.value, one.suffix) == ((value, suffix) if one.quoted else (value + suffix, ""))
    if suffix:
        assert list(interpretations(one))[-1].path == value
    else:
        assert next(interpretations(one)).path == value


@given(texts, st.text(st.characters(blacklist_characters="`"), max_size=30), texts)
def test_what_is_in_code_makes_no_difference(before: str, code: str, after: str) -> None:
    before, after = before.replace("`", "").replace("~", ""), after.replace("`", "").replace("~", "")
    for opening, closing, inside in (("\n`", "x`\n", re.sub(r"\s", " ", code)), ("\n```\n", "\n```\n", code)):
        empty = scan(f"{before}{opening}{closing}{after}")
        filled = scan(f"{before}{opening}{inside}{closing}{after}")
        edge = len(before)
        moved = [as_slow(one) for one in empty if one.start < edge]
        moved += [
            (one[0] + len(inside), one[1] + len(inside), *one[2:]) for one in map(as_slow, empty) if one[0] >= edge
        ]

        assert [as_slow(one) for one in filled] == moved


@given(texts, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted), max_size=3))
def test_nothing_is_found_in_what_was_pasted(text: str, pasted: list[list[int]]) -> None:
    spans: list[Span] = [(first, last) for first, last in pasted]

    for one in scan(text, skip=spans):
        assert one.raw == text[one.start : one.end]
        assert not any(max(first, one.start) < min(last, one.end) for first, last in spans)
