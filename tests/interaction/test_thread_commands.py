"""``expand --thread``, ``context`` and ``session``, as a person or a script runs them."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.base.messages import Message
from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from promptuary.threads.records import ThreadChange
from tests.conftest import Files, git
from tests.interaction.answers import Answer, Run
from tests.stores import FileStore, thread_state


@pytest.fixture
def project(files: Files, repository: Path) -> Path:
    files({"src/app.py": "def main() -> None:\n    pass\n", "docs/style.md": "Be brief.\n", ".env": "TOKEN=1\n"})
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Begin")
    files({"src/app.py": "def main() -> None:\n    print()\n"})
    return repository


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def start(command: str, *arguments: str) -> Answer:
        code = main([command, *arguments, "--workspace", str(project)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(code, out, err)

    return start


def talk(project: Path, *said: tuple[str, str | Sequence[Message]], thread: str = "main") -> None:
    with Promptuary.open(project, exact=True) as promptuary:
        for text, reply in said:
            promptuary.threads.finish(promptuary.threads.prepare(text, thread=thread), reply)


def sentence(answer: Answer) -> str:
    """Return the one sentence that says what is wrong."""
    lines = [line for line in answer.err.splitlines() if line.startswith("promptuary: ")]
    assert len(lines) == 1
    return lines[0].removeprefix("promptuary: ")


# expand --thread


def test_the_prompt_is_text_on_stdout_and_the_account_on_stderr(run: Run, project: Path) -> None:
    talk(project, ("Hello", "Hi."))
    answer = run("expand", "--thread", "main", "Follow #docs/style.md")

    assert answer.code == 0
    assert answer.out.startswith("[developer]\n# Referenced Files\n")
    assert answer.out.endswith("[user]\nHello\n\n[assistant]\nHi.\n\n[user]\nFollow [#docs/style.md](#docs-style-md)\n")
    assert answer.err.splitlines()[1].startswith("layer ")
    assert run("expand", "--quiet", "-t", "other", "Hello") == (0, "[user]\nHello\n", "")


def test_json_has_messages_and_the_receipt(run: Run) -> None:
    answer = run("expand", "--json", "--thread", "t", "See @file:src/app.py")
    value = answer.json

    assert answer.code == 0
    assert value["messages"][-1]["content"].endswith("See @file:src/app.py")
    assert value["references"][0]["status"] == "included"
    assert value["receipt"]["thread"] == "t"
    assert [entry["layer"] for entry in value["receipt"]["entries"]] == ["references", "message"]
    assert value["blocked"] is False


@pytest.mark.parametrize("form", ["openai", "openai-responses", "anthropic"])
def test_the_prompt_can_be_had_in_the_words_of_a_provider(run: Run, form: str) -> None:
    answer = run("expand", "--for", form, "--thread", "t", "Follow #docs/style.md")

    assert answer.code == 0
    assert "Be brief." in json.dumps(answer.json)
    last = (answer.json["messages"] if form == "anthropic" else answer.json)[-1]
    assert last["role"] == "user"


def test_a_note_that_a_message_names_is_attached_and_one_that_nobody_has_is_told(run: Run) -> None:
    written = run("remember", "The release goes out on Mondays.", "--json")
    note = json.loads(written.out)["notes"][0]["id"]
    by_words = run("expand", "--thread", "t", 'When? @memory:"release"')
    by_id = run("expand", "--json", "--thread", "u", f"See @memory:{note}")
    missing = run("expand", "--thread", "t", "See @memory:0123456789ab")

    assert by_words.code == 0
    assert "The release goes out on Mondays." in by_words.out
    assert [one["status"] for one in by_id.json["references"]] == ["included"]
    assert "there is no note '0123456789ab'" in missing.err


def test_a_message_has_a_note_remembered_once(run: Run) -> None:
    asked = 'Mind this: @remember:"I prefer tabs over spaces"'
    first, again = run("expand", "--thread", "t", asked), run("expand", "--thread", "t", asked)
    (listed,) = json.loads(run("memory", "list", "--json").out)["notes"]
    without = run("expand", '@remember:"Not in a thread"')

    assert (first.code, again.code) == (0, 0)
    assert "remembered as" in first.err
    assert "says it already" in again.err
    assert (listed["kind"], listed["title"]) == ("user", "I prefer tabs over spaces")
    assert "tabs" in run("expand", "--thread", "v", "Do I prefer tabs or spaces?").out
    assert len(json.loads(run("memory", "list", "--json").out)["notes"]) == 1
    assert "@remember" in without.out + without.err


def test_a_thread_goes_on_where_it_was(run: Run) -> None:
    run("expand", "--thread", "t", "Follow #docs/style.md")

    assert "Be brief." in run("expand", "--thread", "t", "And now?").out
    assert run("expand", "-q", "--thread", "other", "And now?").out == "[user]\nAnd now?\n"


def test_what_could_not_be_attached_or_does_not_fit_is_exit_code_1(run: Run) -> None:
    missing = run("expand", "--thread", "t", "See @file:missing.py")
    large = run("expand", "--thread", "t", "--window", "100", "word " * 200)

    assert (missing.code, large.code) == (1, 1)
    assert "NOT_FOUND" in missing.err
    assert "blocked: the message and what it points at do not fit" in large.err


# context


def test_files_are_kept_in_view_pinned_let_go_and_dropped(run: Run) -> None:
    assert "src/app.py     ok " in run("context", "add", "src/app.py", "#docs/style.md").out
    assert "docs/style.md (pinned)" in run("context", "pin", "docs/style.md").out
    listed = run("context", "list", "--json").json
    assert [(one["path"], one["pinned"]) for one in listed["tracked"]] == [
        ("docs/style.md", True),
        ("src/app.py", False),
    ]
    assert "pinned" not in run("context", "unpin", "@file:docs/style.md").out
    assert "docs/style.md" not in run("context", "drop", "docs/style.md").out
    assert run("context", "list", "--json").json["tracked"][0]["tokens"] > 0
    cleared = run("context", "clear")
    assert cleared.code == 0
    assert cleared.out.startswith("nothing is attached to thread main")


def test_a_reference_goes_with_the_next_message_and_no_other(run: Run) -> None:
    added = run("context", "add", "@diff", "--thread", "t")
    first, second = run("expand", "--thread", "t", "Review"), run("expand", "-q", "--thread", "t", "And?")

    assert "@diff    with the next message" in added.out
    assert "+    print()" in first.out
    assert second.out == "[user]\nAnd?\n"
    assert run("context", "list", "--json", "-t", "t").json["queued"] == []


def test_a_file_that_is_in_view_is_in_the_prompt(run: Run) -> None:
    run("context", "add", "src/app.py")

    assert "print()" in run("expand", "--thread", "main", "Hello").out


def test_files_are_found_by_a_part_of_their_names(run: Run) -> None:
    assert run("context", "find", "app").out == "src/app.py\n"
    assert run("context", "find", "style", "--json").json["files"] == ["docs/style.md"]
    nothing = run("context", "find", "zzzzzz")
    assert (nothing.code, nothing.out) == (1, "")
    assert "no file of this workspace matches zzzzzz" in nothing.err
    assert run("context", "find", "zzzzzz", "--json").json["files"] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("add", "missing.py"), "NOT_FOUND: There is no"),
        (("add", ".env"), "SENSITIVE_PATH: "),
        (("add", "../out.py"), "PATH_TRAVERSAL: "),
        (("add", "/etc/passwd"), "ABSOLUTE_PATH: "),
        (("drop", "src/app.py"), "NOT_FOUND: "),
        (("drop", "@diff"), "NOT_FOUND: "),
        (("pin", "nothing"), "NOT_FOUND: "),
        (("unpin", "nothing"), "NOT_FOUND: "),
    ],
)
def test_what_is_refused_is_exit_code_1_with_the_reason(run: Run, arguments: tuple[str, ...], told: str) -> None:
    answer = run("context", *arguments)

    assert answer.code == 1
    assert sentence(answer).startswith(told)
    assert run("context", *arguments, "--json").json["tracked"] == []


def test_what_is_refused_keeps_nothing_else_from_being_done(run: Run) -> None:
    answer = run("context", "add", "missing.py", "src/app.py", "--json")

    assert answer.code == 1
    assert [one["path"] for one in answer.json["tracked"]] == ["src/app.py"]
    assert "missing.py" in sentence(answer)


def test_what_another_version_kept_is_told_and_can_be_cleared(run: Run, project: Path) -> None:
    run("context", "add", "src/app.py")
    with closing(FileStore(project / ".promptuary" / "state.db")) as store:
        store.apply(ThreadChange("main", states=[thread_state("file_reference", "main", 99, {})]))

    refused = run("context", "list")
    assert (refused.code, refused.out) == (1, "")
    assert "stored by another version of Promptuary (format 99)" in sentence(refused)
    assert run("context", "clear").code == 0
    assert run("context", "list").code == 0


# session


def test_threads_are_listed(run: Run, project: Path) -> None:
    empty = run("thread", "list")
    assert (empty.code, empty.out) == (1, "")
    assert run("thread", "list", "--json").json["threads"] == []
    talk(project, ("Hello", "Hi."), thread="a")
    talk(project, ("Hello", "Hi."), ("Bye", "Bye."), thread="b")
    listed = run("thread", "list")
    assert listed.code == 0
    assert [line.split()[:3] for line in listed.out.splitlines()] == [
        ["thread", "turns", "messages"],
        ["b", "2", "4"],
        ["a", "1", "2"],
    ]
    assert [one["id"] for one in run("thread", "list", "--json").json["threads"]] == ["b", "a"]


def test_a_turn_is_shown_with_its_account(run: Run, project: Path) -> None:
    talk(project, ("Follow #docs/style.md", "Sure."), ("Bye", "Bye."))
    shown = run("thread", "show", "1")

    assert shown.code == 0
    assert shown.out.startswith("turn 1 (finished, 2")
    assert ["file_reference", "docs/style.md", "in"] in [line.split()[:3] for line in shown.out.splitlines()]
    value = run("thread", "show", "--json").json
    assert (value["turn"], value["text"], value["drift"]) == (2, "Bye", [])
    assert value["receipt"]["tokens"] > 0


def test_a_turn_is_replayed_exactly_with_what_changed_since(run: Run, project: Path) -> None:
    with Promptuary.open(project, exact=True) as promptuary:
        turn = promptuary.threads.prepare("Follow #docs/style.md and see @file:src/app.py:1")
    (project / "docs/style.md").write_text("Be long.\n")
    (project / "src/app.py").unlink()
    replayed = run("thread", "replay")

    assert replayed.code == 0
    assert replayed.out == turn.render("text")
    assert replayed.err.splitlines() == [
        "since then: docs/style.md has changed",
        "since then: src/app.py is gone",
    ]
    value = run("thread", "replay", "1", "--json").json
    assert value["messages"] == turn.messages
    assert value["drift"] == [
        {"path": "docs/style.md", "kind": "changed"},
        {"path": "src/app.py", "kind": "gone"},
    ]


def test_a_replay_shows_calls_of_tools(run: Run, project: Path) -> None:
    calls: list[Message] = [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "name": "ls", "arguments": '{"in": "."}'}]},
        {"role": "tool", "content": "a.py", "tool_call_id": "1"},
    ]
    talk(project, ("List.", calls))
    with Promptuary.open(project, exact=True) as promptuary:
        turn = promptuary.threads.prepare("Thanks.")

    assert run("thread", "replay").out == turn.render("text")
    assert '(calls ls with {"in": "."})' in turn.render("text")


@pytest.mark.parametrize("arguments", [("show", "9"), ("replay", "9"), ("show", "-t", "nobody"), ("replay", "-t", "x")])
def test_a_turn_that_is_not_there_is_exit_code_1(run: Run, project: Path, arguments: tuple[str, ...]) -> None:
    assert "no thread has been used yet" in sentence(run("thread", *arguments))
    talk(project, ("Hello", "Hi."))
    for more in ((), ("--json",)):
        answer = run("thread", *arguments, *more)
        assert (answer.code, answer.out) == (1, "")
        assert sentence(answer).startswith("there is no turn ")


# Wrong usage


@pytest.mark.parametrize(
    ("command", "arguments", "told"),
    [
        ("context", ("add",), "context add needs paths or references"),
        ("context", ("drop",), "context drop needs paths or references"),
        ("context", ("pin",), "context pin needs paths or references"),
        ("context", ("find",), "context find needs words"),
        ("context", ("list", "src/app.py"), "context list takes no arguments"),
        ("context", ("clear", "src/app.py"), "context clear takes no arguments"),
        ("context", ("add", "src/app.py", "--thread", ""), "cannot name a thread"),
        ("context", ("list", "--thread", "two\nlines"), "cannot name a thread"),
        ("expand", ("--thread", "", "Hello"), "cannot name a thread"),
        ("expand", ("--thread", "x" * 201, "Hello"), "cannot name a thread"),
        ("expand", ("--thread", "\x1b[31m", "Hello"), "cannot name a thread"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(
    run: Run, command: str, arguments: tuple[str, ...], told: str
) -> None:
    answer = run(command, *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert told in sentence(answer)
    assert "\x1b" not in answer.err


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("context", ()),
        ("context", ("juggle",)),
        ("thread", ()),
        ("thread", ("juggle",)),
        ("thread", ("show", "0")),
        ("thread", ("show", "last")),
        ("expand", ("--for", "nobody", "Hello")),
    ],
)
def test_what_cannot_be_read_as_arguments_is_exit_code_2(run: Run, command: str, arguments: tuple[str, ...]) -> None:
    answer = run(command, *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert "error: " in answer.err


def test_who_only_looks_leaves_nothing_behind(run: Run, project: Path) -> None:
    for command, action in (("context", "list"), ("thread", "list"), ("thread", "show")):
        run(command, action)

    assert not (project / ".promptuary").exists()


def test_words_may_follow_the_flags(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    project = files({"a.py": "x = 1\n"})

    assert main(["context", "add", "--workspace", str(project), "--thread", "t", "a.py"]) == 0
    assert "a.py" in capsys.readouterr().out
