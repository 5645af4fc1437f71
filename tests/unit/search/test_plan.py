import pytest
from msgspec.structs import replace

from promptuary.base.files import Stamp
from promptuary.search.plan import Moves, Plan, plan, plan_some, stamp_to_store
from promptuary.search.values import UNREAD, IndexedFile

OLD = Stamp(10, 1_000, 1_000, 1)


def known(path: str, stamp: Stamp = OLD, sha256: str = "a" * 64) -> IndexedFile:
    return IndexedFile(path, stamp, sha256, "markdown", 0)


def index(*files: IndexedFile) -> dict[str, IndexedFile]:
    return {file.path: file for file in files}


def test_a_file_that_looks_as_before_is_not_opened() -> None:
    assert plan({"a.md": OLD}, index(known("a.md"))) == Plan()


def test_a_new_file_is_read() -> None:
    assert plan({"a.md": OLD, "b.md": OLD}, index(known("a.md"))) == Plan(read=("b.md",))


@pytest.mark.parametrize("field", ["size", "modified", "changed", "inode"])
def test_a_file_that_looks_different_in_any_way_is_read(field: str) -> None:
    assert plan({"a.md": replace(OLD, **{field: 5})}, index(known("a.md"))).read == ("a.md",)


def test_what_is_indexed_and_not_there_is_gone() -> None:
    assert plan({"a.md": OLD}, index(known("a.md"), known("b.md"))) == Plan(gone=("b.md",))


def test_a_folder_that_is_not_there_deletes_nothing_and_says_why() -> None:
    assert plan({}, index(known("a.md")), unavailable="missing") == Plan(held="missing")


def test_an_emptied_folder_deletes_nothing() -> None:
    found = plan({}, index(known("a.md"), known("b.md")))

    assert found.gone == ("a.md", "b.md")
    assert found.held == "empty"


def test_an_empty_folder_of_which_nothing_is_indexed_is_nothing_to_tell() -> None:
    assert plan({}, {}) == plan({}, {}, unavailable="missing") == Plan()


def test_only_what_was_looked_at_is_compared() -> None:
    found = plan_some({"b.md": replace(OLD, size=1), "c.md": None}, index(known("b.md"), known("c.md")), others=True)

    assert found == Plan(read=("b.md",), gone=("c.md",))


def test_everything_below_a_folder_that_is_gone_is_gone() -> None:
    found = plan_some({"sub": None}, index(known("sub/a.md"), known("sub/deep/b.md")), others=True)

    assert found.gone == ("sub/a.md", "sub/deep/b.md")


def test_the_last_file_that_goes_is_held_back_too() -> None:
    assert plan_some({"a.md": None}, index(known("a.md")), others=False).held
    assert not plan_some({"a.md": None}, index(known("a.md")), others=True).held


def test_a_file_that_turns_up_with_the_content_of_one_that_is_gone_was_moved() -> None:
    moves = Moves(["old.md"], index(known("old.md")))

    assert moves.take("a" * 64, "new.md") == "old.md"
    assert moves.take("a" * 64, "other.md") is None


def test_of_several_that_are_gone_the_one_with_the_same_name_was_moved() -> None:
    moves = Moves(["x/one.md", "x/two.md"], index(known("x/one.md"), known("x/two.md")))

    assert moves.take("a" * 64, "two.md") == "x/two.md"


def test_a_file_that_was_never_read_cannot_have_been_moved() -> None:
    moves = Moves(["old.bin"], index(known("old.bin", sha256=UNREAD)))

    assert moves.take(UNREAD, "new.bin") is None


def test_a_stamp_too_fresh_to_be_relied_on_is_kept_so_that_it_will_look_different() -> None:
    read_at = 10_000_000_000
    fresh = Stamp(1, read_at - 1_000_000, read_at - 1_000_000, 1)
    old = Stamp(1, read_at - 10**9, read_at - 10**9, 1)

    assert stamp_to_store(fresh, read_at) != fresh
    assert stamp_to_store(old, read_at) == old
