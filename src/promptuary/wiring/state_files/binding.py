"""Compares the binding of a state database with that of the workspace: a foreign database is not used.

Separate from ``state``, which imports everything about threads: a search needs only the vectors of the database.
"""

from typing import Final

from promptuary.core.errors import ForeignStateError
from promptuary.storage.binding import BoundDatabase
from promptuary.workspace.disk.own.moved import is_signed
from promptuary.workspace.disk.own.notes_folders import notes_beside
from promptuary.workspace.state_file import StateFile

_OTHER_STATE: Final = (
    "with another XDG_STATE_HOME than this program has now: start it with the same one (an agent passes it on to its "
    "server after `promptuary install`)."
)
_ADOPT: Final = "promptuary adopt"


def check_binding(database: BoundDatabase, file: StateFile) -> None:
    """Bind ``database``, which was opened from ``file``, to this person if it is new.

    The files of notes that are there before it may have come with the folder, so they wait for the person. Closes it
    and raises ``ForeignStateError`` if it belongs to somebody else.
    """
    bound = database.binding
    if bound is None and database.is_unused:
        database.bind(file.binding, notes_beside(file.path))
        return
    if file.binding in (bound, database.binding):  # another process may have bound it just now
        return
    database.close()
    if is_signed(file.path.parent.parent):  # so the folder was not moved
        raise ForeignStateError(
            f"{database.name} is not used: it was made by somebody else, or {_OTHER_STATE} If your home is new, run "
            f"`{_ADOPT}`."
        )
    raise ForeignStateError(
        f"{database.name} is not used: it was made by somebody else, in another folder, or {_OTHER_STATE} If it is "
        f"yours (the folder was moved, or your home is new), run `{_ADOPT}`; otherwise remove it."
    )
