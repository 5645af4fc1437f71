"""Opens ``state.db`` of a workspace, if it is this person's."""

from typing import TYPE_CHECKING

from promptuary.core.errors import ConfigError
from promptuary.storage.sqlite.state import SqliteState
from promptuary.wiring.state_files.binding import check_binding
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.state_file import StateFile, adopt, has_state, state_file
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.storage.in_memory import InMemoryState


def open_state(workspace: Workspace) -> SqliteState:
    """Return the database of ``workspace``, created and bound to this person if there is none.

    Raises ``ForeignStateError`` if it belongs to somebody else.
    """
    file = state_file(workspace)
    state = SqliteState(file.path)
    check_binding(state.database, file)
    return state


def state_in_memory() -> "InMemoryState":
    """Return a database in memory, where none exists and none may be created."""
    from promptuary.storage.in_memory import InMemoryState  # noqa: PLC0415  (seldom needed)

    return InMemoryState()


def adopt_state(workspace: Workspace) -> StateFile:
    """Adopt the database of ``workspace`` as this person's own."""
    if not has_state(workspace):
        raise ConfigError("there is no database to adopt in this workspace: no thread has been used in it yet")
    file = adopt(workspace)
    state = SqliteState(file.path)
    try:
        state.database.bind(file.binding)
    finally:
        state.close()
    IndexedFoldersFile(workspace.root.path).adopt()
    return file
