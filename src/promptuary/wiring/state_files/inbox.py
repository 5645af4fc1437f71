"""Opens the storage of chat gateways: received messages, and a workspace for chats without one."""

from pathlib import Path

from promptuary.core.ports.inbox import InboxStore
from promptuary.storage.sqlite.threads.inbox import SqliteInbox
from promptuary.workspace.user_folders import made, state_folder


def open_inbox() -> InboxStore:
    """Return the store of received messages, in the person's own folder for state."""
    return SqliteInbox(made(state_folder() / "gateways") / "inbox.db")


def empty_place() -> Path:
    """Return the folder that serves as the workspace of chats without one: it belongs to the person and stays empty."""
    return made(state_folder() / "gateways" / "no_workspace")
