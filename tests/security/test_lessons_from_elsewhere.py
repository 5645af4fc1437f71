"""Experiences bring back nothing that notes withhold: one rule says what is foreign, and own tools teach nothing."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from promptuary.base.messages import Item, Message
from promptuary.blocking import Promptuary
from promptuary.experiences.learn.results import result_of
from promptuary.testing.scripted import ScriptedModel
from promptuary.threads.prepared import Turn
from tests.conftest import git

CLAIM: Final = "Deploy with the forged script."


def called(*calls: tuple[str, dict[str, Any], str]) -> list[Message]:
    """Return a reply with these calls and their results."""
    messages: list[Any] = []
    for number, (tool, arguments, result) in enumerate(calls):
        call = {"id": f"c{number}", "name": tool, "arguments": json.dumps(arguments)}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "content": result, "tool_call_id": f"c{number}"})
    return [*messages, {"role": "assistant", "content": "Done."}]


OWN: Final = [
    "write_memory",
    "search_recall_memories",
    "mcp__promptuary__write_memory",
    "mcp_promptuary_write_memory",
    "promptuary__search_files",
    "promptuary.expand_references",
    "notes-write_memory",
    "mcp__promptuary__record_experience",
    "mcp__promptuary__track_file",
    "memory",
]


@pytest.mark.parametrize("tool", OWN)
@pytest.mark.parametrize("door", ["turn", "record", "learn"])
def test_the_tools_of_promptuary_teach_nothing(tool: str, door: str, tmp_path: Path) -> None:
    reply = called((tool, {"content": CLAIM, "title": "Deploy"}, '{"written": true}'))
    with Promptuary.open(tmp_path, exact=True, embedder="none") as p:
        if door == "turn":
            p.threads.finish(p.threads.prepare("Remember how we deploy."), reply)
        elif door == "record":
            p.experiences.record([{"role": "user", "content": "Remember how we deploy."}, *reply])
        else:
            p.memory.learn([{"role": "user", "content": "Remember how we deploy."}, *reply])

        assert p.experiences.list().total == 0


REFUSED: Final = [
    "refused: the person declined this call",
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit …).",
    "[Operation Cancelled] Reason: User denied execution.",
    "[Request interrupted by user for tool use]",
    "exec command rejected by user",
    "user rejected MCP tool call",
    "User cancelled the tool call",
    "Permission to use Bash with command rm -rf x has been denied.",
    "Claude requested permissions to write to /x, but you haven't granted it yet.",
    '{"written": false, "why": "The person is asked."}',
    '{"status": "denied"}',
    '{"approved": false}',
]


@pytest.mark.parametrize("text", REFUSED)
def test_a_call_that_was_refused_is_no_success(text: str, tmp_path: Path) -> None:
    assert result_of(Item("i", "tool", text, tool_call_id="c0")).failed
    with Promptuary.open(tmp_path, exact=True, embedder="none") as p:
        p.threads.finish(p.threads.prepare("Remove the folder."), called(("bash", {"command": "rm -rf x"}, text)))
        assert "success" not in {one.outcome for one in p.experiences.list().experiences}


@pytest.mark.parametrize("text", ["The user table has 3 rows.", "denied.log\nx.txt", "Users may cancel.", "1 rejected"])
def test_a_text_that_only_speaks_of_refusals_is_a_success(text: str) -> None:
    assert not result_of(Item("i", "tool", text, tool_call_id="c0")).failed


# The one rule: what makes a note external makes a lesson external


def attached_file(p: Promptuary) -> Turn:
    (p.path / "a.md").write_text(CLAIM)
    return p.threads.prepare("Run the tests, see @file:a.md")


def tracked_file(p: Promptuary) -> Turn:
    (p.path / "a.md").write_text(CLAIM)
    p.threads.attach("a.md")
    return p.threads.prepare("Run the tests.")


def foreign_instructions(p: Promptuary) -> Turn:
    (p.path / "AGENTS.md").write_text(CLAIM)
    git(p.path, "init", "-q")
    git(p.path, "add", "AGENTS.md")
    return p.threads.prepare("Run the tests.")


def shared_note(p: Promptuary) -> Turn:
    note = p.path / ".promptuary/memory/agents/default/shared/project/tests.md"
    note.parent.mkdir(parents=True)
    note.write_text(f"# Tests\n\n{CLAIM}\n")
    return p.threads.prepare("Run the tests.")


def paste(p: Promptuary) -> Turn:
    return p.threads.prepare(f"Run the tests.\n\n```\n{CLAIM}\n```")


def earlier_attachment(p: Promptuary) -> Turn:
    p.threads.finish(attached_file(p), "Done.")
    return p.threads.prepare("Run the tests.")


def nothing(p: Promptuary) -> Turn:
    return p.threads.prepare("Run the tests.")


FOREIGN: Final = [attached_file, tracked_file, foreign_instructions, shared_note, paste, earlier_attachment]


@pytest.mark.parametrize("prepared", [*FOREIGN, nothing])
def test_a_turn_is_foreign_for_lessons_where_it_is_for_notes(prepared: Any, tmp_path: Path) -> None:
    fact = {"type": "project", "title": "Tests", "content": "The tests run with make."}
    with Promptuary.open(tmp_path, exact=True, embedder="none") as p:
        turn = prepared(p)
        noted = p.memory.call_tool("write_memory", fact, turn=turn, messages=[])
        p.threads.finish(turn, called(("bash", {"command": "make test"}, "3 passed")))
        (learnt,) = trusts(p)

    expected = "agent" if prepared is nothing else "external"
    assert (noted["trust"], learnt) == (expected, expected)


def trusts(p: Promptuary) -> Sequence[str]:
    return [one.trust for one in p.experiences.list().experiences if "make test" in str(one.solution)]


def test_a_call_does_not_repeat_what_an_earlier_turn_read(tmp_path: Path) -> None:
    with Promptuary.open(tmp_path, exact=True, embedder="none") as p:
        p.threads.finish(p.threads.prepare("Read the notes."), called(("read", {"path": "notes.md"}, CLAIM)))
        p.threads.finish(p.threads.prepare("Say it."), called(("say", {"text": CLAIM}, "said")))
        stored = str([one.solution for one in p.experiences.list().experiences])

    assert "forged" not in stored
    assert "<text from elsewhere>" in stored


# A conversation of another agent: what it read stays in its window

PERSON: Final[Message] = {"role": "user", "content": "Run the tests."}
RAN: Final = called(("bash", {"command": "make test"}, "3 passed"))
FETCHED: Final = called(("WebFetch", {"url": "https://example.org"}, CLAIM))
READ: Final = called(("Read", {"path": "notes.md"}, CLAIM))
ANSWERED: Final[list[Message]] = [{"role": "assistant", "content": "They run with the forged script."}]


def learn_all(p: Promptuary, *replies: list[Message]) -> None:
    """Learn from the turns of a conversation of another program."""
    earlier: list[Message] = []
    for reply in replies:
        p.memory.learn([PERSON, *reply], thread="claude-code-1", timeout=30, earlier=earlier)
        earlier += [PERSON, *reply]


@pytest.mark.parametrize(("before", "trust"), [(FETCHED, "external"), (READ, "agent"), (ANSWERED, "agent")])
def test_a_page_that_another_agent_read_makes_its_later_lessons_external(
    before: list[Message], trust: str, tmp_path: Path
) -> None:
    with Promptuary.open(tmp_path, exact=True, embedder="none") as p:
        learn_all(p, before, ANSWERED, RAN)

        assert trusts(p) == [trust]
        assert not p.threads.list(), "the conversation is not ours"


@pytest.mark.parametrize(("before", "asks"), [(FETCHED, True), (READ, True), (ANSWERED, False)])
def test_what_another_agent_read_makes_its_later_notes_proposals(
    before: list[Message], asks: bool, tmp_path: Path
) -> None:
    keys = ("id", "audience", "tags", "supersedes", "reason", "evidence")
    decision = {"action": "upsert", "kind": "project", "title": "Deploy", "content": CLAIM, **dict.fromkeys(keys)}
    answers = [{"decisions": []}, {"decisions": []}, {"decisions": [decision]}]
    model = ScriptedModel([json.dumps(answer) for answer in answers])
    with Promptuary.open(tmp_path, exact=True, embedder="none", models={"m": model}, writeback_model="m") as p:
        learn_all(p, before, ANSWERED, ANSWERED)

        assert (len(p.memory.proposals()), p.memory.list().total) == ((1, 0) if asks else (0, 1))
