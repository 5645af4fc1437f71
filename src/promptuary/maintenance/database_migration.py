"""Migrates the state of a workspace to another database: from its file to PostgreSQL, back, or to another server.

The source is locked while it is copied, and hashed again afterwards: it is never changed, and if somebody wrote it in
spite of the lock, the copy is not used. Files of notes stay where they are (see ``notes_migration``); indexes are made
again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.errors import ConfigError, DatabaseUnavailableError, PromptuaryError, SourceInUseError
from promptuary.config.settings import Settings, setting_value
from promptuary.database.binding import Bound
from promptuary.database.transfer import Copy, Digests, TargetState, count_rows, digests, target_state
from promptuary.memory.persons import find_people
from promptuary.memory.store.rows import spaces
from promptuary.workspace.state_file import has_state, open_database, open_target
from promptuary.workspace.workspace import Workspace

FILE: Final = "sqlite"
"""What a person writes for the file of the workspace."""

_PASSES: Final = 3
"""Rows are copied, compared in the target, and compared in the source."""

MigrationProgress = Callable[[int, int], object]
"""Gets how many rows are done, and how many there are. It may raise an error to stop the migration."""


class MigratedTable(Struct, frozen=True):
    """A table that has rows: how many, and the hash of all of them."""

    name: str
    rows: int
    hash: str


class Migration(Struct, frozen=True):
    """What was copied, or would be; ``database`` is the value of that setting with which the target is used."""

    source: str
    target: str
    state: TargetState
    rows: int
    done: bool
    database: str
    tables: Sequence[MigratedTable] = ()


def migrate(
    workspace: Workspace,
    settings: Settings,
    source: str,
    target: str,
    *,
    force: bool,
    dry_run: bool,
    progress: MigrationProgress,
) -> Migration:
    """Copy all rows of ``workspace`` from one database to another, or continue to; either is "sqlite" or an address.

    What another database has there is replaced only with ``force``; otherwise nothing is done. Raises
    ``SourceInUseError`` if the source is being written.
    """
    address, other = _address(source, "--from"), _address(target, "--to")
    if address == other:
        raise ConfigError("--from and --to name the same database; name two")
    with ExitStack() as opened:
        own = open_database(workspace, address, settings.tenant, create=False)
        if own is None:
            raise PromptuaryError("nothing of this workspace is stored in the database that --from names")
        opened.callback(own.close)
        people = find_people(workspace.root.path, replace(settings, database=address), own) if address else ()
        if any(spaces(persons) for _, persons in people):
            raise ConfigError(
                "notes that follow people are in that database, too, and would be left behind; run `promptuary migrate "
                "--notes files` first"
            )
        rows = own.read(count_rows)
        if dry_run and not other and not has_state(workspace):
            return Migration(own.name, "a new file", "new", rows, done=False, database=other)
        into, binding = open_target(workspace, other, settings.tenant)
        opened.callback(into.close)
        state = target_state(own, into)
        plan = Migration(own.name, into.name, state, rows, done=state == "same", database=other)
        if dry_run or state == "same" or (state == "replaced" and not force):
            return plan
        copied = copy_locked(own, into, binding, is_replaced=force, progress=progress)
        if state == "replaced":
            into.purge()
    tables = [MigratedTable(name, one.rows, one.hash) for name, one in copied.items() if one.rows]
    return replace(plan, rows=sum(one.rows for one in tables), done=True, tables=tables)


def copy_locked(
    source: Bound, target: Bound, binding: str, *, is_replaced: bool, progress: MigrationProgress
) -> Digests:
    """Copy everything while nobody else writes the source, and bind the target. ``is_replaced``: whatever it has."""
    done, total = 0, _PASSES * source.read(count_rows)

    def on_rows(count: int) -> None:
        nonlocal done
        done += count
        source.write(lambda own: own.execute("SELECT 1"))  # PostgreSQL ends transactions in which nothing happens
        progress(min(done, total), total)

    with locked(source):
        copy = Copy(source, target, on_rows)
        copied = copy.run(replace=is_replaced)
        if source.read(lambda own: digests(own, on_rows)) != copied:
            raise _in_use(f"{source.name} was written while it was being migrated, so the copy is not used.")
        copy.finish(binding)
    return copied


@contextmanager
def locked(source: Bound) -> Iterator[None]:
    """Keep all who write the database waiting. Raises ``SourceInUseError`` if one of them does not end."""
    with ExitStack() as held:
        try:
            held.enter_context(source.transaction())
            source.write(lambda own: own.hold(None))
        except DatabaseUnavailableError:
            raise
        except PromptuaryError as error:
            raise _in_use(str(error)) from error
        yield


def _in_use(what: str) -> SourceInUseError:
    return SourceInUseError(f"{what} Stop the programs that use this workspace, and run the same command again.")


def _address(given: str, flag: str) -> str:
    """Return the setting ``database`` with which a database is used."""
    return "" if given == FILE else str(setting_value("database", given, flag))
