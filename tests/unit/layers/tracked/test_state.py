"""What becomes of a tracked file, decided without a disk."""

import json

import pytest

from promptuary.base.errors import Code, SourceError
from promptuary.layers.tracked.state import (
    Condition,
    Gone,
    Observation,
    Refused,
    Seen,
    Tracked,
    Tracking,
    added,
    dropped,
    from_json,
    observed,
    pinned,
    scored,
    to_json,
    transition,
)

A, B = Seen("a" * 64), Seen("b" * 64)
EMPTY = Seen("e" * 64, empty=True)
TOO_LARGE = Refused(Code.FILE_TOO_LARGE, "it is 2 MiB")
SYMLINK = Refused(Code.SYMLINK, "a link")
DENIED = Refused(Code.PERMISSION_DENIED, "not yours")


def life(*looks: Observation) -> list[tuple[str, bool]]:
    """Return the state after each look, and whether it was a change."""
    condition, seen = Condition(), []
    for look in looks:
        condition, changed = transition(condition, look)
        seen.append((condition.state + (f" {condition.code}" if condition.code else ""), changed))
    return seen


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([A, A], [("ok", True), ("ok", False)]),
        ([A, B], [("ok", True), ("ok", True)]),
        ([A, Gone(), A], [("ok", True), ("deleted", True), ("ok", True)]),
        ([A, Gone(), Gone()], [("ok", True), ("deleted", True), ("deleted", False)]),
        ([Gone(), A], [("missing", False), ("ok", True)]),
        ([Gone(), Gone()], [("missing", False), ("missing", False)]),
        ([A, EMPTY, EMPTY, A], [("ok", True), ("empty", True), ("empty", False), ("ok", True)]),
        ([EMPTY], [("empty", True)]),
        ([EMPTY, Gone()], [("empty", True), ("deleted", True)]),
        ([A, TOO_LARGE, A], [("ok", True), ("error FILE_TOO_LARGE", True), ("ok", True)]),
        ([A, SYMLINK, A], [("ok", True), ("error SYMLINK", True), ("ok", True)]),
        ([A, DENIED, A], [("ok", True), ("error PERMISSION_DENIED", True), ("ok", True)]),
        (
            [TOO_LARGE, SYMLINK, SYMLINK],
            [("error FILE_TOO_LARGE", True), ("error SYMLINK", True), ("error SYMLINK", False)],
        ),
        ([A, Gone(), TOO_LARGE], [("ok", True), ("deleted", True), ("error FILE_TOO_LARGE", True)]),
        ([TOO_LARGE, Gone()], [("error FILE_TOO_LARGE", True), ("deleted", True)]),
        ([DENIED, Gone()], [("error PERMISSION_DENIED", True), ("missing", True)]),
    ],
)
def test_every_change_of_a_file_is_seen_and_nothing_else(
    looks: list[Observation], expected: list[tuple[str, bool]]
) -> None:
    assert life(*looks) == expected


def test_an_error_that_says_something_else_is_a_change() -> None:
    assert life(TOO_LARGE, Refused(Code.FILE_TOO_LARGE, "it is 3 MiB"))[-1][1]


def full() -> Tracking:
    tracking = added(Tracking(), [Tracked("a.py", asked="why"), Tracked("b/c.md", ":2-4,9-"), Tracked("d.md")], 2)
    tracking = observed(tracking, [A, TOO_LARGE])
    return pinned(scored(tracking, {"a.py": (71, "path: a")}), "b/c.md", on=True)


def test_the_state_survives_json_and_names_no_folder_of_the_host() -> None:
    kept = json.loads(json.dumps(to_json(full())))

    assert from_json(kept) == full()
    assert set(kept) == {"files", "slugs", "turned_away", "base", "sending"}
    assert kept["turned_away"] == ["d.md"]
    assert not [value for file in kept["files"] for value in file.values() if str(value).startswith("/")]


@pytest.mark.parametrize(
    "value", [None, {}, [], "x", 7, {"files": {}}, {"files": None, "slugs": 3, "turned_away": "x"}]
)
def test_a_state_that_is_none_of_ours_is_an_empty_one(value: object) -> None:
    assert from_json(value) == Tracking()


def test_a_damaged_entry_is_left_out_and_the_others_are_kept() -> None:
    kept = to_json(full())
    kept["files"][0]["score"] = "high"
    kept["slugs"]["x"] = kept["slugs"]["a.py"]

    restored = from_json(kept)

    assert [file.label for file in restored.files] == ["b/c.md:2-4,9-"]
    assert len(set(restored.slugs.values())) == len(restored.slugs)


def test_a_state_without_slugs_gets_them() -> None:
    kept = to_json(full())
    del kept["slugs"]

    assert from_json(kept).slugs == {"a.py": "a-py", "b/c.md:2-4,9-": "b-c-md-2-4-9"}


def test_a_file_is_tracked_once_and_keeps_its_place() -> None:
    tracking = added(full(), [Tracked("a.py", asked="again")], 100)

    assert [file.label for file in tracking.files] == ["a.py", "b/c.md:2-4,9-"]
    assert tracking.files[0].asked == "again"
    assert tracking.files[0].condition.state == "ok"


def test_pinned_files_come_first_then_the_score_then_the_order_of_naming() -> None:
    files = [Tracked(name) for name in ("one", "two", "three", "four", "five")]
    tracking = observed(added(Tracking(), files, 9), [A, A, A, Gone(), A])
    tracking = scored(
        tracking, {"one": (10, ""), "two": (90, ""), "three": (90, ""), "four": (99, ""), "five": (1, "")}
    )
    tracking = pinned(tracking, "five", on=True)

    assert [file.label for file in tracking.in_order()] == ["five", "two", "three", "one", "four"]


def test_a_score_belongs_to_a_revision() -> None:
    tracking = scored(observed(added(Tracking(), [Tracked("a.py")], 9), [A]), {"a.py": (80, "")})

    assert not tracking.files[0].needs_score
    assert observed(tracking, [B]).files[0].needs_score
    assert not observed(observed(tracking, [Gone()]), [A]).files[0].needs_score
    assert observed(tracking, [Gone()]).files[0].priority == 0


def test_untracking_forgets_the_file_and_remembers_its_slug() -> None:
    tracking = dropped(full(), "./a.py")

    assert [file.label for file in tracking.files] == ["b/c.md:2-4,9-"]
    assert tracking.slugs["a.py"] == "a-py"


def test_a_part_is_called_by_its_file_or_by_itself() -> None:
    assert len(dropped(full(), "b/c.md:2-4,9-").files) == len(dropped(full(), "#b/c.md").files) == 1


def test_a_path_that_is_not_tracked_is_refused_with_those_that_are() -> None:
    with pytest.raises(SourceError, match="tracked in this thread: a"):
        pinned(full(), "nothing.py", on=True)
