"""Opens ``state.db`` of a workspace, if it is this person's."""

from collections.abc import Callable

from promptuary.core.errors import ForeignStateError
from promptuary.storage.sqlite.state import SqliteState
from promptuary.workspace.state_file import StateFile, adopt, state_file
from promptuary.workspace.workspace import Workspace


def open_state(workspace: Workspace, on_note: Callable[[str], object]) -> SqliteState:
    """Return the database of ``workspace``, created and bound to this person if there is none.

    Raises ``ForeignStateError`` if it is somebody else's. One that was made before databases were bound is bound now,
    and ``on_note`` is called with a sentence for the person.
    """
    file = state_file(workspace)
    state = SqliteState(file.path)
    bound = state.binding
    if bound is None:
        state.bind(file.binding)
        if file.exists:
            on_note(f"{state.name} was made by an earlier version; from now on it belongs to you, in this folder")
    elif bound != file.binding:
        state.close()
        raise ForeignStateError(
            f"{state.name} is not used: it was made by somebody else, or in another folder. If it is yours (the folder "
            "was moved, or your home is new), run `promptuary adopt`; otherwise remove it."
        )
    return state


def adopt_state(workspace: Workspace) -> StateFile:
    """Take the database of ``workspace`` for this person's own from now on."""
    file = adopt(workspace)
    state = SqliteState(file.path)
    try:
        state.bind(file.binding)
    finally:
        state.close()
    return file
