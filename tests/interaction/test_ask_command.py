"""``promptuary ask``, as a person or a script runs it, with a service on loopback that answers well or badly."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from promptuary.base.messages import ToolCall
from promptuary.testing.chat_server import (
    BreaksOff,
    ChatServer,
    Fails,
    Garbles,
    Refuses,
    Reply,
    ReplyScript,
    Says,
    Silent,
)
from promptuary.threads.run_values import BROKEN_OFF, INTERRUPTED
from tests.interaction.conftest import Run

PROMPTUARY = [sys.executable, "-m", "promptuary"]
KEY = "sk-nonce-7d1f0c9ab2"
Talk = Callable[..., ChatServer]
"""Starts a service with a script, and makes it the model that answers."""


def configure(text: str) -> None:
    path = Path.home() / ".config" / "promptuary" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Talk]:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    monkeypatch.setenv("SOME_KEY", KEY)
    servers: list[ChatServer] = []

    def start(script: ReplyScript, provider: str = "openai", more: str = "") -> ChatServer:
        server = ChatServer(script)
        servers.append(server)
        url = server.openai_url if provider == "openai" else server.anthropic_url
        configure(
            f'answer_model = "mine"\n[models.mine]\nprovider = "{provider}"\nbase_url = "{url}"\n'
            f'model = "gpt-4.1"\nkey_env = "SOME_KEY"\ntimeout = 2\n{more}'
        )
        return server

    yield start
    for server in servers:
        server.close()


def sent(request: dict[str, Any]) -> str:
    """Return all that was sent, as text."""
    return json.dumps(request, ensure_ascii=False)


def history(run: Run, thread: str) -> list[dict[str, Any]]:
    code, out, err = run("thread", "history", "--json", "-t", thread)
    assert code == 0, err
    found: list[dict[str, Any]] = json.loads(out)["messages"]
    return found


def test_the_answer_is_printed_and_a_line_of_tokens_goes_to_stderr(run: Run, talk: Talk, provider: str) -> None:
    server = talk([Says("It is a number.", usage=(1000, 10, 400))], provider)
    code, out, err = run("ask", "What is @file:a.py?")

    assert (code, out) == (0, "It is a number.\n")
    assert "a = 1" in sent(server.asked[0])
    assert "tokens sent" in err
    assert "the service counts 1,000 read (400 from the cache) and 10 written" in err
    assert "$0.0015" in err
    assert run("ask", "-q", "What is @file:a.py?")[1:] == ("It is a number.\n", "")


def test_without_a_thread_nothing_is_kept_and_no_database_is_made(run: Run, talk: Talk, tmp_path: Path) -> None:
    server = talk([Says("Yes.")])
    run("ask", "One?")
    run("ask", "Two?")

    assert "One?" not in sent(server.asked[1])
    assert not (tmp_path / ".promptuary").exists()


def test_a_model_that_reads_leaves_nothing_behind(run: Run, talk: Talk, tmp_path: Path) -> None:
    reads = [
        ToolCall("1", "read_file", '{"path": "a.py"}'),
        ToolCall("2", "search_files", '{"query": "a number"}'),
        ToolCall("3", "search_recall_memories", '{"query": "a number"}'),
        ToolCall("4", "search_recall_memories", '{"memory_id": "none"}'),
    ]
    talk([Says("", reads), Says("A number.")])
    before = sorted(tmp_path.rglob("*"))

    assert run("ask", "What is @file:a.py?")[:2] == (0, "A number.\n")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_thread_remembers_what_was_asked_and_answered(run: Run, talk: Talk) -> None:
    server = talk([Says("First."), Says("Second.")])
    run("ask", "-t", "t", "One?")
    run("ask", "-t", "t", "Two?")

    assert [one["content"] for one in history(run, "t")] == ["One?", "First.", "Two?", "Second."]
    assert "First." in sent(server.asked[1])


def test_what_is_piped_in_goes_behind_the_words_and_nothing_in_it_is_a_reference(run: Run, talk: Talk) -> None:
    server = talk([Says("Yes.")])
    code, out, _ = run("ask", "What is this?", piped="a line with @file:a.py\n")

    assert (code, out) == (0, "Yes.\n")
    message = server.asked[0]["messages"][-1]["content"]
    assert message == "What is this?\n\na line with @file:a.py\n"


@pytest.mark.parametrize("words", [("-",), ()])
def test_the_question_may_be_piped_in(run: Run, talk: Talk, words: tuple[str, ...]) -> None:
    server = talk([Says("Yes.")])

    assert run("ask", *words, piped="What is @file:a.py?")[0] == 0
    assert "a = 1" in sent(server.asked[0])
    assert run("ask", *words, piped=" \n")[::2] == (
        2,
        "promptuary: there is no question; pass it as an argument, or pipe it in\n",
    )


def test_json_has_the_answer_what_it_took_and_the_receipt(run: Run, talk: Talk) -> None:
    call = ToolCall("c1", "read_file", '{"path": "a.py"}')
    talk([Says("Let me see.", [call]), Says("A number.", usage=(50, 5, 0))])
    code, out, _ = run("ask", "--json", "-t", "t", "What is in a.py?")
    told = json.loads(out)

    assert code == 0
    assert (told["answer"], told["stop"], told["requests"]) == ("A number.", "end", 2)
    assert told["usage"] == {"input_tokens": 150, "output_tokens": 15, "cached_tokens": 0}
    assert told["tokens"]["last_request"] == told["receipt"]["tokens"]
    assert told["tokens"]["window"] == told["receipt"]["window"]
    assert told["tokens"]["all_requests"] > told["tokens"]["last_request"]
    assert [(one["name"], "a = 1" in one["result"], one["is_error"]) for one in told["calls"]] == [
        ("read_file", True, False)
    ]
    assert (told["thread"], told["receipt"]["thread"]) == ("t", "t")
    assert {"tools", "message", "loop"} <= {one["layer"] for one in told["receipt"]["entries"]}


def test_the_line_of_tokens_and_json_tell_the_same_numbers(run: Run, talk: Talk) -> None:
    call = ToolCall("c1", "read_file", '{"path": "a.py"}')
    talk([Says("", [call]), Says("A number.")])
    _, out, err = run("ask", "--json", "What is in a.py?")
    tokens, usage = json.loads(out)["tokens"], json.loads(out)["usage"]

    assert f"{tokens['last_request']:,} tokens sent" in err
    assert f"of {tokens['window']:,}; 2 requests with {tokens['all_requests']:,} in all" in err
    assert f"the service counts {usage['input_tokens']:,} read and {usage['output_tokens']:,} written" in err


def test_json_says_that_there_is_no_thread_and_that_nothing_was_counted(run: Run, talk: Talk) -> None:
    talk([Says("Yes.", usage=(0, 0, 0))])
    told = json.loads(run("ask", "--json", "Well?")[1])

    assert (told["thread"], told["receipt"]["thread"], told["usage"], told["cost"]) == (None, None, None, None)


@pytest.mark.parametrize(
    ("reply", "error", "answer"),
    [(Refuses(400, "no such model"), "no such model", None), (Fails("It begins", "busy"), "busy", "It begins")],
)
def test_json_says_why_there_is_no_answer_and_what_had_arrived(
    run: Run, talk: Talk, reply: Reply, error: str, answer: str | None
) -> None:
    talk([reply])
    code, out, err = run("ask", "--json", "Well?")
    told = json.loads(out)

    assert code == 2
    assert error in told["error"]
    assert err.endswith(f"promptuary: {told['error']}\n")
    assert (told.get("answer") or "").partition("\n")[0] == (answer or "")
    assert told.get("stop") == (None if answer is None else "failed")


@pytest.mark.parametrize("words", [("--model", "nobody", "Well?"), ("--window", "x", "Well?"), ("-",)])
def test_json_says_what_is_wrong_with_the_question(run: Run, talk: Talk, words: tuple[str, ...]) -> None:
    talk([Says("Yes.")])
    code, out, err = run("ask", "--json", *words)

    assert code == 2
    assert err == f"promptuary: {json.loads(out)['error']}\n"


def test_without_a_thread_an_answer_that_breaks_off_is_not_said_to_be_kept(run: Run, talk: Talk) -> None:
    talk([Fails("It begins", "busy")])
    _, _, err = run("ask", "Well?")
    assert "broken off: nothing of the answer is kept; --thread NAME keeps" in err
    assert "kept in the thread" not in err

    _, _, err = run("ask", "-t", "t", "Well?")
    assert "broken off: what had arrived of the answer is kept in the thread" in err


def test_an_empty_answer_is_told_and_is_no_success(run: Run, talk: Talk) -> None:
    talk([Says("")])
    code, out, err = run("ask", "-q", "Well?")

    assert (code, out.strip()) == (1, "")
    assert err == "warning: the model ended without a word\n"


def test_json_has_the_answer_without_the_mark_of_a_thread(run: Run, talk: Talk) -> None:
    talk([Fails("It begins", "busy")])
    told = json.loads(run("ask", "--json", "-t", "t", "Well?")[1])

    assert (told["answer"], told["stop"]) == ("It begins", "failed")
    assert "busy" in told["error"]


def test_calls_of_tools_are_shown_and_can_be_left_out(run: Run, talk: Talk, provider: str) -> None:
    call = ToolCall("c1", "read_file", '{"path": "a.py"}')
    server = talk([Says("Let me see.", [call]), Says("A number.")], provider)
    code, out, err = run("ask", "What is in a.py?")

    assert (code, out) == (0, "Let me see.\nA number.\n")
    assert "[read_file path=a.py: " in err
    assert "a = 1" in sent(server.asked[1])
    run("ask", "--no-tools", "What is in a.py?")
    assert "tools" not in server.asked[2]


def test_a_tool_that_writes_is_refused_where_nobody_can_be_asked(run: Run, talk: Talk) -> None:
    fact = json.dumps({"type": "user", "title": "Tea", "content": "Likes tea."})
    call = ToolCall("c1", "write_memory", fact)
    talk([Says("", [call]), Says("Noted."), Says("", [call]), Says("Noted.")])
    _, _, err = run("ask", "Remember that.")

    assert "cannot be asked here" in err
    assert run("memory", "list")[0] == 1
    run("ask", "--yes", "Remember that.")
    assert "Tea" in run("memory", "list")[1]


def test_without_a_thread_the_notes_are_those_of_main_if_each_thread_has_its_own(
    run: Run, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTUARY_MEMORY_FOLDER", "{thread}")
    fact = json.dumps({"type": "user", "title": "Tea", "content": "Likes tea."})
    found = ToolCall("c2", "search_recall_memories", '{"query": "tea"}')
    server = talk([Says("", [ToolCall("c1", "write_memory", fact)]), Says("Noted."), Says("", [found]), Says("Tea.")])
    run("ask", "--yes", "Remember that.")
    assert "Tea" in run("memory", "list")[1]

    run("ask", "What do I like?")
    assert "Likes tea." in sent(server.asked[-1])


@pytest.mark.parametrize(
    ("reply", "told", "kept"),
    [
        (BreaksOff("It begins, and goes"), "", f"It begins, and goes\n\n{BROKEN_OFF}"),
        (BreaksOff("It begins", reset=False), "closed the connection before the answer", f"It begins\n\n{BROKEN_OFF}"),
        (Garbles("It begins"), "malformed piece of an answer", f"It begins\n\n{BROKEN_OFF}"),
        (Fails("It begins", "overloaded"), "breaks off: overloaded", f"It begins\n\n{BROKEN_OFF}"),
        (Refuses(400, "no such model"), "HTTP status 400", None),
        (Refuses(401), "does not accept the key", None),
        (Silent(30), "2 seconds", None),
    ],
)
def test_whatever_the_service_does_the_command_says_so_and_the_thread_is_sound(
    run: Run, talk: Talk, provider: str, *, reply: Reply, told: str, kept: str | None
) -> None:
    answers: list[Reply] = [Says("First."), *([reply] * 3)]
    server = talk(lambda _: answers.pop(0) if answers else Says("Third."), provider, "")
    run("ask", "-t", "t", "One?")
    code, out, err = run("ask", "-t", "t", "Two?")

    assert code == 2
    assert err.splitlines()[-1].startswith("promptuary: ")
    assert told in err
    assert "Traceback" not in err
    if kept is not None:
        assert out.strip() == kept.partition("\n")[0]
        assert [one["content"] for one in history(run, "t")][2:] == ["Two?", kept]
    else:
        assert (out, [one["content"] for one in history(run, "t")]) == ("", ["One?", "First."])
    answers.clear()
    assert run("ask", "-t", "t", "Three?")[:2] == (0, "Third.\n")
    assert "First." in sent(server.asked[-1])


def test_a_service_that_is_busy_is_asked_again_when_it_wants_to_be(run: Run, talk: Talk, provider: str) -> None:
    server = talk([Refuses(429, "slow down", retry_after=1), Refuses(503), Says("Yes.")], provider, "")
    began = time.monotonic()

    code, out, err = run("ask", "Well?")

    assert (code, out) == (0, "Yes.\n")
    assert len(server.asked) == 3
    assert time.monotonic() - began >= 1
    assert "is rate limiting (HTTP status 429: slow down); trying again in 1 s, Ctrl-C stops\n" in err


def test_ctrl_c_ends_the_wait_for_a_busy_service_at_once(talk: Talk, tmp_path: Path) -> None:
    server = talk([Refuses(429, "slow down", retry_after=1)])
    with started(
        "-t", "t", "Well?", cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stderr is not None
        read_until(child.stderr.fileno(), b"Ctrl-C stops")
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)

    assert (child.returncode, len(server.asked)) == (130, 1)
    assert b"interrupted: nothing had arrived" in err


def test_a_service_that_is_busy_for_too_long_is_given_up(run: Run, talk: Talk) -> None:
    server = talk([Refuses(429, "come back tomorrow", retry_after=9000)])
    code, _, err = run("ask", "Well?")

    assert (code, len(server.asked)) == (2, 1)
    assert err.splitlines()[-1].endswith(
        "is rate limiting (HTTP status 429: come back tomorrow); it asks to wait 9,000 seconds."
    )


def test_a_service_that_wants_a_key_gets_the_person_told_where_to_put_one(
    run: Run, talk: Talk, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer([Refuses(401, "missing credentials")]) as server:
        url = server.openai_url if provider == "openai" else server.anthropic_url
        table = f'[models.mine]\nprovider = "{provider}"\nbase_url = "{url}"\nmodel = "gpt-4.1"\n'
        configure(f'answer_model = "mine"\n{table}')
        _, _, err = run("ask", "Well?")
        assert "requires a key, and none is configured (HTTP status 401: missing credentials)" in err
        assert 'key_env = "NAME_OF_A_VARIABLE" or keyring = true into [models.mine]' in err

    talk([Refuses(401, "expired")], provider)
    assert "(HTTP status 401: expired); check the environment variable SOME_KEY." in run("ask", "Well?")[2]
    monkeypatch.delenv("SOME_KEY")
    assert "set the environment variable SOME_KEY" in run("ask", "Well?")[2]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Says("It is", stop="length"), "the answer is cut off"),
        (Says("", stop="content_filter"), "refuses to answer"),
    ],
)
def test_an_answer_that_is_not_complete_gets_exit_code_1(run: Run, talk: Talk, reply: Reply, told: str) -> None:
    talk([reply])
    code, _, err = run("ask", "Well?")

    assert code == 1
    assert told in err


def test_a_reference_that_cannot_be_read_is_said_and_the_answer_comes_all_the_same(run: Run, talk: Talk) -> None:
    talk([Says("Yes.")])
    code, out, err = run("ask", "What is @file:b.py?")

    assert (code, out) == (1, "Yes.\n")
    assert "b.py" in err


def test_a_model_that_never_stops_calling_is_stopped(run: Run, talk: Talk) -> None:
    server = talk([Says("", [ToolCall("c1", "read_file", '{"path": "a.py"}')])])
    code, _, err = run("ask", "--max-requests", "3", "Well?")

    assert (code, len(server.asked)) == (1, 3)
    assert "--max-requests" in err


def test_without_a_model_what_would_be_sent_is_shown_and_how_to_configure_one(run: Run, tmp_path: Path) -> None:
    code, out, err = run("ask", "What is @file:a.py?")

    assert code == 1
    assert "a = 1" in out
    assert "[tool read_file]" in out
    assert err.splitlines()[-3].startswith("No model is configured")
    assert "OPENAI_API_KEY" in err.splitlines()[-2]
    assert "answer_model = " in err.splitlines()[-1]
    assert not (tmp_path / ".promptuary").exists()
    shown = json.loads(run("ask", "--json", "--no-tools", "What is @file:a.py?")[1])
    assert "a = 1" in shown["messages"][-1]["content"]
    assert shown["error"].startswith("no model is configured to answer")


def test_the_two_lines_that_it_shows_are_enough(
    run: Run, talk: Talk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, second = run("ask", "Hello")[2].splitlines()[-2:]
    server = talk([Says("Hi.")])
    monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
    variable, _, _ = first.strip().removeprefix("export ").partition("=")
    monkeypatch.setenv(variable, KEY)
    setting, _, where = second.strip().partition("#")
    path = Path(where.partition(" in ")[2].partition(";")[0])
    assert not path.is_relative_to(tmp_path)
    path.write_text(setting, encoding="utf-8")

    assert run("ask", "Hello")[:2] == (0, "Hi.\n")
    assert KEY in server.heads[-1]


def test_a_model_can_be_named_for_this_once(run: Run, talk: Talk) -> None:
    talk([Says("Mine.")], more='[models.other]\nscripted = ["The other."]\n')

    assert run("ask", "Who?")[1] == "Mine.\n"
    assert run("ask", "--model", "other", "Who?")[1] == "The other.\n"
    code, _, err = run("ask", "--model", "nobody", "Who?")
    assert code == 2
    assert "no chat model is called 'nobody'" in err


def test_a_workspace_can_neither_choose_a_model_nor_name_an_endpoint(run: Run, talk: Talk, tmp_path: Path) -> None:
    with ChatServer([Says("Give me more.")]) as evil:
        (tmp_path / "promptuary.toml").write_text(
            f'answer_model = "mine"\n[models.mine]\nbase_url = "{evil.openai_url}"\nmodel = "m"\nkey_env = "SOME_KEY"\n'
        )
        code, _, err = run("ask", "Hello")
        talk([Says("Yes.")])
        assert run("ask", "Hello")[1] == "Yes.\n"

        assert code == 1
        assert "a workspace cannot set it" in err
        assert evil.asked == []


FAILURES: Sequence[Reply] = (
    Refuses(401, f"bad key {KEY}"),
    Refuses(403, f"bad key {KEY}"),
    Refuses(400, f"bad key {KEY}"),
    Refuses(500, f"bad key {KEY}"),
    Refuses(302, f"bad key {KEY}"),
    Fails("It begins", f"bad key {KEY}"),
    BreaksOff("It begins"),
    Garbles("It begins"),
    Silent(30),
    Says("Yes."),
)


@pytest.mark.parametrize("reply", FAILURES, ids=lambda one: f"{type(one).__name__}{getattr(one, 'status', '')}")
def test_the_key_is_in_no_output_no_log_and_no_file(
    run: Run, talk: Talk, provider: str, reply: Reply, tmp_path: Path
) -> None:
    server = talk([reply], provider)
    shown = [run("ask", "--debug", "-t", "t", "Hello"), run("thread", "show", "--json", "-t", "t")]

    assert KEY in server.heads[0]
    assert KEY not in repr(shown)
    written = [one for folder in (tmp_path, Path.home()) for one in folder.rglob("*") if one.is_file()]
    assert (tmp_path / ".promptuary" / "state.db") in written
    assert [one for one in written if KEY.encode() in one.read_bytes()] == []


@contextmanager
def started(*words: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen([*PROMPTUARY, "ask", *words], **options)
    try:
        yield child
    finally:
        child.kill()
        child.wait()
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                stream.close()


def read_until(descriptor: int, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        data = os.read(descriptor, 4096)
        assert data, seen
        seen += data
    return seen


def test_ctrl_c_hangs_up_and_keeps_what_had_arrived(run: Run, talk: Talk, tmp_path: Path) -> None:
    talk([Says("It begins and goes on for very long. " * 200, pause=0.05)])
    with started(
        "-t", "t", "Well?", cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        read_until(child.stdout.fileno(), b"It begins")
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)

    assert child.returncode == 130
    assert b"interrupted: what had arrived" in err
    assert b"Traceback" not in err
    asked, answered = history(run, "t")
    assert asked["content"] == "Well?"
    assert answered["content"].startswith("It begins")
    assert answered["content"].endswith(INTERRUPTED)


@pytest.mark.parametrize("pause", [0.0, 0.05, 0.3])
def test_ctrl_c_twice_ends_it_as_once(talk: Talk, tmp_path: Path, pause: float) -> None:
    talk([Says("It begins and goes on for very long. " * 200, pause=0.05)])
    with started(
        "-t", "t", "Well?", cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        read_until(child.stdout.fileno(), b"It begins")
        child.send_signal(signal.SIGINT)
        time.sleep(pause)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)

    assert child.returncode == 130
    assert b"Traceback" not in err
    assert b"nothing had arrived" not in err


@pytest.mark.parametrize("command", ["ask", "expand"])
def test_a_question_in_a_thread_that_is_being_answered_is_refused_and_the_answer_goes_on(
    run: Run, talk: Talk, tmp_path: Path, command: str
) -> None:
    talk([Says("It begins and goes on for very long. " * 200, pause=0.05)])
    with started(
        "-t", "t", "Well?", cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        read_until(child.stdout.fileno(), b"It begins")
        code, out, err = run(command, "-t", "t", "And?")
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=20)

    assert (code, out) == (2, "")
    assert "A model is answering in thread 't', in another chat or program; wait until that is done" in err
    assert [one["role"] for one in history(run, "t")] == ["user", "assistant"]


def test_whoever_reads_no_further_ends_the_answer(run: Run, talk: Talk, tmp_path: Path) -> None:
    talk([Says("A line of the answer.\n" * 400, pause=0.1)])  # a minute of it
    with started(
        "-t", "t", "Well?", cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        read_until(child.stdout.fileno(), b"A line")
        child.stdout.close()
        assert child.wait(timeout=20) == 141
        assert child.stderr.read() == b""

    assert history(run, "t")[-1]["content"].endswith(INTERRUPTED)


def test_at_a_terminal_the_person_is_asked_before_a_tool_writes_and_sees_no_control_characters(
    run: Run, talk: Talk, tmp_path: Path
) -> None:
    fact = json.dumps({"type": "user", "title": "Tea", "content": "Likes tea.\nAnd cake."})
    talk([Says("", [ToolCall("c1", "write_memory", fact)]), Says("Noted.\x1b]0;evil\x07")])
    master, terminal = pty.openpty()
    with started("Remember that.", cwd=tmp_path, stdin=terminal, stdout=terminal, stderr=terminal) as child:
        os.close(terminal)
        shown = read_until(master, b"[y/N]")
        os.write(master, b"y\n")
        shown += read_until(master, b"tokens sent")
        assert child.wait(timeout=20) == 0
    os.close(master)

    assert (
        b"The model wants to call write_memory:\r\n  type: user\r\n  title: Tea\r\n  content: Likes tea.\r\n" in shown
    )
    assert b"    And cake.\r\nLet it? [y/N]" in shown
    assert b"\x1b]0;" not in shown
    assert "Tea" in run("memory", "list")[1]
