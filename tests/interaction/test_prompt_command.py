"""``promptuary prompt`` and ``promptuary ask -p``, as a person runs them."""

import json
from pathlib import Path

import pytest

from promptuary.testing.chat_server import ChatServer, Says
from tests.conftest import Files
from tests.interaction.conftest import Run
from tests.interaction.pseudo_terminal import PseudoTerminal

REVIEW = """---
description: Review a branch
arguments:
  - name: base
    description: the branch to compare with
  - name: focus
    default: mistakes
references: ["@file:a.py"]
---
Compare with {{base}}; look for {{focus}}.
"""


@pytest.fixture
def mine() -> Path:
    folder = Path.home() / ".config/promptuary/prompts"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text(REVIEW, encoding="utf-8")
    return folder


def test_a_prompt_is_listed_shown_and_asked_with_its_arguments(run: Run, mine: Path) -> None:
    code, out, err = run("prompt", "list")
    assert (code, err) == (0, "")
    assert "--base VALUE [--focus mistakes]" in out
    assert "Review a branch" in out
    assert run("prompt", "show", "review")[1].rstrip().endswith(REVIEW.rstrip())
    assert run("prompt", "list", "-q")[1] == "review\n"
    assert run("prompt", "show", "--arguments", "review")[1] == "--base\n--focus\n"

    for words in (["--base", "main", "--focus=the tests"], ["base=main", "the tests"], ["main", "the", "tests"]):
        code, out, _ = run("ask", "--no-tools", "-p", "review", *words, "--json")
        asked = json.loads(out)
        assert asked["text"] == "Compare with main; look for the tests.\n\n@file:a.py"
        assert "a = 1" in asked["messages"][-1]["content"]
        (entry,) = [one for one in asked["receipt"]["entries"] if one["layer"] == "message"]
        assert "from the prompt review (~/.config/promptuary/prompts/review.md, sha256 " in entry["reason"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["review"], "review needs base (the branch to compare with): write --base VALUE after it"),
        (["review", "--bse", "main"], "review has no argument bse; it takes --base, --focus"),
        (["revew"], "there is no prompt 'revew'; did you mean review?"),
        (["review", "--base"], "--base of review needs a value after it"),
    ],
)
def test_a_slip_says_what_to_write(run: Run, mine: Path, words: list[str], told: str) -> None:
    code, out, err = run("ask", "-p", *words)

    assert (code, out) == (2, "")
    assert told in err


def test_a_prompt_of_a_clone_is_refused_without_a_terminal_until_it_was_shown_and_accepted(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / ".claude/commands/deploy.md"
    file.parent.mkdir(parents=True)
    file.write_text("Deploy $1: !`make deploy`", encoding="utf-8")

    code, out, err = run("ask", "--yes", "-p", "deploy", "now")
    assert (code, out) == (2, "")
    assert "promptuary prompt show deploy prints it; with --accept, it can be used as it is now" in err
    assert "not used before you have read it" in run("prompt", "show", "deploy")[2]
    assert run("ask", "-p", "deploy", "now")[0] == 2

    assert "Deploy $1: !`make deploy`" in run("prompt", "show", "deploy", "--accept")[1]
    code, out, err = run("ask", "--no-tools", "-p", "deploy", "now")
    assert "Deploy now: [not run here: make deploy]" in out
    assert "note: deploy: its commands are not run, which the message says: make deploy" in err


def test_the_model_of_a_prompt_answers_unless_another_is_named(run: Run, mine: Path) -> None:
    with ChatServer([Says("From mine."), Says("From mine.")]) as server:
        (mine.parent / "config.toml").write_text(
            f'answer_model = "other"\nembedder = "none"\n[models.mine]\nbase_url = "{server.openai_url}"\nmodel = "x"\n'
            '[models.other]\nscripted = ["From the other."]\n'
        )
        (mine / "short.md").write_text("---\nmodel: mine\n---\nBe brief.", encoding="utf-8")

        assert run("ask", "-q", "-p", "short", "Why?")[1] == "From mine.\n"
        assert run("ask", "-q", "-p", "short", "--model", "other")[1] == "From the other.\n"
        assert run("ask", "-q", "-p", "short", piped="see @file:a.py")[1] == "From mine.\n"
        assert server.asked[0]["messages"][-1]["content"] == "Be brief.\n\nWhy?"
        assert server.asked[1]["messages"][-1]["content"] == "Be brief.\n\nsee @file:a.py"


def test_a_prompt_is_made_from_an_example_or_a_text_and_names_of_commands_are_told(run: Run, tmp_path: Path) -> None:
    assert run("prompt", "list") == (1, "", "no prompts yet: promptuary prompt new NAME makes one\n")
    assert "it is an example" in run("prompt", "new", "mine")[2]
    code, out, _ = run("prompt", "new", "--here", "help", "-", piped="Explain {{what}}.\n")
    assert (code, out) == (0, "wrote .promptuary/prompts/help.md\n")
    assert (tmp_path / ".promptuary/prompts/help.md").read_text() == "Explain {{what}}.\n"
    assert "!/prompts/" in (tmp_path / ".promptuary/.gitignore").read_text()

    code, _, err = run("prompt", "list")
    assert "/help is a command of the chat; promptuary ask -p help uses it" in err
    assert "Explain a.py." in run("ask", "--no-tools", "-p", "help", "a.py")[1]
    assert run("prompt", "show", "nothing")[0] == 1
    assert "needs a terminal" in run("prompt", "edit", "help")[2]
    assert "usage: promptuary prompt show NAME" in run("prompt", "show")[2]


def test_at_a_terminal_the_whole_prompt_is_shown_and_the_person_is_asked_once(files: Files) -> None:
    project = files({".claude/commands/deploy.md": "Deploy $1.\u202e\n!`make deploy`\n"})
    asked = ["ask", "--yes", "--no-tools", "-p", "deploy", "now"]
    for answer, told in (("n", ".claude/commands/deploy.md is not used"), ("y", "Deploy now.")):
        with PseudoTerminal(asked, folder=project, environment={}) as terminal:
            terminal.expect("Deploy $1.⟨U+202E⟩")
            terminal.expect("!`make deploy`")
            terminal.expect("Use it from now on, as it is? [y/N]")
            terminal.press(f"{answer}\r")
            terminal.expect(told)
            terminal.ended()
    with PseudoTerminal(asked, folder=project, environment={}) as terminal:
        terminal.expect("Deploy now.")
        assert "Use it from now on" not in terminal.everything


def test_a_prompt_is_edited_in_the_editor_of_the_person_and_a_broken_one_is_not_written(files: Files) -> None:
    project = files({"a.py": "a = 1\n"})
    own = Path.home() / ".config/promptuary/prompts/review.md"
    own.parent.mkdir(parents=True)
    own.write_text(REVIEW, encoding="utf-8")
    for editor, told in (("s/Compare/Measure/", "wrote ~/.config"), ("s/focus/a b/", "what you wrote is kept in")):
        environment = {"VISUAL": f"sed -i '{editor}'"}
        with PseudoTerminal(["prompt", "edit", "review"], folder=project, environment=environment) as terminal:
            terminal.expect(told)
            terminal.ended()

    assert own.read_text(encoding="utf-8") == REVIEW.replace("Compare", "Measure")
