"""``promptuary chat`` as a person uses it: in a pseudo-terminal, against a service on loopback."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from promptuary.base.messages import ToolCall
from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import BreaksOff, Fails, Garbles, Refuses, Reply, Says, Silent
from tests.interaction.chat.chats import Begin, said, turns
from tests.interaction.pseudo_terminal import PseudoTerminal
from tests.tool_server import Server


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_reference_is_chosen_sent_answered_explained_and_resumed(begin: Begin, project: Path, wire: str) -> None:
    chat = begin(Says("It returns one.", usage=(120, 7, 20)), wire=wire, columns=140)
    chat.press("What does @fi")
    chat.expect("src/first.py")
    chat.press("\t\t\r")  # the second row, behind @file:; no message is sent yet
    chat.expect("❯ What does @src/first.py")
    chat.press("do?")
    chat.expect("@ 5")  # the meter counts it before anything is sent
    chat.press("\r")

    chat.expect("[@ context: ")
    chat.expect("It returns one.")
    chat.expect("120 read (20 from the cache) and 7 written")
    chat.press("/why\r")
    shown = chat.expect("free 123,")
    assert "turn 1 (finished): What does @src/first.py do?" in shown
    assert "references" in shown
    chat.press("/quit\r")
    assert chat.ended() == 0

    again = begin(arguments=("--thread", "main"))
    again.expect("❯ What does @src/first.py do?")
    again.expect("It returns one.")
    again.press("\x04")
    assert again.ended() == 0
    assert turns(project) == [("What does @src/first.py do?", "finished")]


def test_ctrl_c_stops_the_answer_and_not_the_program(begin: Begin, project: Path) -> None:
    chat = begin(Says("word " * 400, pause=0.05), Says("Short."))
    chat.press("Tell me all\r")
    chat.expect("word word word")
    chat.interrupt()
    chat.expect("interrupted: what had arrived of the answer is kept")
    chat.press("And now?\r")
    chat.expect("Short.")
    chat.press("\x04")

    assert chat.ended() == 0
    first, partly, second, last = said(project)
    assert (first, second, last) == ("Tell me all", "And now?", "Short.")
    assert partly.startswith("word word")
    assert partly.endswith("[interrupted]")


def test_an_answer_that_never_comes_can_be_interrupted_and_the_message_is_not_lost(begin: Begin) -> None:
    chat = begin(Silent(9), Says("Here I am."))
    chat.press("Hello?\r")
    chat.expect("fake … ")
    chat.expect(" s, Ctrl-C stops")
    chat.interrupt()
    chat.expect("interrupted: nothing had arrived")
    chat.expect("❯ Hello?", count=2)  # it waits in the prompt
    chat.press("\r")
    chat.expect("Here I am.")


def test_a_wait_for_a_busy_service_is_told_and_can_be_stopped(begin: Begin, project: Path) -> None:
    chat = begin(Refuses(429, "slow down", retry_after=30), Says("At last."), columns=140)
    chat.press("Hello?\r")
    chat.expect("is rate limiting (HTTP status 429: slow down); trying again in 30 s, Ctrl-C stops")
    chat.interrupt()
    chat.expect("❯ Hello?", count=2)  # it waits in the prompt
    chat.press("\r")
    chat.expect("At last.")
    chat.press("\x04")

    assert chat.ended() == 0
    assert said(project) == ["Hello?", "At last."]


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        (Refuses(401, "wrong key"), "401"),
        (Refuses(429, "slow down", retry_after=0), "429"),
        (Refuses(500, "oops"), "500"),
        (Garbles(), "malformed"),
        (BreaksOff(), "closed the connection early"),
        (Fails(message="overloaded today"), "overloaded today"),
    ],
)
def test_a_failure_ends_in_a_clear_line_and_the_message_waits_in_the_prompt(
    begin: Begin, project: Path, reply: Reply, line: str
) -> None:
    chat = begin(reply)
    chat.press("Hello there\r")
    chat.expect("❯ Hello there", count=2)
    assert line in chat.everything
    assert "Traceback" not in chat.everything
    chat.press("\x03\x04")

    assert chat.ended() == 0
    assert said(project) == []


@pytest.mark.parametrize("reply", [BreaksOff("Some of it "), Garbles("Some of it "), Fails("Some of it ")])
def test_what_had_arrived_before_a_failure_is_kept(begin: Begin, project: Path, reply: Reply) -> None:
    chat = begin(reply, Says("All of it."))
    chat.press("Hello there\r")
    chat.expect("what had arrived of the answer is kept")
    chat.press("Again\r")
    chat.expect("All of it.")
    chat.press("\x04")

    assert chat.ended() == 0
    question, partly, again, answer = said(project)
    assert (question, again, answer) == ("Hello there", "Again", "All of it.")
    assert partly == "Some of it\n\n[broken off]"


def test_each_call_of_a_tool_is_shown_and_writing_needs_consent(begin: Begin, project: Path) -> None:
    read = ToolCall("1", "read_file", '{"path": "docs/style.md"}')
    write = ToolCall("2", "write_memory", '{"content": "We deploy on Mondays.", "title": "Deploys", "type": "project"}')
    chat = begin(
        Says("I look.", calls=[read]), Says(calls=[write]), Says("Not noted."), Says(calls=[write]), Says("Noted.")
    )
    chat.press("Look and note\r")
    chat.expect("→ read_file path=docs/style.md")
    chat.expect("Let it? [y/N]")
    chat.press("n\r")
    chat.expect("Not noted.")
    chat.press("Then note it\r")
    chat.expect("Let it? [y/N]", count=2)
    chat.press("y\r")
    chat.expect("Noted.")
    chat.press("\x04")

    assert chat.ended() == 0
    with Promptuary.open(project, exact=True) as promptuary:
        assert [note.title for note in promptuary.memory.list().headers] == ["Deploys"]


def test_ctrl_c_at_the_question_stops_the_answer_and_the_model_is_told_nothing(begin: Begin, project: Path) -> None:
    write = ToolCall("2", "write_memory", '{"content": "One.\\nTwo.", "title": "Deploys", "type": "project"}')
    chat = begin(Says(calls=[write]), Says("Not noted."))
    chat.press("Note it\r")
    shown = chat.expect("Let it? [y/N]")
    assert "The model wants to call write_memory:\n  content: One.\n    Two.\n  title: Deploys" in shown
    chat.interrupt()
    shown = chat.expect("interrupted: what had arrived of the answer is kept")
    assert "declined" not in shown
    chat.expect("; turn 1; ")
    chat.press("\x04")

    assert chat.ended() == 0
    assert [status for _, status in turns(project)] == ["finished"]
    assert said(project)[2:] == ["not called: the answer was interrupted", "[interrupted]"]


def test_a_long_paste_is_folded_sent_whole_and_never_scanned(begin: Begin, project: Path) -> None:
    pasted = "\n".join(f"line {number} mentions @src/first.py" for number in range(120))
    chat = begin(Says("Long."))
    chat.press("Explain ")
    chat.paste(pasted)
    chat.expect("❯ Explain [Pasted text #1, 120 lines]")
    chat.press("\r")
    chat.expect("Long.")
    chat.press("\x04")

    assert chat.ended() == 0
    assert "tokens injected" not in chat.everything
    assert said(project)[0] == f"Explain {pasted}"


def test_a_message_may_have_several_lines(begin: Begin, project: Path) -> None:
    chat = begin(Says("Yes."))
    chat.press("one")
    chat.press("\x1b\r")
    chat.press("two")
    chat.press("\x0a")
    chat.press("three\r")
    chat.expect("Yes.")
    chat.press("\x04")

    assert chat.ended() == 0
    assert said(project)[0] == "one\ntwo\nthree"


def test_what_was_typed_before_is_found_again_in_the_next_chat(begin: Begin) -> None:
    chat = begin(Says("Yes."))
    chat.press("a very special question\r\x04")  # the end is typed before the answer is there
    assert chat.ended() == 0
    assert "Yes." in chat.everything

    again = begin()
    again.press("\x12special")
    again.expect("a very special question", count=2)


def test_commands_act_on_the_thread_and_slips_are_never_sent(begin: Begin, project: Path) -> None:
    chat = begin(Says("Yes."))
    chat.press("/contxt add docs/style.md\r")
    chat.expect("did you mean /context add docs/style.md?")
    chat.press("/why 7\r")
    chat.expect("there is no turn 7 of thread main; no thread has been used yet")
    assert "NOT_FOUND" not in chat.everything
    chat.press("/context add docs/style.md @folder:src\r")
    chat.expect("@folder:src    with the next message")
    chat.expect("history: 0 messages")
    chat.expect("@ 97 of")  # the meter counts what waits
    chat.press("See #nope.md\r")
    chat.expect("+ @folder:src")
    chat.expect("+ #docs/style.md")
    chat.expect("warning: #nope.md: there is no such file")
    chat.expect("Yes.")
    chat.press("/undo\r")
    chat.expect("@folder:src goes with the next message again")
    chat.expect("nope.md is no longer in view")
    chat.press("\x03")
    chat.press("/thread other\r")
    chat.expect("thread other begins")
    chat.press("/model other\r")
    chat.expect("other answers from now on")
    chat.press("Who are you?\r")
    chat.expect("I am the other one.")
    chat.press("/undo\r")
    chat.expect("turn 1 is taken back: Who are you?")
    chat.expect("❯ Who are you?", count=2)
    chat.press("\x03")
    chat.press("/help\r")
    chat.expect("Alt-Enter")
    chat.press("\x04")

    assert chat.ended() == 0
    assert turns(project, "other") == [("Who are you?", "undone")]
    assert turns(project) == [("See #nope.md", "undone")]


def test_a_command_that_takes_long_says_so_and_can_be_left(begin: Begin, project: Path) -> None:
    long = [Says("A long answer.\n" * 150 + f"End {number}.") for number in range(4)]
    chat = begin(*long, Silent(15), Says("Still here."), environment={"PROMPTUARY_SUMMARY_MODEL": "fake"})
    for number in range(4):
        chat.press("Hello\r")
        chat.expect(f"End {number}.")
        chat.expect(f"turn {number + 1};")
    chat.press("/compact\r")
    chat.expect("/compact … ")
    chat.expect(" s, Ctrl-C stops")
    chat.interrupt()
    chat.expect("interrupted: what /compact had begun")
    chat.press("Well?\r")
    chat.expect("Still here.")
    chat.press("\x04")

    assert chat.ended() == 0
    assert len(said(project)) == 10


def test_without_a_model_it_shows_what_would_be_sent_and_how_to_configure_one(begin: Begin, project: Path) -> None:
    chat = begin()
    assert "no model" in chat.shown
    chat.press("Look at @src/first.py\r")
    chat.expect("No model is configured")
    assert "def first() -> int:" in chat.everything
    chat.expect("answer_model = ")
    assert "[tool read_file]" in chat.everything
    chat.press("/why\r")
    chat.expect("not sent, because there is no model: Look at @src/first.py")
    chat.expect("free 12")
    chat.press("\x04")

    assert chat.ended() == 0
    assert turns(project) == []


def test_an_answer_cannot_control_the_terminal(begin: Begin) -> None:
    chat = begin(Says("Before \x1b]0;owned\x07\x1b[2J after \u202e."))
    chat.press("Hello\r")
    chat.expect("after ⟨U+202E⟩.")

    written = "".join(chat.bytes)
    assert "\x1b]0;owned" not in written
    assert "⟨U+001B⟩]0;owned⟨U+0007⟩" in written


def test_a_chat_that_is_told_to_end_keeps_what_had_arrived(begin: Begin, project: Path) -> None:
    chat = begin(Says("word " * 400, pause=0.05))
    chat.press("Tell me all\r")
    chat.expect("word word word")
    chat.child.kill(signal.SIGTERM)
    chat.ended()

    assert said(project)[0] == "Tell me all"
    assert said(project)[1].endswith("[interrupted]")


def test_without_a_terminal_it_points_to_ask(project: Path) -> None:
    command = [sys.executable, "-m", "promptuary", "chat"]
    done = subprocess.run(command, cwd=project, input="Hello\n", capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert "promptuary ask" in done.stderr


def test_without_the_extra_it_says_how_to_install_it(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "prompt_toolkit.py").write_text("raise ModuleNotFoundError('no', name='prompt_toolkit')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(hidden), os.environ["PYTHONPATH"]]))
    with PseudoTerminal(["chat"], folder=project, environment={}) as chat:
        assert chat.ended() == 2
    assert "-m pip install 'prompt-toolkit" in chat.everything.replace("\n", "")


def test_a_name_that_no_thread_can_have_is_refused_before_anything_is_asked(begin: Begin) -> None:
    chat = begin(arguments=("--thread", "x" * 300), ready="'xxxxxxxxxxxxxxxxxxxx…' cannot name a thread")

    assert chat.ended() == 2


def test_a_tool_of_another_server_is_asked_about_until_the_person_says_always(
    begin: Begin, project: Path, tmp_path: Path
) -> None:
    server = Server(tmp_path / "script.json").says()
    call = ToolCall("1", "docs__look", "{}")
    configured = (
        f"[mcp.docs]\ncommand = {json.dumps(server.table['command'])}\nargs = {json.dumps(server.table['args'])}\n"
    )
    replies = [Says(calls=[call]), Says("One."), Says(calls=[call]), Says("Two."), Says(calls=[call]), Says("Three.")]
    chat = begin(*replies, more=configured)
    chat.press("Look\r")
    assert "It is of the MCP server docs: " in chat.expect("a: always this tool]")
    chat.press("n\r")
    chat.expect("One.")
    chat.press("Look again\r")
    chat.expect("a: always this tool]", count=2)
    chat.press("a\r")
    chat.expect("Two.")
    chat.press("And again\r")
    chat.expect("Three.")
    chat.press("\x04")

    assert chat.ended() == 0
    assert len(server.calls()) == 2


def test_a_prompt_of_the_folder_is_shown_agreed_to_completed_and_sent(begin: Begin, project: Path) -> None:
    (project / ".claude/commands").mkdir(parents=True)
    (project / ".claude/commands/deploy.md").write_text("Deploy $1 as @docs/style.md says.", encoding="utf-8")
    own = Path(os.environ["HOME"], ".config/promptuary/prompts")
    own.mkdir(parents=True)
    (own / "weigh.md").write_text("---\nmodel: other\n---\nWeigh {{what}}.", encoding="utf-8")
    chat = begin(Says("Deployed."), columns=140)
    chat.press("/deploy now\r")
    chat.expect("Deploy $1 as @docs/style.md says.")
    chat.expect("Use it from now on, as it is? [y/N]")
    chat.press("n\r")
    chat.expect(".claude/commands/deploy.md is not used")
    chat.press("/deploy now\r")
    chat.expect("Use it from now on, as it is? [y/N]", count=2)
    chat.press("y\r")
    chat.expect("[@ context: ")
    chat.expect("Deployed.")
    chat.press("/weigh\r")
    chat.expect("weigh needs what: write --what VALUE after it")
    chat.press("/weigh --w")
    chat.expect("--what\n")  # in the menu
    chat.press("\t\rit\r")
    chat.expect("I am the other one.")
    chat.press("/dploy\r")
    chat.expect("there is no command /dploy; did you mean /deploy?")
    chat.press("/prompts\r")
    chat.expect("/weigh --what VALUE")
    chat.press("\x04")

    assert chat.ended() == 0
    assert turns(project) == [("Deploy now as @docs/style.md says.", "finished"), ("Weigh it.", "finished")]
