"""The rules that every path to a note shares."""

import pytest

from promptuary.base.principals import Principal
from promptuary.memory.values import NoteHeader, is_note_id, note_path, slug, valid_at, visible_to


def header(**given: object) -> NoteHeader:
    fields = {"id": "abcd", "path": "private/user/a.md", "scope": "project", "audience": "private", "kind": "user"}
    return NoteHeader(**{**fields, "title": "a", "rev": "r", **given})  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["abcd", "4F1c_0-9", "a" * 64])
def test_letters_digits_and_hyphens_are_an_id(text: str) -> None:
    assert is_note_id(text)


@pytest.mark.parametrize(
    "text", ["", "abc", "../a", "a/bcd", "-abc", "abc-", "a b c", "a" * 65, "ſecret", "\u212aelvin", "abcd\n"]
)
def test_what_could_be_a_path_or_looks_like_another_id_is_none(text: str) -> None:
    """W5: an id never leads out of the folder."""
    assert not is_note_id(text)


@pytest.mark.parametrize(
    ("title", "name"),
    [("Likes Tabs!", "likes-tabs"), ("../../etc/passwd", "etc-passwd"), ("喜欢制表符", "喜欢制表符"), ("…", "memory")],
)
def test_a_title_becomes_a_plain_part_of_a_name(title: str, name: str) -> None:
    assert slug(title) == name
    assert note_path("private", "user", title, "abcd") == f"private/user/{name}-abcd.md"


def test_a_private_note_is_visible_to_its_owner_alone() -> None:
    ada, bob = Principal(user="ada").owner, Principal(user="bob").owner
    group = Principal(user="ada", group="team").owner

    assert visible_to(header(owner=ada), ada)
    assert not visible_to(header(owner=ada), bob)
    assert not visible_to(header(owner=ada), group)
    assert not visible_to(header(owner=None), ada)
    assert visible_to(header(audience="shared", owner=ada), bob)


@pytest.mark.parametrize(
    ("since", "until", "at", "valid"),
    [
        ("", "", "2026-01-02T10:00:00Z", True),
        ("2026-01-02", "", "2026-01-02T00:00:00Z", True),
        ("2026-01-02", "", "2026-01-01T23:59:59Z", False),
        ("", "2026-01-02", "2026-01-02T23:59:59Z", True),
        ("", "2026-01-02", "2026-01-03T00:00:00Z", False),
        ("", "2026-01-02T12:00:00Z", "2026-01-02T11:59:59Z", True),
        ("", "2026-01-02T12:00:00Z", "2026-01-02T12:00:00Z", False),
    ],
)
def test_a_note_is_valid_between_its_bounds_and_a_bound_of_a_day_is_the_whole_day(
    since: str, until: str, at: str, valid: bool
) -> None:
    assert valid_at(header(valid_from=since, valid_until=until), at) is valid
