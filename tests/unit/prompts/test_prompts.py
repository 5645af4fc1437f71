"""Prompts of a person and of a workspace, found by name."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from promptuary import Access, Principal
from promptuary.base.errors import PromptNotAcceptedError, PromptuaryError, UnknownPromptError
from promptuary.blocking import Promptuary
from promptuary.workspace.access import REMOTE_KINDS
from tests.conftest import Files

OWN = ".config/promptuary/prompts"


def at_home(written: Mapping[str, str]) -> None:
    for path, text in written.items():
        file = Path.home() / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def test_prompts_of_every_form_lie_where_their_programs_look_for_them(files: Files) -> None:
    at_home(
        {
            f"{OWN}/review.md": "Mine.",
            ".claude/commands/git/commit.md": "Commit.",
            ".claude/skills/pdf/SKILL.md": "---\nname: pdf-files\n---\nPDF.",
            ".claude/skills/pdf/reference.md": "Not a prompt.",
            ".codex/prompts/draft.md": "Draft.",
            ".codex/prompts/inner/no.md": "Codex does not look here.",
            ".gemini/commands/plan.toml": 'prompt = "Plan."',
            ".config/io.datasette.llm/templates/sum.yaml": "prompt: Sum up $input\n",
        }
    )
    workspace = files(
        {
            ".promptuary/prompts/team/review.md": "Ours.",
            ".claude/commands/deploy.md": "Deploy.",
            ".claude/skills/notes/SKILL.md": "Notes.",
            ".gemini/commands/ask/why.toml": 'prompt = "Why?"',
        }
    )
    with Promptuary.open(workspace) as p:
        found = p.prompts.list()

    assert [(one.name, one.form, one.place) for one in found.prompts] == [
        ("ask:why", "gemini", "workspace"),
        ("deploy", "claude", "workspace"),
        ("draft", "codex", "person"),
        ("git:commit", "claude", "person"),
        ("notes", "skill", "workspace"),
        ("pdf-files", "skill", "person"),
        ("plan", "gemini", "person"),
        ("review", "promptuary", "person"),
        ("sum", "llm", "person"),
        ("team:review", "promptuary", "workspace"),
    ]
    assert found.unused == ()
    assert found.prompts[7].source == f"~/{OWN}/review.md"


def test_a_persons_own_prompt_wins_over_one_of_the_workspace_and_the_list_tells(files: Files) -> None:
    at_home({f"{OWN}/review.md": "Mine."})
    with Promptuary.open(files({".promptuary/prompts/Review.md": "Theirs."})) as p:
        assert p.prompts.fill("REVIEW").text == "Mine."
        (other,) = p.prompts.list().unused

    assert other.source == ".promptuary/prompts/Review.md"
    assert other.reason == f"~/{OWN}/review.md has the name review, too, and wins"


def test_a_prompt_of_the_workspace_is_used_after_it_was_read_and_again_after_it_changed(files: Files) -> None:
    workspace = files({".claude/commands/deploy.md": "Deploy $1."})
    with Promptuary.open(workspace) as p:
        with pytest.raises(PromptNotAcceptedError, match=r"promptuary prompt show deploy .* --accept"):
            p.prompts.fill("deploy", "now")
        p.prompts.accept(p.prompts.get("deploy"))
        assert p.prompts.fill("deploy", "now").text == "Deploy now."

        (workspace / ".claude/commands/deploy.md").write_text("Deploy $1, and more.", encoding="utf-8")
        with pytest.raises(PromptNotAcceptedError):
            p.prompts.fill("deploy", "now")
    # Another clone is another workspace.
    subprocess.run(["cp", "-r", workspace, workspace.parent / "clone"], check=True)
    with Promptuary.open(workspace.parent / "clone", exact=True) as p, pytest.raises(PromptNotAcceptedError):
        p.prompts.fill("deploy")


def test_what_was_shown_is_what_was_accepted(files: Files) -> None:
    workspace = files({".claude/commands/deploy.md": "Deploy."})
    with Promptuary.open(workspace) as p:
        shown = p.prompts.get("deploy")
        (workspace / ".claude/commands/deploy.md").write_text("Something else.", encoding="utf-8")
        p.prompts.accept(shown)

        with pytest.raises(PromptNotAcceptedError):
            p.prompts.fill("deploy")


def test_a_prompt_is_made_used_and_rewritten_unless_it_has_changed_meanwhile(files: Files) -> None:
    with Promptuary.open(files({"a.py": "a = 1\n"})) as p:
        made = p.prompts.new("team:review", "Look at {{what}}.", here=True)
        assert (made.source, made.accepted) == (".promptuary/prompts/team/review.md", True)
        assert p.prompts.fill("team:review", "a.py").text == "Look at a.py."
        with pytest.raises(PromptuaryError, match="exists already"):
            p.prompts.new("team:review", "Again.", here=True)

        assert p.prompts.rewrite(made, "Look at {{what}} twice.").accepted
        with pytest.raises(PromptuaryError, match="has changed meanwhile"):
            p.prompts.rewrite(made, "Late.")
        with pytest.raises(PromptuaryError, match=r"nothing was written: .*cannot be the name"):
            p.prompts.new("broken", "---\narguments: [a b]\n---\nHello")
        assert p.prompts.new("mine").source == f"~/{OWN}/mine.md"
        assert "@diff" in p.prompts.fill("mine").text


def test_an_unknown_name_gets_the_nearest_ones(files: Files) -> None:
    at_home({f"{OWN}/git/review.md": "Mine."})
    with Promptuary.open(files({})) as p:
        for typed in ("review", "git:reviw"):
            with pytest.raises(UnknownPromptError, match="did you mean git:review"):
                p.prompts.get(typed)


def test_the_receipt_says_which_prompt_the_message_is_from(files: Files) -> None:
    at_home({f"{OWN}/review.md": "Look at @file:{{path}}."})
    with Promptuary.open(files({"a.py": "a = 1\n"})) as p:
        filled = p.prompts.fill("review", "a.py")
        turn = p.threads.prepare(filled.text, prompt=filled.origin)
        p.threads.finish(turn, "Done.")
        (stored,) = p.threads.turns()

    assert "a = 1" in turn.render("text")
    entry = next(one for one in stored.receipt.entries if one.layer == "message")
    assert entry.reason.startswith(f"always whole; from the prompt review (~/{OWN}/review.md, sha256 ")


@pytest.mark.parametrize("served", [False, True])
def test_others_get_what_the_person_accepted_in_the_folders_that_they_may_see(files: Files, *, served: bool) -> None:
    at_home({f"{OWN}/mine.md": "Mine."})
    workspace = files({".claude/commands/read.md": "Read.", ".claude/commands/new.md": "New."})
    with Promptuary.open(workspace, served=served) as p:
        if served:
            assert p.prompts.list().prompts == ()
        else:
            p.prompts.accept(p.prompts.get("read"))
        seen = {}
        for folder in ("", "docs"):
            access = Access.limited(REMOTE_KINDS, (folder,))
            with p.acting_as(Principal("telegram:42"), access=access) as other:
                seen[folder] = [one.name for one in other.prompts.list().prompts]
                with pytest.raises(PromptuaryError, match="only the person at the machine"):
                    other.prompts.new("theirs", "Hello.")

    assert seen == {"": [] if served else ["read"], "docs": []}
