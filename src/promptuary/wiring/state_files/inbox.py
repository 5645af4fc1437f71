"""Opens what chat gateways keep: the messages that they received, and a place for chats without a workspace."""

from pathlib import Path

from promptuary.core.ports.inbox import InboxStore
from promptuary.storage.sqlite.threads.inbox import SqliteInbox
from promptuary.workspace.user_folders import made, state_folder


def open_inbox() -> InboxStore:
    """Return the store of received messages, in the person's own folder for state."""
    return SqliteInbox(made(state_folder() / "gateways") / "inbox.db")


def empty_place() -> Path:
    """Return the folder that is the workspace of chats without one: it is the person's, and nobody puts files there."""
    return made(state_folder() / "gateways" / "no_workspace")
