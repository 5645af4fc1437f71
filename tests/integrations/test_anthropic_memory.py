"""Anthropic's memory tool over notes, with the real client and its tool runner."""

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from promptuary import Principal
from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import ChatServer, Says
from tests.conftest import Files
from tests.integrations.scenario import (
    CALLS,
    FILES,
    HOSTILE,
    NOTE,
    TOOL_SAYS,
    Model,
    check,
    opened,
    run,
    run_example,
    run_hostile,
    whole,
)

pytest.importorskip("anthropic")

from anthropic import Anthropic, beta_tool
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaLocalFilesystemMemoryTool

from promptuary.integrations.anthropic_memory import AsyncPromptuaryMemoryTool, PromptuaryMemoryTool
from promptuary.integrations.anthropic_turns import run_turn

MEMORY = {
    3: [("memory", {"command": "create", "path": "/memories/release-day.md", "file_text": NOTE})],
    10: [("memory", {"command": "view", "path": "/memories/release-day.md"})],
}


@beta_tool
def lookup(word: str) -> str:
    """Look a word up."""
    return TOOL_SAYS


@dataclass
class Ten:
    promptuary: Promptuary
    server: ChatServer

    def ask(self, text: str, thread: str) -> str:
        with Anthropic(base_url=self.server.anthropic_url, api_key="any") as client:
            tools = [lookup, PromptuaryMemoryTool(self.promptuary)]
            message = run_turn(
                self.promptuary, client, text, thread=thread, tools=tools, model="claude-sonnet-5-5", max_tokens=100
            )
        return "".join(one.text for one in message.content if one.type == "text")


def test_ten_turns_with_references_tools_memory_and_a_restart(files: Files) -> None:
    server, root = run(files, Ten, Model({**CALLS, **MEMORY}))

    check(server, root, requests=10)


def test_no_file_and_no_note_breaks_out_of_its_block(files: Files) -> None:
    run_hostile(files, Ten)


def call(tool: PromptuaryMemoryTool, command: str, **arguments: object) -> str:
    return str(tool.call({"command": command, **arguments}))


