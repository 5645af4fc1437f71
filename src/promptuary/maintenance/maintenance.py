"""What is stored for a workspace, as a whole: adoption, backup, restore, removal, examination."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from promptuary.base.errors import ConfigError
from promptuary.database.transfer import remove_all
from promptuary.maintenance import backup, database_migration, notes_migration
from promptuary.maintenance.backup import Server
from promptuary.maintenance.doctor import examined
from promptuary.memory.persons import find_people
from promptuary.state import adopt_state
from promptuary.threads.ledger_values import Pruned

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.maintenance.database_migration import Migration, MigrationProgress
    from promptuary.maintenance.notes_migration import NotesMigration
    from promptuary.memory.values import Examination
    from promptuary.workspace.data_folder.kept_files import KeptReport


class Maintenance:
    """Care for what is stored."""

    def __init__(self, app: App) -> None:
        self._app = app

    def adopt(self) -> None:
        """Adopt the database of the workspace as this person's own, although it came from elsewhere."""
        if self._app.settings.database:
            raise ConfigError("there is nothing to adopt: the setting database says where the threads are")
        adopt_state(self._app.workspace)

    def backup(self, path: str | Path, *, everywhere: bool, force: bool) -> KeptReport:
        """Write all stored files to one archive."""
        return backup.backup(self._app.path, Path(path), everywhere=everywhere, force=force, server=self._server())

    def restore(self, path: str | Path, *, everywhere: bool, force: bool, config: bool, dry_run: bool) -> KeptReport:
        """Restore a backup."""
        with self._app.without_state():
            return backup.restore(
                self._app.path,
                Path(path),
                everywhere=everywhere,
                force=force,
                config=config,
                dry_run=dry_run,
                server=self._server(),
            )

    def migrate(
        self, source: str, target: str, *, force: bool, dry_run: bool, progress: MigrationProgress | None
    ) -> Migration:
        """Copy everything in the database of the workspace to another one."""
        with self._app.without_state():
            return database_migration.migrate(
                self._app.workspace,
                self._app.settings,
                source,
                target,
                force=force,
                dry_run=dry_run,
                progress=progress or (lambda *_: None),
            )

    def migrate_notes(self, target: str, *, dry_run: bool) -> NotesMigration:
        """Move the notes into the database, or into folders."""
        app = self._app
        with app.without_state():
            return notes_migration.move_notes(app.workspace, app.settings, target, dry_run=dry_run)

    def _server(self) -> Server | None:
        settings = self._app.settings
        if not settings.database:
            return None
        return Server(settings.database, settings.tenant, self._app.path, has_notes=settings.notes == "database")

    def purge(self, *, everywhere: bool, models: bool, dry_run: bool) -> KeptReport:
        """Remove all stored files, and what the workspace has in a database elsewhere."""
        if self._app.settings.database and not dry_run and (state := self._app.state(create=False)).persistent:
            if everywhere and self._app.settings.notes == "database":
                for _, own in find_people(self._app.path, self._app.settings, state.database):
                    remove_all(own)
            remove_all(state.database)
        with self._app.without_state():
            return backup.purge(self._app.path, everywhere=everywhere, models=models, dry_run=dry_run)

    def purge_recorded(self, days: float | None, *, dry_run: bool) -> Pruned:
        """Remove recorded conversations that are older than ``days``, by default than the setting says."""
        after = self._app.settings.recorded_days if days is None else days
        if days is None and not after:
            return Pruned()
        before = datetime.now(UTC) - timedelta(days=after)
        return self._app.state(create=False).prune_recorded(before.strftime("%Y-%m-%dT%H:%M:%S"), dry_run=dry_run)

    def examine(self, *, fix: bool = False) -> Examination:
        """Check the database and the notes, and return the problems; ``fix`` repairs what can be repaired."""
        return examined(self._app, fix=fix)
