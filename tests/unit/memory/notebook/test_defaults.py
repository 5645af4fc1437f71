"""What a new note is where nobody says."""

import pytest

from promptuary.core.notes import NoteDraft
from promptuary.memory.notebook.defaults import audience_of, kind_of, scope_of, title_of


@pytest.mark.parametrize("content", ["Share this with everybody in the team", "public project rule", "doc style"])
def test_a_note_is_private_whatever_its_words(content: str) -> None:
    """W14: no word in a text makes it shared, or of a kind."""
    assert audience_of(NoteDraft(content)) == "private"
    assert kind_of(NoteDraft(content)) == "reference"


def test_what_is_known_of_the_person_follows_the_person() -> None:
    assert scope_of(NoteDraft("a", kind="user")) == "user"
    assert scope_of(NoteDraft("a", kind="user", scope="project")) == "project"
    assert {scope_of(NoteDraft("a", kind=kind)) for kind in ("feedback", "project", "reference", None)} == {"project"}


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
