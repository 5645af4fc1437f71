"""Starts chats in a pseudo-terminal, against a service on loopback."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from promptuary.testing.chat_server import ChatServer, Reply
from tests.conftest import Files
from tests.interaction.chat.chats import READY, Begin, configure
from tests.interaction.pseudo_terminal import PseudoTerminal


@pytest.fixture
def project(files: Files) -> Path:
    return files(
        {
            "src/first.py": "def first() -> int:\n    return 1\n",
            "src/second.py": "def second() -> int:\n    return 2\n",
            "docs/style.md": "# Style\n\nBe brief.\n",
        }
    )


@pytest.fixture
def begin(project: Path) -> Iterator[Begin]:
    """Start a chat with a service that gives these replies; the service lives as long as the test."""
    with ExitStack() as stack:

        def started(
            *replies: Reply,
            arguments: tuple[str, ...] = (),
            wire: str = "openai",
            more: str = "",
            environment: Mapping[str, str] | None = None,
            ready: str = READY,
            columns: int = 100,
        ) -> PseudoTerminal:
            if replies:
                server = stack.enter_context(ChatServer(replies))
                configure(server, wire, more)
            terminal = PseudoTerminal(
                ["chat", *arguments], folder=project, environment=environment or {}, columns=columns
            )
            stack.enter_context(terminal)
            terminal.expect(ready)
            return terminal

        yield started
