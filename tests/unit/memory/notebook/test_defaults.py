"""What a new note is where nobody says."""

from typing import Any

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.base.principals import LOCAL
from promptuary.memory.notebook.drafting import (
    Writer,
    audience_of,
    check_choices,
    check_selection,
    kind_of,
    new_file,
    scope_of,
    title_of,
)
from promptuary.memory.values import NoteDraft


@pytest.mark.parametrize("content", ["Share this with everybody in the team", "public project rule", "doc style"])
def test_a_note_is_private_whatever_its_words(content: str) -> None:
    """W14: no word in a text makes it shared, or of a kind."""
    assert audience_of(NoteDraft(content)) == "private"
    assert kind_of(NoteDraft(content)) == "reference"


def test_what_is_known_of_the_person_follows_the_person() -> None:
    assert scope_of(NoteDraft("a", kind="user")) == "user"
    assert scope_of(NoteDraft("a", kind="user", scope="project")) == "project"
    assert {scope_of(NoteDraft("a", kind=kind)) for kind in ("feedback", "project", "reference", None)} == {"project"}


def test_whether_a_note_is_pinned_is_not_guessed_from_a_text() -> None:
    pinned: Any = "no"
    with pytest.raises(PromptuaryError, match="pinned is true or false, not 'no'"):
        check_choices(NoteDraft("a", pinned=pinned))


@pytest.mark.parametrize(
    "selection", [{"kinds": ["bogus"]}, {"kinds": "user"}, {"statuses": ["gone"]}, {"tags": "tea"}]
)
def test_a_choice_that_no_note_can_have_is_an_error_and_no_empty_list(selection: Any) -> None:
    with pytest.raises(PromptuaryError, match="list of"):
        check_selection(selection)
    check_selection({"kinds": ["user"], "scopes": (), "statuses": ["archived", "active"], "tags": ["tea"]})


def test_a_note_that_would_never_be_true_is_refused() -> None:
    writer = Writer(LOCAL.owner, "local/default", "2026-11-17T00:00:00Z")
    with pytest.raises(PromptuaryError, match="before valid_from"):
        new_file(NoteDraft("a", valid_from="2026-12-01", valid_until="2026-11-01"), "abcdefabcdef", writer)
    one_day = NoteDraft("a", valid_from="2026-12-01T09:00:00Z", valid_until="2026-12-01")
    assert b"valid_until: 2026-12-01\n" in new_file(one_day, "abcdefabcdef", writer).data


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("Use tabs.", "Use tabs."),
        ("\n\n## Use  tabs\n\nAlways.", "Use tabs"),
        ("- **Tabs**", "Tabs**"),
        ("word " * 40, "word " * 15 + "word…"),
        ("字" * 100, "字" * 79 + "…"),
        ("", "Note"),
        ("###", "Note"),
    ],
)
def test_a_title_is_the_first_words_of_the_text(content: str, title: str) -> None:
    assert title_of(NoteDraft(content)) == title
    assert title_of(NoteDraft(content, title=" Given\n title ")) == "Given title"
