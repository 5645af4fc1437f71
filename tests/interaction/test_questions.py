"""Every question of the command line, at a real terminal: what was typed before it is shown is no answer to it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.base.messages import ToolCall
from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import ChatServer, Says
from tests.interaction.pseudo_terminal import PseudoTerminal

PEAR = ToolCall("c1", "write_memory", '{"title": "Pear", "content": "The pear is ripe in May.", "type": "project"}')


def note(p: Promptuary) -> list[str]:
    return ["memory", "forget", p.memory.write("The plum is ripe in August.").header.id]


def experience(p: Promptuary) -> list[str]:
    return ["experience", "forget", p.experiences.add("task_solution", "eat a plum", "bite").id]


def thread(p: Promptuary) -> list[str]:
    p.threads.finish(p.threads.prepare("hello"), "hello")
    return ["thread", "rm", "-t", "main"]


def purge(p: Promptuary) -> list[str]:
    thread(p)
    return ["purge"]


def session(p: Promptuary) -> list[str]:
    p.sessions.create("plums")
    return ["thread", "rm", "plums"]


ASKED: dict[str, Callable[[Promptuary], list[str]]] = {
    "memory forget": note,
    "experience forget": experience,
    "thread rm": thread,
    "session rm": session,
    "purge": purge,
    "install": lambda _: ["install", "cursor"],
    "install --undo": lambda _: ["install", "cursor", "--undo"],
    "index": lambda _: ["index", str(Path.home())],
    "ask": lambda _: ["ask", "-t", "t", "Remember the pear"],
}
"""Everything that asks: what there has to be, and the command."""


def kept(workspace: Path) -> dict[str, bytes]:
    """Return the files that a consent would change."""
    every = (*workspace.rglob("*.md"), *(Path.home() / ".cursor").rglob("*"))
    return {str(path): path.read_bytes() for path in every if path.is_file()}


@pytest.mark.parametrize("name", ASKED)
def test_what_was_typed_before_a_question_does_not_answer_it(
    workspace: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        arguments = ASKED[name](p)
    with ChatServer([Says("Well.", [PEAR], pause=0.3), Says("Done.")]) as server:
        config = Path.home() / ".config" / "promptuary" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(
            'answer_model = "m"\n[models.m]\nprovider = "openai"\nmodel = "gpt-4.1"\n'
            f'base_url = "{server.openai_url}"\n'
        )
        if name == "install --undo":
            with PseudoTerminal(["install", "cursor", "--yes"], folder=workspace, environment={}) as terminal:
                assert terminal.ended() == 0
        before = kept(workspace)
        # Wide enough for a question with a long path in it.
        with PseudoTerminal(arguments, folder=workspace, environment={}, columns=300) as terminal:
            terminal.press("y\r")
            terminal.expect("[y/N]")
            terminal.press("n\r")
            code = terminal.ended()

    assert "[y/N] n" in terminal.everything
    assert code == (0 if name == "ask" else 1)
    assert kept(workspace) == before
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        assert len(p.memory.list()) == (name == "memory forget")
        assert len(p.experiences.list().experiences) == (name == "experience forget")
        assert len(p.threads.list()) == (name in {"thread rm", "purge", "ask"})
        assert len(p.sessions.list()) == (name == "session rm")
