"""Opens ``state.db`` of a workspace, if it is this person's."""

from promptuary.base.errors import ConfigError
from promptuary.database.binding import check_binding
from promptuary.database.state import StateDatabase
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.state_file import StateFile, adopt, has_state, state_file
from promptuary.workspace.workspace import Workspace


def open_state(workspace: Workspace) -> StateDatabase:
    """Return the database of ``workspace``, created and bound to this person if there is none.

    Raises ``ForeignStateError`` if it belongs to somebody else.
    """
    file = state_file(workspace)
    state = StateDatabase(file.path)
    check_binding(state.database, file)
    return state


def adopt_state(workspace: Workspace) -> StateFile:
    """Adopt the database of ``workspace`` as this person's own."""
    if not has_state(workspace):
        raise ConfigError("there is no database to adopt in this workspace: no thread has been used in it yet")
    file = adopt(workspace)
    state = StateDatabase(file.path)
    try:
        state.database.bind(file.binding)
    finally:
        state.close()
    IndexedFoldersFile(workspace.root.path).adopt()
    return file
