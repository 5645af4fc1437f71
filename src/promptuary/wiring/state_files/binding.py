"""Compares the binding of a state database with that of the workspace: a foreign database is not used.

Separate from ``state``, which imports everything about threads: a search needs only the vectors of the database.
"""

from promptuary.core.errors import ForeignStateError
from promptuary.storage.sqlite.database import BoundDatabase
from promptuary.workspace.state_file import StateFile


def check_binding(database: BoundDatabase, file: StateFile) -> str:
    """Bind ``database``, which was opened from ``file``, to this person if it is not bound yet.

    Returns a sentence for the person if it was made before databases were bound, else an empty text. Closes it and
    raises ``ForeignStateError`` if it belongs to somebody else.
    """
    bound = database.binding
    if bound == file.binding:
        return ""
    if bound is None:
        database.bind(file.binding)
        made_before = f"{database.name} was made by an earlier version; from now on it belongs to you, in this folder"
        return made_before if file.exists else ""
    database.close()
    raise ForeignStateError(
        f"{database.name} is not used: it was made by somebody else, or in another folder. If it is yours (the folder "
        "was moved, or your home is new), run `promptuary adopt`; otherwise remove it."
    )
