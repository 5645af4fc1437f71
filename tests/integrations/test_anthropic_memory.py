"""Anthropic's memory tool over notes, with the real client and its tool runner."""

import asyncio
from dataclasses import dataclass
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

pytestmark = pytest.mark.xdist_group("anthropic")
pytest.importorskip("anthropic")

from anthropic import Anthropic, beta_tool  # noqa: E402
from anthropic.lib.tools import ToolError  # noqa: E402

from promptuary.integrations.anthropic_memory import AsyncPromptuaryMemoryTool, PromptuaryMemoryTool, run_turn  # noqa: E402

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
    assert call(tool, "view", path="/memories").splitlines()[1:] == ["/memories/done/one.md"]
    assert call(tool, "delete", path="/memories/done") == "Successfully deleted /memories/done"
    assert call(tool, "view", path="/memories").splitlines()[1:] == []
    (archived,) = p.memory.list(statuses=["archived"])
    assert p.memory.restore(archived.id).body.strip() == "Uno.\nDue.\nSecond."


def test_notes_of_the_person_are_read_and_never_changed(p: Promptuary) -> None:
    tool, note = PromptuaryMemoryTool(p), p.memory.write("I indent with tabs.", title="Tabs", kind="feedback")
    path = f"/memories/notes/{note.header.path}"

    assert call(tool, "view", path="/memories").splitlines()[1:] == [path]
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

    shown = call(PromptuaryMemoryTool(p), "view", path=f"/memories/notes/{note.path}").splitlines()

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
        ("str_replace", {"path": "/memories/x.md", "old_str": "absent", "new_str": "y"}, "0 times"),
        ("str_replace", {"path": "/memories/x.md", "old_str": "a", "new_str": "y"}, "2 times"),
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


def test_principals_have_files_of_their_own(files: Files) -> None:
    root = files(FILES)
    with Promptuary.open(root, exact=True, embedder="none", principal=Principal("ada")) as p:
        call(PromptuaryMemoryTool(p), "create", path="/memories/x.md", file_text="Ada's.")
    with Promptuary.open(root, exact=True, embedder="none", principal=Principal("bob")) as p:
        assert call(PromptuaryMemoryTool(p), "view", path="/memories").splitlines()[1:] == []
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
