"""Notes are found by their names alone: [[note]] everywhere, @note in a vault; code stays text."""

from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.references.expansion import Expansion
from promptuary.references.scan import scan
from tests.conftest import Files

NOTES = {
    "Projects/Bees.md": "# Bees\n\nThey hum.\n\n## How they dance\n\nIn eights.\n",
    "Daily/2024-03-12.md": "A day.\n",
    "My note.md": "Mine.\n",
    "a/Twice.md": "One.\n",
    "a/b/Twice.md": "Two.\n",
}
VAULT = {**NOTES, ".obsidian/app.json": "{}"}


def expand(project: Path, text: str) -> Expansion:
    with Promptuary.open(project, window=32_000) as promptuary:
        return promptuary.expand(text)


def attached(project: Path, text: str) -> list[str]:
    return [block.source.label for block in expand(project, text).blocks]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("[[Bees]]", "Projects/Bees.md"),
        ("see [[bees|the insects]].", "Projects/Bees.md"),
        ("[[Projects/Bees#How they dance]]", "Projects/Bees.md#How they dance"),
        ("[[Bees#Bees#How they dance]]", "Projects/Bees.md#How they dance"),
        ("[[Bees#^4f2a]]", "Projects/Bees.md"),
        ("![[My note]]", "My note.md"),
        ("[[Bees.md]]", "Projects/Bees.md"),
        ("[[2024-03-12]]", "Daily/2024-03-12.md"),
    ],
)
def test_a_link_to_a_note_attaches_it_wherever_it_is(files: Files, text: str, label: str) -> None:
    assert attached(files(NOTES), text) == [label]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("@Bees", "Projects/Bees.md"),
        ("@Daily/2024-03-12", "Daily/2024-03-12.md"),
        ('@"My note"', "My note.md"),
        ("@Bees#Bees", "Projects/Bees.md#Bees"),
    ],
)
def test_in_a_vault_a_note_needs_no_ending(files: Files, text: str, label: str) -> None:
    assert attached(files(VAULT), f"Read {text}, please") == [label]


def test_elsewhere_a_name_without_its_ending_is_text(files: Files) -> None:
    assert expand(files(NOTES), "Ask @Bees and @Daily/2024-03-12").outcomes == ()


def test_of_several_notes_of_one_name_the_others_are_named(files: Files) -> None:
    found = expand(files(NOTES), "[[Twice]]")

    assert found.blocks[0].source.label == "a/Twice.md"
    assert found.outcomes[0].reason == "read as a/Twice.md; the name is also that of a/b/Twice.md"


def test_a_link_that_leads_nowhere_is_missing_in_a_vault_and_text_elsewhere(files: Files, tmp_path: Path) -> None:
    assert expand(files(NOTES), "[[Wasps]]").outcomes == ()
    (outcome,) = expand(files(VAULT), "[[Wasps]]").outcomes

    assert (outcome.status, outcome.code) == ("missing", "NOT_FOUND")


@pytest.mark.parametrize(
    "text",
    [
        "[[1,2],[3]]",
        "if [[ -f Bees ]]; then",
        "`[[Bees]]`",
        "```\n[[Bees]]\n```",
        "[[]]",
        "[[Bees",
        "[[Be\nes]]",
        "x[[0]][[1]]",
        "[[nodiscard]] int f();",
    ],
)
def test_code_is_no_link(files: Files, text: str) -> None:
    assert expand(files(NOTES), text).outcomes == ()


def test_a_link_keeps_its_place_in_the_text() -> None:
    text = "a [[Bees#Two words|b]] c @x.py"

    assert [(one.raw, text[one.start : one.end]) for one in scan(text)] == [
        ("[[Bees#Two words|b]]", "[[Bees#Two words|b]]"),
        ("@x.py", "@x.py"),
    ]
