"""``promptuary hook`` as agents run it: JSON in, JSON out, and never in the way."""

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.workspace.programs.agents.transcript import read_end
from tests.conftest import Files, git
from tests.mcp_clients import over_stdio
from tests.programs import PROMPTUARY

AGENTS = {
    "claude-code": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact"),
    "codex": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact"),
    "gemini": ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress"),
}
LIMIT = 10_000


@pytest.fixture(autouse=True)
def _by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here needs a model."""
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")


@pytest.fixture
def project(files: Files, repository: Path) -> Path:
    files({"src/app.py": "def main() -> None:\n    pass\n"})
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Begin")
    files({"src/app.py": "def main() -> None:\n    print()\n"})
    with Promptuary.open(repository, exact=True) as opened:
        opened.memory.write("We deploy on Fridays, never before noon.", title="Deploying", kind="project")
        opened.experiences.add("task_solution", "deploy the site", "make deploy")
    return repository


def hook(agent: str, event: str, told: Mapping[str, Any] | bytes, *more: str) -> tuple[dict[str, Any], str]:
    """Run a hook; return what it answered and what it said."""
    given = told if isinstance(told, bytes) else json.dumps(told).encode()
    done = subprocess.run([*PROMPTUARY, "hook", agent, event, *more], input=given, capture_output=True, check=False)
    assert done.returncode == 0
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer, done.stderr.decode()


@pytest.mark.parametrize("agent", AGENTS)
def test_context_comes_in_with_a_prompt_and_at_the_start(project: Path, agent: str) -> None:
    start, prompt, *_ = AGENTS[agent]
    began, _ = hook(agent, start, {"cwd": str(project), "session_id": "s"})
    told = {"cwd": str(project / "src"), "prompt": "When do we deploy the site? See @diff", "session_id": "s"}
    answer, said = hook(agent, prompt, told)

    assert said == ""
    assert began["hookSpecificOutput"]["hookEventName"] == start
    assert "never before noon" in began["hookSpecificOutput"]["additionalContext"]
    assert set(answer) == {"hookSpecificOutput"}
    assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert "never before noon" not in context  # the session has it
    assert "make deploy" in context
    assert "+    print()" in context
    told["session_id"] = "another"
    assert "never before noon" in hook(agent, prompt, told)[0]["hookSpecificOutput"]["additionalContext"]


def test_a_session_is_shown_the_same_once_until_its_history_begins_anew(project: Path) -> None:
    def asked(event: str = "UserPromptSubmit", **more: str) -> str:
        told = {"cwd": str(project), "session_id": "s", "prompt": "When do we deploy? @diff", **more}
        answer, _ = hook("claude-code", event, told)
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    first, again = asked(), asked()
    resumed, other = asked("SessionStart", source="resume"), asked(session_id="t")
    begun = [asked("SessionStart", source=source) for source in ("compact", "clear", "startup")]
    (project / "src" / "new.py").write_text("NEW = 1\n")
    changed = asked()
    with_nothing = {"cwd": str(project), "prompt": "When do we deploy? @diff"}
    without_id = [str(hook("claude-code", "UserPromptSubmit", with_nothing)[0]) for _ in range(2)]

    assert all(one in first for one in ("never before noon", "make deploy", "+    print()"))
    assert "is unchanged since it was shown above" in again
    assert not any(one in again for one in ("never before noon", "make deploy", "+    print()"))
    assert "never before noon" not in resumed
    assert "never before noon" in other
    assert all("never before noon" in one for one in begun)
    assert "NEW = 1" in changed
    assert all("never before noon" in one for one in without_id)


def test_proposed_notes_that_wait_are_told_at_the_start_without_a_server(project: Path) -> None:
    with Promptuary.open(project, embedder="none") as opened:
        note = opened.memory.write("The port is 1111.", title="Port", kind="project").header
        opened.memory.call_tool(
            "write_memory",
            {"type": "project", "title": "Port", "content": "The port is 2222.", "memory_id": note.id},
        )
        assert len(opened.memory.proposals()) == 1
    answer, _ = hook("claude-code", "SessionStart", {"cwd": str(project), "session_id": "s"})

    assert "1 proposed note waits" in answer["hookSpecificOutput"]["additionalContext"]


def test_the_context_stays_below_the_limit_and_says_what_was_cut(project: Path, files: Files) -> None:
    files({"long.txt": "0123456789" * 2_000, "short.txt": "A short one.\n"})
    told = {"cwd": str(project), "prompt": "See @file:long.txt and @file:short.txt"}
    answer, _ = hook("claude-code", "UserPromptSubmit", told)

    context = answer["hookSpecificOutput"]["additionalContext"]
    assert len(context) < LIMIT
    assert "A short one." in context
    assert "[long.txt: cut after " in context


BROKEN = [b"", b"null", b"[]", b"{", b"\xff", b"7", b"[" * 100_000, b'{"cwd": 7}', b'{"prompt": 7}', b"x" * (2 << 20)]


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop"])
def test_bad_input_gets_an_empty_answer_and_a_sentence(project: Path, event: str) -> None:
    for told in BROKEN:
        answer, said = hook("claude-code", event, told)

        assert answer == {}
        assert "Traceback" not in said
        if event == "UserPromptSubmit" or not told.startswith(b'{"'):
            assert said.startswith("promptuary: ")
            assert said.count("\n") == 1


def test_a_folder_that_the_agent_names_and_is_not_there_is_not_replaced_by_another(project: Path) -> None:
    answer, said = hook("claude-code", "UserPromptSubmit", {"cwd": "/no/such/folder", "prompt": "See @diff"})

    assert (answer, said) == ({}, "promptuary: cwd is not a folder: '/no/such/folder'\n")


STOP = ["claude-code", "Stop"]
WRONG = [
    ["hook"],
    ["hook", "claude-code"],
    ["hook", "nobody", "Stop"],
    ["hook", "claude-code", "Nothing"],
    ["hook", "a", "b", "c"],
    ["hook", "--bogus"],
    ["hook", *STOP, "--bogus"],
    ["hook", *STOP, "--window", "abc"],
    ["hook", *STOP, "-w"],
    ["hook", *STOP, "--workspace=/no/such/folder"],
    ["hook", *STOP, "-w/no/such/folder"],
    ["-q", "hook", *STOP, "--bogus"],
    ["-w", "/no/such/folder", "hook", *STOP],
]
BY_PARSER = [sys.executable, "-c", "from promptuary.cli.main import run; run()"]
"""The program as it starts where what parses commands is loaded first."""


@pytest.mark.parametrize(("program", "commands"), [(PROMPTUARY, WRONG), (BY_PARSER, WRONG[-3:])])
def test_a_wrong_command_blocks_no_agent_either(program: list[str], commands: list[list[str]]) -> None:
    for words in commands:
        done = subprocess.run([*program, *words], input=b"{}", capture_output=True, check=False)

        assert (words, done.returncode, json.loads(done.stdout)) == (words, 0, {})
        assert done.stderr.startswith(b"promptuary: ")
        assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("program", [PROMPTUARY, BY_PARSER])
@pytest.mark.parametrize(("output", "said"), [(">&-", "closed"), (">/dev/full", "No space left")])
def test_an_answer_that_cannot_be_written_blocks_no_agent(program: list[str], output: str, said: str) -> None:
    command = f'"$@" hook claude-code Nothing {output}'
    done = subprocess.run(["sh", "-c", command, "sh", *program], input=b"{}", capture_output=True, check=False)

    assert done.returncode == 0
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_the_help_of_hook_is_still_printed() -> None:
    done = subprocess.run([*PROMPTUARY, "hook", "--help"], capture_output=True, check=True)

    assert done.stdout.startswith(b"usage: promptuary hook AGENT EVENT")


def test_a_workspace_that_is_named_is_used_and_not_looked_for(project: Path, tmp_path: Path) -> None:
    inner = project / "inner"
    inner.mkdir()
    with Promptuary.open(inner, exact=True) as opened:
        opened.memory.write("Deploy the inner one at night.", title="Inner", kind="project")
    told = {"cwd": str(tmp_path), "prompt": "When do we deploy?"}
    context = str(hook("claude-code", "UserPromptSubmit", told, "-w", str(inner))[0])

    assert "at night" in context
    assert "never before noon" not in context


def test_what_is_learnt_belongs_to_the_workspace_that_is_named(project: Path, tmp_path: Path) -> None:
    told = {"cwd": str(tmp_path), "prompt": "We decided to use Postgres.", "prompt_response": "Noted."}

    assert hook("gemini", "AfterAgent", told, "--workspace", str(project)) == ({}, "")

    def learnt() -> bool:
        with Promptuary.open(project, exact=True) as opened:
            return [one.draft.content for one in opened.memory.proposals()] == ["We decided to use Postgres."]

    assert until(learnt)


def test_input_that_is_too_long_is_told_how_long_it_may_be(project: Path) -> None:
    told = {"cwd": str(project), "prompt": "x" * (1 << 20)}

    said = hook("claude-code", "UserPromptSubmit", told)[1]
    assert said == "promptuary: standard input is too long: at most 1,048,576 bytes are allowed\n"


CLAUDE = [
    {
        "type": "user",
        "uuid": "u1",
        "message": {"role": "user", "content": "Please run the tests. We decided to use Postgres."},
    },
    {
        "type": "assistant",
        "uuid": "u2",
        "message": {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make test"}}],
        },
    },
    {
        "type": "user",
        "uuid": "u3",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "12 passed"}]},
    },
    {
        "type": "assistant",
        "uuid": "u4",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "All pass."}]},
    },
]
CODEX = [
    {"type": "session_meta", "payload": {"id": "x"}},
    {
        "type": "response_item",
        "timestamp": "1",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Please run the tests. We decided to use Postgres."}],
        },
    },
    {
        "type": "response_item",
        "payload": {"type": "function_call", "call_id": "t1", "name": "shell", "arguments": '{"command": "make test"}'},
    },
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "t1", "output": "12 passed"}},
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "All pass."}]},
    },
]

GEMINI_PROMPT = "Please run the tests. We decided to use Postgres."
GEMINI_CONTEXT = (
    "<hook_context>&lt;promptuary&gt;\nWe decided to use Oracle. @file:src/app.py\n&lt;/promptuary&gt;</hook_context>"
)
GEMINI_CALL = {"id": "t1", "name": "run_shell_command", "args": {"command": "make test"}, "status": "success"}
GEMINI_RESULT = [{"functionResponse": {"id": "t1", "name": "run_shell_command", "response": {"output": "12 passed"}}}]
GEMINI = [
    {"sessionId": "x", "kind": "main"},
    {"$set": {"messages": [{"id": "m0", "type": "user", "content": [{"text": "<session_context>\nWe use Oracle."}]}]}},
    {"id": "m1", "type": "user", "content": [{"text": "Something that is taken back."}]},
    {"id": "m2", "type": "gemini", "content": "No."},
    {"$rewindTo": "m1"},
    {
        "id": "m3",
        "type": "user",
        "content": [{"text": f"{GEMINI_CONTEXT}\n\n{GEMINI_PROMPT}"}, {"text": GEMINI_CONTEXT}],
        "displayContent": [{"text": f"{GEMINI_CONTEXT}\n\n{GEMINI_PROMPT}"}],
    },
    {"$set": {"lastUpdated": "now"}},
    {"id": "m4", "type": "gemini", "content": "Let me see."},
    {"id": "m4", "type": "gemini", "content": "Let me see.", "toolCalls": [{**GEMINI_CALL, "result": GEMINI_RESULT}]},
    {"id": "m5", "type": "user", "content": GEMINI_RESULT},
    {"id": "m6", "type": "gemini", "content": "All pass."},
]
"""As Gemini 0.61 writes it down, without what is not read."""


def until(is_so: Callable[[], bool]) -> bool:
    """Wait for a process that was started aside: nothing tells when it has ended."""
    end = time.monotonic() + 60
    while not is_so() and time.monotonic() < end:
        time.sleep(0.1)
    return is_so()


@pytest.mark.parametrize(
    ("agent", "entries"), [("claude-code", CLAUDE), ("codex", CODEX), ("gemini", GEMINI)], ids=AGENTS
)
def test_a_finished_turn_is_learnt_from_once(project: Path, tmp_path: Path, agent: str, entries: list[Any]) -> None:
    *_, stop, compact = AGENTS[agent]
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text("".join(json.dumps(one) + "\n" for one in entries))
    told = {"cwd": str(project), "session_id": "s1", "transcript_path": str(transcript)}

    def learnt() -> tuple[list[str], list[int]]:
        with Promptuary.open(project, exact=True) as opened:
            proposed = [one.draft.content or "" for one in opened.memory.proposals()]
            return proposed, [one.use_count for one in opened.experiences.list(type="tool_chain").experiences]

    assert hook(agent, stop, told) == ({}, "")
    assert until(lambda: all(learnt()))
    first = learnt()
    assert any("Postgres" in one for one in first[0])
    assert not any("Oracle" in one for one in first[0]), "what the agent puts into a prompt is not the person's"
    assert hook(agent, compact, told, "--work")[0] == {}
    assert learnt() == first


def test_a_history_that_is_shortened_is_learnt_from_if_there_is_something_new(project: Path, tmp_path: Path) -> None:
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text(json.dumps(GEMINI[0]) + "\n")
    told = {"cwd": str(project), "session_id": "s1", "transcript_path": str(transcript)}
    state = Path(os.environ["HOME"]) / ".local/state/promptuary/learnt"
    program = (
        "import sys, promptuary.hooks.hook as hook; started = []; "
        "hook.detached.start = lambda *given: started.append(1); "
        "hook.main(sys.argv[1:]); print(started)"
    )

    def asked() -> str:
        command = [sys.executable, "-c", program, "gemini", "PreCompress"]
        done = subprocess.run(command, input=json.dumps(told), capture_output=True, text=True, check=True)
        return done.stdout

    assert asked() == "{}\n[]\n", "Gemini asks before every request"
    transcript.write_text("".join(json.dumps(one) + "\n" for one in GEMINI))
    assert asked() == "{}\n[1]\n"
    assert hook("gemini", "PreCompress", told, "--work") == ({}, "")
    assert len(list(state.iterdir())) == 1
    assert asked() == "{}\n[]\n"


def test_context_that_an_agent_puts_before_a_prompt_is_no_part_of_it(project: Path) -> None:
    def context(prompt: str) -> Any:
        return hook("gemini", "BeforeAgent", {"cwd": str(project), "prompt": prompt})

    plain = context("When do we deploy?")

    assert "Fridays" in json.dumps(plain)
    assert context(f"{GEMINI_CONTEXT}\n\nWhen do we deploy?") == plain


def test_a_turn_without_a_transcript_is_learnt_from_as_well(project: Path) -> None:
    told = {
        "cwd": str(project),
        "prompt": "We decided to use Postgres.",
        "prompt_response": "Noted.",
        "session_id": "s",
    }

    assert hook("gemini", "AfterAgent", told, "--work") == ({}, "")
    with Promptuary.open(project, exact=True) as opened:
        assert [one.draft.content for one in opened.memory.proposals()] == ["We decided to use Postgres."]


def test_a_transcript_that_is_somebody_elses_or_no_file_is_not_read(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe.jsonl")
    for path in ("/etc/passwd", str(tmp_path / "link.jsonl"), str(tmp_path / "pipe.jsonl"), "relative.jsonl", "\0"):
        assert read_end(path) is None
    for given in (str(tmp_path / "pipe.jsonl"), 7):
        told = {"cwd": str(project), "transcript_path": given}
        assert hook("claude-code", "Stop", told, "--work") == ({}, "")


def test_a_running_server_answers_over_a_socket_of_the_persons_own(project: Path) -> None:
    folder = Path(os.environ["HOME"]) / ".local/state/promptuary/run"
    told = {"cwd": str(project / "src"), "prompt": "When do we deploy?", "session_id": "s"}

    async def ask() -> tuple[dict[str, Any], list[int]]:
        async with over_stdio(project, "auto") as client:
            await client.call_tool("explain_turn", {})  # the server is ready
            (path,) = folder.glob("*.sock")
            modes = [stat.S_IMODE(one.stat().st_mode) for one in (folder, path)]
            # A hook that cannot open the workspace itself: only the server can have answered.
            blocked = "import sys; sys.modules['promptuary.blocking'] = None; "
            program = f"{blocked}from promptuary.hooks.hook import main; main(sys.argv[1:])"
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                program,
                "claude-code",
                "UserPromptSubmit",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            out, _ = await process.communicate(json.dumps(told).encode())
            return json.loads(out), modes

    answer, modes = asyncio.run(ask())

    assert modes == [0o700, 0o600]
    assert "never before noon" in answer["hookSpecificOutput"]["additionalContext"]
    assert list(folder.glob("*.sock")) == []


def test_a_socket_that_nobody_answers_at_is_removed_and_passed_over(project: Path) -> None:
    async def path() -> Path:
        async with over_stdio(project, "legacy") as client:
            await client.call_tool("explain_turn", {})
            (found,) = (Path(os.environ["HOME"]) / ".local/state/promptuary/run").glob("*.sock")
            return found

    dead = asyncio.run(path())
    folder = os.open(dead.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(f"/proc/self/fd/{folder}/{dead.name}")  # the path itself may be too long for a socket
    os.close(folder)
    answer, _ = hook("claude-code", "UserPromptSubmit", {"cwd": str(project), "prompt": "When do we deploy?"})

    assert "never before noon" in answer["hookSpecificOutput"]["additionalContext"]
    assert not dead.exists()


def test_a_hook_imports_neither_the_protocol_nor_an_event_loop_nor_a_parser(project: Path) -> None:
    program = (
        "import sys; from promptuary.__main__ import run; import promptuary.hooks.hook as one\n"
        "one.leave = lambda code: (print(sorted(sys.modules), file=sys.stderr), sys.exit(code))\n"
        "sys.argv = ['promptuary', 'hook', 'claude-code', 'UserPromptSubmit']\nrun()"
    )
    told = json.dumps({"cwd": str(project), "prompt": "When do we deploy?"}).encode()
    done = subprocess.run([sys.executable, "-c", program], input=told, capture_output=True, check=True)

    assert b"never before noon" in done.stdout
    loaded = done.stderr.decode()
    assert not {"mcp", "argparse", "promptuary.cli.main"} & {word.strip("'[],") for word in loaded.split()}
