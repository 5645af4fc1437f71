"""Links between notes: which a text has, and which file each points at."""

import pytest

from promptuary.search.chunks.links import MOST_LINKS, links_in
from promptuary.search.values import NoteLink, note_name
from tests.linear import assert_linear, repeated


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see [the runbook](ops/deploy.md) first", [("ops/deploy.md", "the runbook")]),
        ("see [[deploy|the runbook]] first", [("deploy", "the runbook")]),
        ("| [[deploy\\|the runbook]] |", [("deploy", "the runbook")]),
        ("[[ops/deploy#Roll back|undo a release]]", [("ops/deploy", "undo a release")]),
        ("[undo](../deploy.md#roll-back)", [("../deploy.md", "undo")]),
        ("[old plan](Three%20laws.md)", [("Three laws.md", "old plan")]),
        ("[old plan](<Three laws.md>)", [("Three laws.md", "old plan")]),
        ('[plan](laws.md "A title")', [("laws.md", "plan")]),
        ("[the **old** `plan`](laws.md)", [("laws.md", "the old plan")]),
        ("[a](x.md) [a](x.md) [b](x.md)", [("x.md", "a"), ("x.md", "b")]),
    ],
)
def test_a_link_with_words_of_its_own_is_found(text: str, found: list[tuple[str, str]]) -> None:
    assert links_in(text) == tuple(NoteLink(*one) for one in found)


@pytest.mark.parametrize(
    "text",
    [
        "[[deploy]]",
        "[[ops/deploy|Deploy]]",
        "[deploy](deploy.md)",
        "![a picture](deploy.png)",
        "![[deploy|a picture]]",
        "[the web](https://example.org/a.md)",
        "[mail](mailto:ada@example.org)",
        "[host](//example.org/a.md)",
        "[above](#section)",
        "[[#section|above]]",
        "[ ](a.md)",
        "[a](b\nc.md)",
        "[a](%00.md)",
        "it is [no link] (a.md)",
    ],
)
def test_other_brackets_are_no_names_of_files(text: str) -> None:
    assert links_in(text) == ()


def test_a_list_of_files_gives_no_more_than_the_first_names() -> None:
    text = "\n".join(f"[name {number}](file{number}.md)" for number in range(2 * MOST_LINKS))

    assert len(links_in(text)) == MOST_LINKS


@pytest.mark.parametrize("part", ["[", "[[", "[a", "[[a|", "[a](", "[a](b ", "![", "](", "[[a]]", "[a](<b", "\\|"])
def test_any_text_is_read_in_time_proportional_to_its_length(part: str) -> None:
    assert_linear(links_in, repeated(part), 30_000)


@pytest.mark.parametrize(
    ("path", "name"),
    [("ops/Deploy.md", "deploy"), ("Deploy", "deploy"), ("src/a.py", "a.py"), ("v1.2 plan.markdown", "v1.2 plan")],
)
def test_the_name_of_a_file_has_neither_folders_nor_the_ending_of_a_note(path: str, name: str) -> None:
    assert note_name(path) == name


def test_letters_with_marks_are_the_same_however_they_are_encoded() -> None:
    assert note_name("Cafe\u0301.md") == note_name("Caf\u00e9")


@pytest.mark.parametrize(
    ("target", "source", "path"),
    [
        ("plan.md", "b/home.md", "b/plan.md"),
        ("../plan.md", "b/home.md", "plan.md"),
        ("/a/plan.md", "b/home.md", "a/plan.md"),
        ("a/plan", "b/home.md", "a/plan.md"),
        ("c/plan", "home.md", "b/c/plan.md"),
        ("plan", "other/home.md", "plan.md"),
        ("x/plan", "home.md", None),
        ("../../../plan.md", "b/home.md", None),
    ],
)
def test_a_link_points_at_the_nearest_file_of_its_path(target: str, source: str, path: str | None) -> None:
    link = NoteLink(target, "the plan")

    assert link.pointed_at(source, ["b/c/plan.md", "a/plan.md", "plan.md", "b/plan.md"]) == path
