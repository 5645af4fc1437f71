"""The diff of a changed file: what it is applied to becomes the new text, and no text makes it slow."""

import time

from hypothesis import given
from hypothesis import strategies as st

from promptuary.layers.tracked.changes import diff
from tests.current_files import patched

LINES = st.lists(st.sampled_from(["a", "b", "", "+x", "-x", " x", "@@", "\\ y", "```"]), max_size=30)


@given(LINES, LINES)
def test_a_diff_turns_the_old_lines_into_the_new_ones(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    found = diff(before, after)

    assert (found == "") == (before == after)
    assert patched(before, found) == after if found else True


def test_a_diff_says_where_a_line_feed_is_missing() -> None:
    assert diff("a\nb", "a\nb\n") == "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
    assert diff("a\n", "a\nb") == "@@ -1 +1,2 @@\n a\n+b\n\\ No newline at end of file\n"


def test_changes_far_apart_are_two_hunks_and_close_ones_are_one() -> None:
    lines = [f"{number}\n" for number in range(40)]
    far = diff("".join(lines), "".join(["x\n", *lines[1:39], "y\n"]))
    near = diff("".join(lines), "".join(["x\n", *lines[1:5], "y\n", *lines[6:]]))

    assert far.count("@@ -") == 2
    assert near.count("@@ -") == 1
    assert patched("".join(lines), far) == "".join(["x\n", *lines[1:39], "y\n"])


def test_a_diff_of_anything_takes_no_time_to_speak_of() -> None:
    began = time.process_time()
    for size in (999, 60_000):
        diff("".join(f"{n % 7}\n{n % 11}\n" for n in range(size // 2)), "".join(f"{n % 5}\n" for n in range(size)))

    assert time.process_time() - began < 5
