"""What files of each form say, as the programs that they are for write them."""

import pytest

from promptuary.base.errors import FrontMatterError
from promptuary.prompts.forms import read_prompt
from promptuary.prompts.values import ALL_WORDS, Argument, Form, Hole


def test_a_prompt_lists_arguments_with_defaults_a_model_and_references() -> None:
    read = read_prompt(
        "promptuary",
        "---\ndescription: Review a branch\nmodel: gpt-5-mini\narguments:\n"
        "  - name: base\n    description: the branch to compare with\n  - name: focus\n    default: mistakes\n"
        'references: ["@git:{{base}}..HEAD", "@status"]\n---\nLook at {{ focus }} most.\n',
    )

    assert (read.description, read.model, read.notes) == ("Review a branch", "gpt-5-mini", ())
    assert read.arguments == (Argument("base", "the branch to compare with"), Argument("focus", default="mistakes"))
    assert read.template == (
        "Look at ",
        Hole("focus"),
        " most.\n\n@git:",
        Hole("base"),
        "..HEAD @status",
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("arguments: [base, focus=all of it]", (Argument("base"), Argument("focus", default="all of it"))),
        (
            "arguments:\n  base:\n    default: main\n  focus: all",
            (Argument("base", default="main"), Argument("focus", default="all")),
        ),
        ("arguments:\n  - name: base\n    required: false", (Argument("base", default=""),)),
        ("arguments: []", ()),
        ("description: none", (Argument("base"),)),
    ],
)
def test_arguments_are_written_briefly_or_in_full_and_without_a_list_the_text_names_them(
    written: str, expected: tuple[Argument, ...]
) -> None:
    assert read_prompt("promptuary", f"---\n{written}\n---\nSince {{{{base}}}}.").arguments == expected


def test_what_is_no_argument_stays_as_it_is_and_is_told() -> None:
    read = read_prompt(
        "promptuary", "---\narguments: [base]\ntemprature: 1\n---\n{{base}} and ${{ secrets.KEY }} {{other}}"
    )

    assert read.template == (Hole("base"), " and ${{ secrets.KEY }} {{other}}")
    assert read.notes == ("not used: temprature", "{{other}} is not among its arguments, and stays as it is")


def test_a_command_of_claude_code_is_read_with_its_loose_front_matter_and_runs_nothing() -> None:
    read = read_prompt(
        "claude",
        "---\nallowed-tools: Bash(git add:*), Bash(git status:*)\nargument-hint: [number] [priority]\n"
        "description: Fix: an issue\nmodel: sonnet\n---\n\n"
        "Status: !`git status`\n\nFix #$1 ($ARGUMENTS) as @docs/style.md says, for $10.\n",
    )

    assert (read.description, read.hint) == ("Fix: an issue", "[number] [priority]")
    assert read.template == (
        "Status: [not run here: git status]\n\nFix #",
        Hole("1"),
        " (",
        Hole(ALL_WORDS),
        ") as @docs/style.md says, for $10.",
    )
    assert [note.partition(":")[0] for note in read.notes] == [
        "its allowed-tools are not used",
        "its model is not used",
        "its commands are not run, which the message says",
    ]


def test_a_skill_says_its_own_name() -> None:
    read = read_prompt("skill", "---\nname: pdf\ndescription: Read and write PDF files.\n---\n# PDF\n")

    assert (read.name, read.description, read.template) == ("pdf", "Read and write PDF files.", ("# PDF",))


def test_a_prompt_of_codex_has_numbered_and_named_places() -> None:
    read = read_prompt("codex", "---\ndescription: Draft\n---\nOpen $FILE at $1 for $$5; $ARGUMENTS; $lower stays.")

    assert read.arguments == (Argument("FILE"),)
    assert read.template == (
        "Open ",
        Hole("FILE"),
        " at ",
        Hole("1"),
        " for $5; ",
        Hole(ALL_WORDS),
        "; $lower stays.",
    )


def test_a_command_of_gemini_attaches_its_files_and_runs_nothing() -> None:
    read = read_prompt(
        "gemini",
        'description = "Review"\nprompt = """\nSee @{docs/my style.md}: {{args}}\n'
        '!{git log -n {{args}} | awk \'{print}\'}\n"""\n',
    )

    assert read.description == "Review"
    assert read.template == (
        'See @"docs/my style.md": ',
        Hole(ALL_WORDS),
        "\n[not run here: git log -n {{args}} | awk '{print}']\n",
    )


def test_a_template_of_llm_is_plain_yaml_and_says_what_is_not_used() -> None:
    read = read_prompt(
        "llm",
        "model: gpt-4o\nsystem: You are terse.\nprompt: |\n  Sum up for $who: $input\n  It costs $$5.\n"
        "defaults:\n  who: a child\nfunctions: |\n  def run(): ...\n",
    )

    assert read.arguments == (Argument("who", default="a child"),)
    assert "".join(part for part in read.template if isinstance(part, str)) == (
        "You are terse.\n\nSum up for : \nIt costs $5."
    )
    assert Hole(ALL_WORDS) in read.template
    assert read.notes == (
        "its system prompt is the beginning of the message",
        "its model is not used: gpt-4o is a name of llm",
        "not used: functions",
    )


@pytest.mark.parametrize(
    ("form", "text", "reason"),
    [
        ("promptuary", "---\ndescription: &a x\n---\nHello", "has an anchor, an alias or a tag"),
        ("promptuary", "---\narguments: [one two]\n---\nHello", "cannot be the name of an argument"),
        ("promptuary", "---\narguments: [one, one]\n---\n{{one}}", "the argument one twice"),
        ("promptuary", " \n", "has no text"),
        ("gemini", "prompt = 'a\n", "is not TOML"),
        ("gemini", "description = 'a'\n", 'no prompt = "…"'),
        ("llm", "prompt: *anchor\n", "only plain YAML"),
    ],
)
def test_what_cannot_be_understood_is_an_error_that_says_where(form: Form, text: str, reason: str) -> None:
    with pytest.raises(FrontMatterError, match=reason.replace("(", r"\(")):
        read_prompt(form, text)