def test_the_example_of_the_documents_has_ten_lines_and_works(
    files: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer([Says("It is fine.")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic_url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
        run_example("anthropics-memory-tool", files, monkeypatch)

    assert capsys.readouterr().out == "It is fine.\n"
    assert "x = 1" in whole(server.asked[0])


def test_the_model_works_with_files_that_are_notes(p: Promptuary) -> None:
    tool = PromptuaryMemoryTool(p)

    assert call(tool, "create", path="/memories/plans/one.md", file_text="First.\nSecond.\n") == (
        "File created successfully at: /memories/plans/one.md"
    )
    assert call(tool, "view", path="/memories/plans/one.md") == (
        "Here's the content of /memories/plans/one.md with line numbers:\n     1\tFirst.\n     2\tSecond."
    )
    assert call(tool, "view", path="/memories/plans/one.md", view_range=[2, 2]).endswith(":\n     2\tSecond.")
    call(tool, "str_replace", path="/memories/plans/one.md", old_str="First", new_str="Uno")
    call(tool, "insert", path="/memories/plans/one.md", insert_line=1, insert_text="Due.\n")
    assert call(tool, "view", path="/memories/plans/one.md").split("\t")[1:] == [
        "Uno.\n     2",
        "Due.\n     3",
        "Second.",
    ]
    call(tool, "rename", old_path="/memories/plans", new_path="/memories/done")
    assert call(tool, "view", path="/memories").splitlines()[1:] == [
        "17B\t/memories",
        "17B\t/memories/done/",
        "17B\t/memories/done/one.md",
    ]
    assert call(tool, "delete", path="/memories/done") == "Successfully deleted /memories/done"
    assert call(tool, "view", path="/memories").splitlines()[1:] == ["0B\t/memories"]
    (archived,) = p.memory.list(statuses=["archived"])
    assert p.memory.restore(archived.id).body.strip() == "Uno.\nDue.\nSecond."


def test_notes_of_the_person_are_read_and_never_changed(p: Promptuary) -> None:
    tool, note = PromptuaryMemoryTool(p), p.memory.write("I indent with tabs.", title="Tabs", kind="feedback")
    path = f"/memories/notes/{note.header.path.rpartition('/')[2]}"

    assert call(tool, "view", path="/memories").splitlines()[-1].endswith(f"\t{path}")
    assert "I indent with tabs." in call(tool, "view", path=path)
    for command, arguments in (
        ("create", {"path": path, "file_text": "x"}),
        ("create", {"path": "/memories/notes", "file_text": "x"}),
        ("str_replace", {"path": path, "old_str": "tabs", "new_str": "spaces"}),
        ("insert", {"path": path, "insert_line": 0, "insert_text": "x"}),
        ("delete", {"path": path}),
        ("delete", {"path": "/memories"}),
        ("rename", {"old_path": path, "new_path": "/memories/x.md"}),
    ):
        with pytest.raises(ToolError):
            call(tool, command, **arguments)
    assert p.memory.get(note.header.id) == note


def test_what_somebody_else_wrote_is_shown_inside_a_boundary(p: Promptuary) -> None:
    note = p.memory.write(HOSTILE, title="Theirs", trust="external").header

    shown = call(PromptuaryMemoryTool(p), "view", path=f"/memories/notes/{note.path.rpartition('/')[2]}").splitlines()

    opening = next(place for place, line in enumerate(shown) if "\t<external " in line)
    assert "\t</external " in shown[-1]
    assert all("\t" in line for line in shown[1:])
    assert opening < next(place for place, line in enumerate(shown) if "# Message" in line)
    assert "\x1b" not in "".join(shown)


def test_a_file_that_a_person_changed_is_theirs(p: Promptuary) -> None:
    tool = PromptuaryMemoryTool(p)
    call(tool, "create", path="/memories/x.md", file_text="The model's.")
    (header,) = p.memory.list()
    p.memory.write("The person's.", id=header.id)

    assert "The person's." in call(tool, "view", path="/memories/x.md")
    for command, arguments in (
        ("str_replace", {"path": "/memories/x.md", "old_str": "person", "new_str": "model"}),
        ("delete", {"path": "/memories/x.md"}),
        ("rename", {"old_path": "/memories/x.md", "new_path": "/memories/y.md"}),
    ):
        with pytest.raises(ToolError, match="the person's"):
            call(tool, command, **arguments)


COMMANDS: list[dict[str, Any]] = [
    {"command": "create", "path": "/memories/plans/one.md", "file_text": "First.\nSecond.\nThird.\nFourth."},
    {"command": "create", "path": "/memories/plans/deep/er/two.md", "file_text": "Two."},
    {"command": "create", "path": "/memories/.hidden.md", "file_text": "Hidden."},
    {"command": "create", "path": "/memories/plans/one.md", "file_text": "Again."},
    {"command": "create", "path": "/memories/plans", "file_text": "A folder."},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/plans"},
    {"command": "view", "path": "/memories/plans/deep", "view_range": [1, 2]},
    {"command": "view", "path": "/memories/none"},
    {"command": "view", "path": "/memories/plans/one.md"},
    {"command": "view", "path": "/memories/plans/one.md", "view_range": [2, 3]},
    {"command": "view", "path": "/memories/plans/one.md", "view_range": [3, -1]},
    {"command": "view", "path": "/memories/plans/one.md", "view_range": [0, 99]},
    {"command": "view", "path": "/memories/plans/one.md", "view_range": [4, 2]},
    {"command": "str_replace", "path": "/memories/plans/one.md", "old_str": "Third", "new_str": "3rd\n3b"},
    {"command": "str_replace", "path": "/memories/plans/one.md", "old_str": "absent", "new_str": "x"},
    {"command": "str_replace", "path": "/memories/plans/one.md", "old_str": ".", "new_str": "x"},
    {"command": "str_replace", "path": "/memories/plans", "old_str": "a", "new_str": "x"},
    {"command": "str_replace", "path": "/memories/none", "old_str": "a", "new_str": "x"},
    {"command": "insert", "path": "/memories/plans/one.md", "insert_line": 0, "insert_text": "Zero.\n"},
    {"command": "insert", "path": "/memories/plans/one.md", "insert_line": 99, "insert_text": "x"},
    {"command": "insert", "path": "/memories/none", "insert_line": 0, "insert_text": "x"},
    {"command": "insert", "path": "/memories/plans", "insert_line": 0, "insert_text": "x"},
    {"command": "view", "path": "/memories/plans/one.md"},
    {"command": "rename", "old_path": "/memories/plans/one.md", "new_path": "/memories/done/1.md"},
    {"command": "rename", "old_path": "/memories/none", "new_path": "/memories/x"},
    {"command": "rename", "old_path": "/memories/done/1.md", "new_path": "/memories/plans/deep"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
    {"command": "rename", "old_path": "/memories/plans", "new_path": "/memories/old"},
    {"command": "view", "path": "/memories"},
    {"command": "delete", "path": "/memories/none"},
    {"command": "delete", "path": "/memories"},
    {"command": "delete", "path": "/memories/old"},
    {"command": "view", "path": "/etc/passwd"},
    {"command": "view", "path": "/memories/../../etc/passwd"},
    {"command": "delete", "path": "/memories/../x"},
]


def test_every_answer_is_worded_as_anthropics_own_tool_words_it(p: Promptuary, tmp_path: Path) -> None:
    theirs, ours = BetaLocalFilesystemMemoryTool(str(tmp_path / "theirs")), PromptuaryMemoryTool(p)

    def answer(tool: BetaAbstractMemoryTool, command: dict[str, Any]) -> str:
        try:
            text = str(tool.call(command))
        except ToolError as error:
            return f"ToolError: {error}"
        text = re.sub(r"^\S+\t(?=/memories)", "SIZE ", text, flags=re.MULTILINE)  # folders have none of their own here
        return re.sub(r"\n +\d+\t\Z", "", text)

    for command in COMMANDS:
        assert answer(ours, command) == answer(theirs, command), command


def test_names_that_differ_in_case_are_two_files_also_with_the_same_words(p: Promptuary) -> None:
    tool = PromptuaryMemoryTool(p)
    for name in ("todo.md", "TODO.md"):
        call(tool, "create", path=f"/memories/{name}", file_text="Nothing.")

    assert [line.partition("\t")[2] for line in call(tool, "view", path="/memories").splitlines()[2:]] == [
        "/memories/TODO.md",
        "/memories/todo.md",
    ]


def test_all_memory_is_cleared_but_for_what_is_the_persons(p: Promptuary) -> None:
    tool = PromptuaryMemoryTool(p)
    for name in ("a", "b"):
        call(tool, "create", path=f"/memories/{name}.md", file_text=name)
    p.memory.write("The person's.", id=next(one.id for one in p.memory.list() if one.title == "b.md"))

    assert tool.clear_all_memory() == "All memory cleared"
    assert [one.title for one in p.memory.list()] == ["b.md"]


@pytest.mark.parametrize(
    "path",
    [
        "/memories/../a.py",
        "/memories/./x",
        "/memoriesx/a",
        "/etc/passwd",
        "memories/a",
        "",
        "/memories//a//b",
        "/memories/a\nb",
        "/memories/" + "a" * 400,
        "/memories/a\x00b",
        "/memories/%2e%2e/\u202e",
    ],
)
def test_no_path_leads_elsewhere(p: Promptuary, path: str) -> None:
    tool = PromptuaryMemoryTool(p)

    with pytest.raises(ToolError):
        call(tool, "create", path=path, file_text="x")
    with pytest.raises(ToolError):
        call(tool, "view", path=path if path.strip("/") else "/")
    assert p.memory.list().total == 0


@pytest.mark.parametrize(
    ("command", "arguments", "reason"),
    [
        ("view", {"path": "/memories/none.md"}, "does not exist"),
        ("create", {"path": "/memories/x.md", "file_text": "again"}, "already exists"),
        ("create", {"path": "/memories/y.md", "file_text": " \n"}, "some text"),
        ("create", {"path": "/memories/y.md", "file_text": "x" * 200_000}, "100,000"),
        ("str_replace", {"path": "/memories/x.md", "old_str": "absent", "new_str": "y"}, "did not appear verbatim"),
        ("str_replace", {"path": "/memories/x.md", "old_str": "a", "new_str": "y"}, "in lines: 1, 1"),
        ("str_replace", {"path": "/memories/none.md", "old_str": "a", "new_str": "y"}, "does not exist"),
        ("insert", {"path": "/memories/x.md", "insert_line": 9, "insert_text": "y"}, "within"),
        ("delete", {"path": "/memories/none.md"}, "does not exist"),
        ("rename", {"old_path": "/memories/none.md", "new_path": "/memories/z.md"}, "does not exist"),
        ("rename", {"old_path": "/memories/x.md", "new_path": "/memories/x.md"}, "already exists"),
    ],
)
def test_what_cannot_be_done_is_said_to_the_model(
    p: Promptuary, command: str, arguments: dict[str, object], reason: str
) -> None:
    tool = PromptuaryMemoryTool(p)
    call(tool, "create", path="/memories/x.md", file_text="a banana".replace("nana", "n"))

    with pytest.raises(ToolError, match=reason):
        call(tool, command, **arguments)


OWN_TEXTS = [
    ("  indented\n", "  indented\n", "DONE"),
    ("  indented\n    more\n", "  indented", "DONE\n    more"),
    ("a\r\nb\r\nc\r\n", "a\r\nb", "DONE\nc"),
    ("one\ntwo\n", "two\n", "one\nDONE"),
    ("one\ntwo\n\n\n", "two\n\n\n", "one\nDONE"),
    ("one\ntwo  \n", "two  \n", "one\nDONE"),
    ("\n\none\ntwo\n", "\n\none", "DONE\ntwo"),
    ("\n\none\n\n", "\n\none\n\n", "DONE"),
    ("x\nand x\n", "\nand x\n", "xDONE"),
]
"""What the model writes, what it looks for then, and what there is when it has replaced that with DONE."""


def test_the_model_finds_its_own_text_again(p: Promptuary) -> None:
    tool = PromptuaryMemoryTool(p)
    for number, (text, old, after) in enumerate(OWN_TEXTS):
        path = f"/memories/{number}.md"
        call(tool, "create", path=path, file_text=text)
        shown = "  " * text.startswith("  ") + text.replace("\r\n", "\n").strip()
        assert re.sub(r"^ *\d+\t", "", body_of(tool, path), flags=re.MULTILINE) == shown
        call(tool, "str_replace", path=path, old_str=old, new_str="DONE")

        assert re.sub(r"^ *\d+\t", "", body_of(tool, path), flags=re.MULTILINE) == after, (text, old)


def body_of(tool: PromptuaryMemoryTool, path: str) -> str:
    return call(tool, "view", path=path).partition("\n")[2]


def test_a_file_is_no_folder(p: Promptuary) -> None:
    tool = PromptuaryMemoryTool(p)
    for path in ("/memories/a.md", "/memories/b.md"):
        call(tool, "create", path=path, file_text="A file.")

    with pytest.raises(ToolError, match="already exists"):
        call(tool, "create", path="/memories/a.md/b", file_text="Below.")
    with pytest.raises(ToolError, match="already exists"):
        call(tool, "rename", old_path="/memories/b.md", new_path="/memories/a.md/b")
    assert p.memory.list().total == 2


SLIPS: list[tuple[Any, str]] = [
    ({"command": "view"}, "view needs `path`, a text"),
    ({"command": "view", "path": 5}, "view needs `path`, a text"),
    ({"command": "view", "path": "/memories/x.md", "view_range": [5, 9]}, "has 2 lines"),
    ({"command": "view", "path": "/memories/x.md", "view_range": "1-2"}, "two line numbers"),
    ({"command": "create", "path": "/memories/y.md"}, "create needs `file_text`"),
    ({"command": "create", "path": "/memories/y.md", "file_text": ""}, "would be empty"),
    ({"command": "str_replace", "path": "/memories/x.md", "old_str": None}, "needs `old_str`"),
    ({"command": "str_replace", "path": "/memories/x.md", "old_str": "One.\nTwo.", "new_str": ""}, "would be empty"),
    ({"command": "str_replace", "path": "/memories/x.md", "old_str": "One", "new_str": 5}, "`new_str`"),
    ({"command": "insert", "path": "/memories/x.md", "insert_line": 1}, "insert needs `insert_text`"),
    ({"command": "delete"}, "delete needs `path`"),
    ({"command": "rename", "old_path": "/memories/x.md"}, "rename needs `new_path`"),
    ({"command": "append", "path": "/memories/x.md"}, "The commands are view, create"),
    ({}, "Unknown command"),
    ("view", "Unknown command"),
    ({"command": "insert", "path": "/memories/x.md", "insert_text": "y", "insert_line": "a"}, "a whole number"),
]


def test_a_command_that_is_not_whole_is_answered_with_what_it_lacks(p: Promptuary) -> None:
    tool = PromptuaryMemoryTool(p)
    call(tool, "create", path="/memories/x.md", file_text="One.\nTwo.\n")

    for command, said in SLIPS:
        with pytest.raises(ToolError, match=said):
            tool.call(command)
    assert body_of(tool, "/memories/x.md") == "     1\tOne.\n     2\tTwo."
    assert call(tool, "view", path="/memories/x.md", view_range=[]) == call(tool, "view", path="/memories/x.md")


def test_a_command_without_its_path_is_answered_with_async_too(p: Promptuary) -> None:
    with pytest.raises(ToolError, match="view needs `path`"):
        asyncio.run(AsyncPromptuaryMemoryTool(p).call({"command": "view"}))


def test_principals_have_files_of_their_own(files: Files) -> None:
    root = files(FILES)
    with Promptuary.open(root, exact=True, embedder="none", principal=Principal("ada")) as p:
        call(PromptuaryMemoryTool(p), "create", path="/memories/x.md", file_text="Ada's.")
    with Promptuary.open(root, exact=True, embedder="none", principal=Principal("bob")) as p:
        assert call(PromptuaryMemoryTool(p), "view", path="/memories").splitlines()[1:] == ["0B\t/memories"]
        with pytest.raises(ToolError, match="does not exist"):
            call(PromptuaryMemoryTool(p), "view", path="/memories/x.md")


def test_the_tool_with_async_does_the_same(p: Promptuary) -> None:
    async def use() -> str:
        tool = AsyncPromptuaryMemoryTool(p)
        await tool.call({"command": "create", "path": "/memories/x.md", "file_text": "Once."})
        return str(await tool.call({"command": "view", "path": "/memories/x.md"}))

    assert asyncio.run(use()).endswith("Once.")


def test_a_turn_that_cannot_be_recorded_still_answers(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    with ChatServer([Says("Done.")]) as server, opened(files(FILES)) as p:

        class Interferes(Anthropic):
            def post(self, *given: Any, **options: Any) -> Any:
                answer = super().post(*given, **options)
                p.threads.abandon(p.threads.pending())  # type: ignore[arg-type]
                return answer

        with Interferes(base_url=server.anthropic_url, api_key="any") as client:
            message = run_turn(p, client, "Do it", model="claude-sonnet-5-5", max_tokens=100)

    assert message.content[0].text == "Done."  # type: ignore[union-attr]
    assert "was not recorded" in caplog.text
