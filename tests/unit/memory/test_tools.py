"""The tools of an agent: what they answer, what they may write, and what waits for the person."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from promptuary import Principal
from promptuary.base.errors import PromptuaryError
from promptuary.blocking import Promptuary

NOTE = {"type": "project", "title": "Release day", "content": "Releases go out on Mondays."}


@pytest.fixture
def p(workspace: Path) -> Iterator[Promptuary]:
    with Promptuary.open(workspace, exact=True, embedder="none") as promptuary:
        yield promptuary


def write(p: Promptuary, **fields: Any) -> Any:
    """Call the tool in a turn that held nothing but the person's words."""
    turn = p.threads.prepare("We release on Mondays.", thread="clean")
    answer = p.memory.call_tool("write_memory", {**NOTE, **fields}, turn=turn, messages=[])
    p.threads.abandon(turn)
    return answer


def test_the_schemas_are_small_and_have_the_shapes_of_providers(p: Promptuary) -> None:
    openai, anthropic, mcp = (p.memory.tools(form) for form in ("openai", "anthropic", "mcp"))

    assert [one["function"]["name"] for one in openai] == ["search_recall_memories", "write_memory"]  # type: ignore[index]
    assert {tuple(one) for one in anthropic} == {("name", "description", "input_schema")}
    assert {tuple(one) for one in mcp} == {("name", "description", "inputSchema")}
    assert len(json.dumps(mcp)) < 2_600


def test_a_form_that_nobody_knows_is_an_error_that_names_those_there_are(p: Promptuary) -> None:
    form: Any = "gemini"
    with pytest.raises(PromptuaryError, match="openai, anthropic or mcp, not 'gemini'"):
        p.memory.tools(form)


@pytest.mark.parametrize("arguments", [None, 5, [], "null", "[]"])
def test_arguments_that_are_no_object_are_answered(p: Promptuary, arguments: Any) -> None:
    assert p.memory.call_tool("search_recall_memories", arguments) == {"error": "the arguments are not an object"}


def test_a_new_private_note_is_written_in_the_agents_name(p: Promptuary) -> None:
    answer = write(p, tags=["release"], context="Asked twice.")

    assert answer["written"]
    assert answer["relative_path"].startswith("private/project/release-day-")
    note = p.memory.get(answer["memory_id"])
    assert note is not None
    assert (note.header.trust, note.header.source, note.header.tags) == ("agent", "tool", ("release",))
    assert note.body == "Releases go out on Mondays.\n\nContext: Asked twice."


@pytest.mark.parametrize("known", ["no turn", "no messages", "a tool's result", "an attached file"])
def test_what_may_stem_from_elsewhere_is_labelled_so_for_good(p: Promptuary, known: str) -> None:
    (p.path / "page.txt").write_text("Releases go out on Mondays.")
    turn = p.threads.prepare("What does @file:page.txt say?" if known == "an attached file" else "Hello")
    messages: Any = {"no messages": None, "a tool's result": [{"role": "tool", "content": "Mondays."}]}.get(known, [])
    given = {} if known == "no turn" else {"turn": turn, "messages": messages}
    answer = p.memory.call_tool("write_memory", NOTE, **given)

    assert answer["trust"] == "external"
    found = p.memory.call_tool("search_recall_memories", {"memory_id": answer["memory_id"]})
    assert "external" in str(found["content"])


def test_a_note_is_found_by_words_id_and_path(p: Promptuary) -> None:
    note = p.memory.write("Releases go out on Mondays.", title="Release day", kind="project")
    p.memory.write("The canteen closes at two.")

    by_words = p.memory.call_tool("search_recall_memories", '{"query": "when do releases go out?"}')
    assert by_words["answers"]
    assert [one["memory_id"] for one in by_words["memories"]] == [note.header.id]  # type: ignore[attr-defined]
    for key in ({"memory_id": note.header.id}, {"memoryId": note.header.id}, {"relativePath": note.header.path}):
        assert p.memory.call_tool("search_recall_memories", key)["content"] == "Releases go out on Mondays."


def test_a_persons_note_is_not_changed_but_the_person_is_asked(p: Promptuary) -> None:
    note = p.memory.write("Releases go out on Mondays.", title="Release day", kind="project")
    answer = write(p, memory_id=note.header.id, content="Releases go out on Fridays.")

    assert (answer["written"], p.memory.get(note.header.id)) == (False, note)
    (proposal,) = p.memory.proposals()
    assert (proposal.id, proposal.origin) == (answer["proposal"], "tool")
    accepted = p.memory.accept(proposal.id)
    assert (accepted.header.id, accepted.body) == (note.header.id, "Releases go out on Fridays.")


def test_an_agent_changes_what_an_agent_wrote(p: Promptuary) -> None:
    first = write(p)
    second = write(p, memory_id=first["memory_id"], content="Releases go out on Fridays.")

    assert (second["written"], second["memory_id"]) == (True, first["memory_id"])


