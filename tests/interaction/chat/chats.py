"""What tests of the chat share: how one is configured and started, and what is in its threads afterwards."""

import os
from collections.abc import Callable
from pathlib import Path

from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import ChatServer
from tests.interaction.pseudo_terminal import PseudoTerminal

READY = "┼"
"""A mark of the meter in the toolbar: the prompt takes keys now."""

Begin = Callable[..., PseudoTerminal]


def configure(server: ChatServer, wire: str = "openai", more: str = "") -> None:
    folder = Path(os.environ["HOME"], ".config/promptuary")
    folder.mkdir(parents=True, exist_ok=True)
    url = server.openai_url if wire == "openai" else server.anthropic_url
    (folder / "config.toml").write_text(
        f'answer_model = "fake"\n[models.fake]\nprovider = "{wire}"\nbase_url = "{url}"\nmodel = "gpt-4o"\n'
        '[models.other]\nscripted = ["I am the other one."]\n'
        '[models.small]\nscripted = ["I am small."]\nwindow = 8000\n'
        '[models.large]\nprovider = "anthropic"\nmodel = "claude-sonnet-4-5"\n'
        f"{more}",
        encoding="utf-8",
    )


def turns(project: Path, thread: str = "main") -> list[tuple[str, str]]:
    with Promptuary.open(project, exact=True) as promptuary:
        return [(turn.text, turn.status) for turn in promptuary.threads.turns(thread=thread)]


def said(project: Path, thread: str = "main") -> list[str]:
    with Promptuary.open(project, exact=True) as promptuary:
        return [item.words for item in promptuary.threads.history(thread=thread)]
