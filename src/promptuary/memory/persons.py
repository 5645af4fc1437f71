"""The database of the notes that follow a person: a file beside them, or rows of the person's own in PostgreSQL."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptuary.base.errors import ConfigError
from promptuary.config.settings import Settings
from promptuary.database.binding import Bound, BoundDatabase
from promptuary.database.owners import add_owner, all_owners
from promptuary.database.port import Database
from promptuary.workspace.data_folder.notes_folders import notes_below, person_notes
from promptuary.workspace.state_file import find_person, opened

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.database.tenant import TenantDatabase

STATE: Final = "state.db"
PERSONS: Final = "person"
"""The owner of the database of a person's own notes, which is in the folder of these."""


def are_in_database(settings: Settings) -> bool:
    """Return whether notes are rows of PostgreSQL. Raises ``ConfigError`` if there is none."""
    if settings.notes == "database" and not settings.database:
        raise ConfigError(
            'notes = "database" needs PostgreSQL: set database = "postgresql://USER@HOST/NAME", or notes = "files"'
        )
    return settings.notes == "database"


def persons_database(app: "App", *, create: bool) -> Bound | None:
    """Return the database of the notes that follow the principal; ``None`` if there is none, unless ``create`` is set.

    Whoever gets it closes it.
    """
    settings = app.settings
    if are_in_database(settings):
        user = app.principal.user if app.served else None
        if create and user is not None:  # so that whoever asks for all people of the workspace finds this one
            app.state().database.write(lambda own: add_owner(own, app.principal.owner))
        return opened(find_person(app.path, settings.database, settings.tenant, user), create=create)
    if not create and not (app.person_notes / STATE).exists():
        return None
    return persons_state(person_notes(app.person_notes) / STATE)


def users_in(database: Database) -> Sequence[str]:
    """Return the users of a workspace, each of whom may have notes that follow them at a server."""
    return sorted({owner.name for owner in database.read(all_owners) if owner.kind == "user"})


def find_people(root: Path, settings: Settings, database: Database) -> Iterator[tuple[str | None, "TenantDatabase"]]:
    """Yield the databases in PostgreSQL of those whose notes follow them: of the person here, and of users of a server.

    The person has no name. Each database is open until the next.
    """
    for user in (None, *users_in(database)):
        with closing(find_person(root, settings.database, settings.tenant, user)) as own:
            if own.found():
                yield user, own


def persons_state(path: Path) -> BoundDatabase:
    """Return the file with the journal of a person's own notes. Notes that are there before it may be anybody's."""
    database = BoundDatabase(path)
    if database.binding is None:
        database.bind(PERSONS, notes_below(path.parent) if database.is_unused else ())
    return database
