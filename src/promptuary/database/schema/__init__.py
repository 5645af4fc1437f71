"""The schemas of ``state.db``, ``inbox.db`` and ``server.db``, by steps: a change of the tables adds a step at the end.

Every key begins with the tenant, then the owner where a row has one (0 is everybody of the workspace); ``1_owners.sql``
says why. Rows refer to each other by these keys and by ids and hashes of ours, never by row numbers of the database.
"""

from typing import Final

from promptuary.database.queries import script

STATE: Final = (
    (
        "1_owners.sql",
        "1_leases.sql",
        "1_changes.sql",
        "1_contents.sql",
        "1_threads.sql",
        "1_sources.sql",
        "1_states.sql",
        "1_vectors.sql",
        "1_notes.sql",
        "1_writeback.sql",
        "1_experiences.sql",
        "1_sessions.sql",
    ),
    ("2_changes.sql",),
    ("3_notes.sql",),
)
"""The files of each step of ``state.db``."""

INBOX: Final = (("inbox_1.sql",),)
"""The files of each step of the inbox."""

SERVER: Final = (("server_1.sql",), ("server_2.sql",), ("server_3.sql",))
"""The files of each step of ``server.db``."""


def postgres_steps() -> list[str]:
    """Return the script of each step of ``STATE`` with what only PostgreSQL needs."""
    first, second, notes = steps(STATE)
    own = [script(__name__, f"postgres_{number}.sql") for number in range(1, 7)]
    # The third, and those from the fifth on, are search in the database; a file of the state has no use for it: its
    # index is a folder.
    return [f"{first}\n{own[0]}", f"{second}\n{own[1]}", own[2], f"{notes}\n{own[3]}", *own[4:]]


def steps(files: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return the script of each step."""
    return ["\n".join(script(__name__, file) for file in step) for step in files]
