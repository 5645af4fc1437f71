"""What is written after the name of a prompt, and the message that it becomes."""

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.prompts.filling import MAX_TEXT, PromptArguments, filled_text
from promptuary.prompts.forms import read_prompt
from promptuary.prompts.values import Form, NamedPrompt

REVIEW = "---\narguments: [base, focus=mistakes]\n---\n{{base}}|{{focus}}"


def prompt(text: str, form: Form = "promptuary") -> NamedPrompt:
    read = read_prompt(form, text)
    return NamedPrompt("review", form, "person", "~/review", "0" * 64, text, read.template, arguments=read.arguments)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("main", "main|mistakes"),
        ("main what is 'not tested'", "main|what is not tested"),
        ("focus=tests main", "main|tests"),
        (["--base", "main", "--focus=a b"], "main|a b"),
        (["--BASE", "--focus"], "--focus|mistakes"),
        ({"base": "main", "focus": ""}, "main|"),
        ("it's", "it's|mistakes"),
        ("--base main x=y", "main|x=y"),
    ],
)
def test_arguments_are_given_by_name_or_in_their_order(given: PromptArguments, expected: str) -> None:
    assert filled_text(prompt(REVIEW), given) == expected


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("", r"review needs base: write --base VALUE after it"),
        ("--bse main", r"review has no argument bse; it takes --base, --focus"),
        ({"bse": "main"}, r"review has no argument bse; it takes --base, --focus"),
        ("--base", r"--base of review needs a value after it"),
    ],
)
def test_what_is_missing_or_unknown_is_named(given: PromptArguments, reason: str) -> None:
    with pytest.raises(PromptuaryError, match=reason):
        filled_text(prompt(REVIEW), given)


def test_words_without_a_place_follow_the_text() -> None:
    assert filled_text(prompt("Explain this."), "  in one\nline ") == "Explain this.\n\nin one\nline"
    assert filled_text(prompt("Do $1 then $2: $ARGUMENTS", "claude"), "'a b' --fix") == "Do a b then --fix: 'a b' --fix"
    assert filled_text(prompt("Open $FILE: $1", "codex"), "FILE=a.py now") == "Open a.py: now"


def test_a_value_is_data_and_is_never_filled_itself() -> None:
    value = "{{focus}} $1 $ARGUMENTS !`rm -rf /` !{rm}"

    assert filled_text(prompt(REVIEW), {"base": value}) == f"{value}|mistakes"
    assert filled_text(prompt("<$ARGUMENTS> $2", "claude"), value) == f"<{value}> $1"
    assert filled_text(prompt("prompt = '<{{args}}>'", "gemini"), value) == f"<{value}>"


def test_a_message_that_would_be_huge_is_refused_before_it_is_made() -> None:
    bomb = prompt("$ARGUMENTS" * 20_000, "claude")

    with pytest.raises(PromptuaryError, match=f"more than {MAX_TEXT:,} characters"):
        filled_text(bomb, "x" * 100_000)
