"""What agents are given with a prompt: the same words in and the same context out, whoever opened the workspace."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.blocking import Promptuary
from promptuary.hooks.agents import AGENTS
from promptuary.hooks.context import prompt_context, start_context
from promptuary.hooks.fit import ContextPart, ContextSection, fill, whole_part
from tests.conftest import Files

CLAUDE, CODEX = AGENTS["claude-code"], AGENTS["codex"]
LIMIT = 10_000


@pytest.fixture
def workspace(files: Files) -> Iterator[Promptuary]:
    folder = files({"src/app.py": "def main() -> None:\n    pass\n"})
    with Promptuary.open(folder, exact=True, embedder="none") as opened:
        opened.memory.write("We deploy on Fridays, never before noon.", title="Deploying", kind="project")
        yield opened


def context(workspace: Promptuary, prompt: str, *, lexical_only: bool = True) -> str:
    return prompt_context(workspace, prompt, CLAUDE, lexical_only=lexical_only)


@pytest.mark.parametrize("lexical_only", [True, False])
def test_a_path_in_the_prompt_hides_neither_notes_nor_experiences(
    workspace: Promptuary, files: Files, lexical_only: bool
) -> None:
    files({"src/long/name_of_a/settings_module.py": "pass\n"})
    workspace.experiences.add("task_solution", "deploy the site", "make deploy")
    plain = context(workspace, "When do we deploy?", lexical_only=lexical_only)
    path = "@src/long/name_of_a/settings_module.py"
    with_path = context(workspace, f"When do we deploy? {path}", lexical_only=lexical_only)

    assert "never before noon" in plain
    assert "make deploy" in plain
    assert with_path == plain


def test_what_an_agent_attaches_itself_is_left_to_it(workspace: Promptuary) -> None:
    claude, codex = (
        prompt_context(workspace, "Explain @src/app.py", agent, lexical_only=True) for agent in (CLAUDE, CODEX)
    )
    ranged = context(workspace, "Explain @src/app.py and @file:src/app.py:1")

    assert "def main" not in claude
    assert "def main" in codex
    assert "def main" in ranged


def test_a_prompt_of_references_alone_asks_for_what_they_are_called(workspace: Promptuary, files: Files) -> None:
    files({"docs/deploying.md": "How it is done.\n"})

    assert "never before noon" in context(workspace, "@docs/deploying.md")


def test_experiences_come_in_plain_lines_and_only_if_they_are_about_the_prompt(workspace: Promptuary) -> None:
    steps = {"steps": [{"tool": "Bash", "arguments": {"command": "make deploy"}, "ok": True}]}
    workspace.experiences.add("tool_chain", "deploy the site to the server", steps)
    workspace.experiences.add("tool_chain", "bake bread with the old server oven", steps | {"note": "bread"})
    said = context(workspace, "How do I deploy the site to the server?")

    assert "Wanted: deploy the site to the server" in said
    assert "Done: Bash(command=make deploy)" in said
    assert "bread" not in said
    assert '{"steps"' not in said
    assert context(workspace, "What is the capital of France?") == ""


def test_notes_that_are_far_from_the_best_are_left_out(workspace: Promptuary) -> None:
    workspace.memory.write("The noon meal is soup.", title="Lunch", kind="project")
    said = context(workspace, "Do we deploy on Fridays before noon?")

    assert "never before noon" in said
    assert "soup" not in said


def test_what_is_too_long_is_cut_and_says_how_to_get_the_rest(workspace: Promptuary, files: Files) -> None:
    files({"long.py": "".join(f"number_{line} = {line}\n" for line in range(2_000)), "short.txt": "A short one.\n"})
    said = context(workspace, "When do we deploy? See @file:long.py and @file:short.txt")

    assert len(said) < LIMIT
    assert "number_0 = 0\n" in said
    assert "number_1999" not in said
    assert "A short one." in said
    assert "never before noon" in said
    assert said.count("```") % 2 == 0
    (line,) = [one for one in said.split("\n") if "cut after" in one]
    assert line.startswith("[long.py: cut after ")
    assert line.endswith("characters; the tool expand_references has all of it: @file:long.py]")


def test_a_long_note_is_cut_with_a_word(workspace: Promptuary) -> None:
    text = f"Rollback: {'call the operator, ' * 900}"
    path = workspace.memory.write(text, title="Rollback", kind="project").header.path
    said = context(workspace, "How do we do a rollback and whom do we call?")

    assert "call the operator" in said
    assert f"the tool search_recall_memories has all of it: relative_path {path}]" in said


def test_the_list_of_notes_says_that_there_are_more(workspace: Promptuary) -> None:
    for number in range(31):
        workspace.memory.write(f"Fact {number} is true.", title=f"Fact {number}", kind="project")

    assert "- and 2 more" in start_context(workspace, CODEX)


def test_the_list_of_notes_has_short_ones_in_full_and_long_ones_by_title(workspace: Promptuary) -> None:
    workspace.memory.remember("The cache of the portal is cleared every night at three.")
    long = workspace.memory.write("Step one. " * 60, title="Rollback", kind="project").header
    lines = start_context(workspace, CLAUDE).splitlines()

    assert "- The cache of the portal is cleared every night at three." in lines
    assert "- Deploying: We deploy on Fridays, never before noon." in lines
    assert f"- Rollback ({long.path})" in lines


def test_the_list_of_notes_stays_within_its_room_and_counts_the_others(workspace: Promptuary) -> None:
    for number in range(40):
        workspace.memory.write(f"Fact {number}: {'x ' * 90}", title=f"Fact {number}", kind="project")
    said = start_context(workspace, CLAUDE)
    shown = sum(line.startswith("- ") for line in said.splitlines()) - 1

    assert len(said) <= CLAUDE.most // 2
    assert f"- and {41 - shown} more" in said
    assert "too long to be shown" not in said


names = st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=20)
parts = st.builds(
    lambda name, text, ends: ContextPart(name, text, tuple(sorted(ends)), "ask for it"),
    names,
    st.text("ab\n", max_size=3_000),
    st.tuples(st.integers(0, 3_000), st.integers(0, 3_000)),
).map(lambda one: one._replace(body=(min(one.body[0], len(one.text)), min(one.body[1], len(one.text)))))


@given(st.lists(parts, max_size=6), st.lists(parts, max_size=6), st.integers(2_000, 12_000))
def test_sections_stay_within_their_room_and_name_every_part_that_is_not_whole(
    first: list[ContextPart], second: list[ContextPart], most: int
) -> None:
    text = fill([ContextSection("One", first), ContextSection("Two", second)], most)

    assert len(text) <= most
    for one in (*first, *second):
        assert one.text in text or f"[{one.name}: cut after " in text or f"[{one.name} is too long" in text


def test_short_parts_are_whole_whatever_stands_before_them() -> None:
    long = whole_part("long", "x" * 50_000, "ask")
    text = fill(
        [ContextSection("One", [long, long]), ContextSection("Two", [whole_part("short", "All of this.")])], 9_000
    )

    assert "All of this." in text
    assert text.count("cut after") == 2
    assert len(text) > 8_500


def test_references_at_the_end_of_a_long_prompt_are_looked_at(workspace: Promptuary) -> None:
    assert "def main" in context(workspace, "word " * 24_000 + "@file:src/app.py")


def test_a_prompt_that_fills_the_window_by_itself_is_told_so(workspace: Promptuary) -> None:
    said = context(workspace, "word " * 150_000 + "@file:src/app.py")

    assert "Left out: the message alone is " in said


def test_a_long_note_without_a_summary_ends_with_its_path(workspace: Promptuary) -> None:
    workspace.memory.write("No words about it. " * 20, title="Bare", kind="project")
    lines = start_context(workspace, CLAUDE).splitlines()

    assert [one.endswith(")") for one in lines if "Bare" in one] == [True]