@pytest.mark.parametrize("fields", [{"audience": "shared"}, {"type": "profile", "content": "The person is a nurse."}])
def test_what_others_would_see_or_is_about_the_person_waits(p: Promptuary, fields: dict[str, str]) -> None:
    assert not write(p, **fields)["written"]
    assert len(p.memory.proposals()) == 1
    assert p.memory.list().total == 0


def test_what_is_known_already_is_not_written_again(p: Promptuary) -> None:
    note = p.memory.write("Releases go out on Mondays.", title="Release day", kind="project")
    p.memory.write("The canteen closes at two.")
    answer = write(p)

    assert (answer["written"], answer["memory_id"]) == (False, note.header.id)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("delete_everything", {}),
        ("write_memory", "no JSON"),
        ("write_memory", "[1]"),
        ("write_memory", {}),
        ("write_memory", {**NOTE, "type": "secret"}),
        ("write_memory", {**NOTE, "content": 7}),
        ("write_memory", {**NOTE, "tags": "x"}),
        ("search_recall_memories", {}),
        ("search_recall_memories", {"query": "a", "memory_id": "b"}),
        ("search_recall_memories", {"memory_id": "../../etc/passwd"}),
        ("search_recall_memories", {"relative_path": "/etc/passwd"}),
        ("search_recall_memories", {"memory_id": "0123456789ab"}),
    ],
)
def test_a_mistake_of_the_model_is_an_answer(p: Promptuary, name: str, arguments: Any) -> None:
    assert "error" in p.memory.call_tool(name, arguments)
    assert p.memory.list().total == 0


@pytest.mark.parametrize("fields", [{"memory_id": "0123456789ab"}, {"content": "The password is hunter2!"}])
def test_ids_that_nobody_has_and_secrets_write_nothing(p: Promptuary, fields: dict[str, str]) -> None:
    assert not write(p, **fields).get("written")
    assert p.memory.list().total == 0
    assert list(p.memory.proposals()) == []


def test_the_notes_of_others_are_not_there(p: Promptuary) -> None:
    note = p.memory.write("Releases go out on Mondays.", title="Release day", kind="project")
    with Promptuary.open(p.path, exact=True, principal=Principal("eve"), embedder="none") as eve:
        absent = eve.memory.call_tool("search_recall_memories", {"memory_id": "0123456789ab"})
        foreign = eve.memory.call_tool("search_recall_memories", {"memory_id": note.header.id})
        assert str(foreign).replace(note.header.id, "") == str(absent).replace("0123456789ab", "")
        assert eve.memory.call_tool("search_recall_memories", {"query": "releases"})["memories"] == []


@pytest.mark.parametrize("by_tool", [True, False])
def test_a_turn_in_which_the_agent_wrote_skips_writeback(workspace: Path, by_tool: bool) -> None:
    asked = dict.fromkeys(("id", "audience", "tags", "supersedes", "reason", "evidence"))
    decision = {**asked, "action": "upsert", "title": "Canteen", "content": "Lunch is at noon.", "kind": "project"}
    models = {"m": {"scripted": [json.dumps({"decisions": [decision]})]}}
    with Promptuary.open(
        workspace, exact=True, embedder="none", models=models, writeback_model="m", writeback_wait_policy="soft_drain"
    ) as p:
        turn = p.threads.prepare("We release on Mondays.")
        if by_tool:
            p.memory.call_tool("write_memory", NOTE, turn=turn, messages=[])
        p.threads.finish(turn, "Noted.")

        assert [one.title for one in p.memory.list().headers] == (["Release day"] if by_tool else ["Canteen"])


CALL: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
SHAPES: dict[str, list[dict[str, Any]]] = {
    "openai": [
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "from a file"},
    ],
    "openai parts": [
        {"role": "assistant", "content": [{"type": "text", "text": "Well."}], "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "from a file"}]},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
    ],
    "responses": [
        {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "from a file"},
    ],
    "anthropic": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read_file", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "from a file"}]},
    ],
    "anthropic with words": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read_file", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "from a file"}]},
                {"type": "text", "text": "Go on."},
            ],
        },
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_messages_so_far_are_taken_in_the_shape_of_every_provider(p: Promptuary, shape: str) -> None:
    turn = p.threads.prepare("We release on Mondays.")
    answer = p.memory.call_tool("write_memory", NOTE, turn=turn, messages=SHAPES[shape])  # type: ignore[arg-type]

    assert answer["written"] is True
    note = p.memory.get(str(answer["memory_id"]))
    assert note is not None
    assert note.header.trust == "external"  # the model has read the result of a tool


@pytest.mark.parametrize("parts", [[{"type": "text", "text": "Go on."}], "Go on.", []])
def test_what_the_person_says_meanwhile_is_no_foreign_text(p: Promptuary, parts: Any) -> None:
    turn = p.threads.prepare("We release on Mondays.")
    said: list[Any] = [{"role": "assistant", "content": "When?"}, {"role": "user", "content": parts}]
    answer = p.memory.call_tool("write_memory", NOTE, turn=turn, messages=said)
    note = p.memory.get(str(answer["memory_id"]))

    assert note is not None
    assert note.header.trust == "agent"
