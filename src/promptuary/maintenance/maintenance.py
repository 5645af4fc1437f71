"""What is stored for a workspace, as a whole: adoption, backup, restore, removal, examination."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from promptuary.maintenance import backup
from promptuary.maintenance.doctor import examined
from promptuary.state import adopt_state
from promptuary.threads.ledger_values import Pruned

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.memory.values import Examination
    from promptuary.workspace.data_folder.kept_files import KeptReport


class Maintenance:
    """Care for what is stored."""

    def __init__(self, app: App) -> None:
        self._app = app

    def adopt(self) -> None:
        """Adopt the database of the workspace as this person's own, although it came from elsewhere."""
        adopt_state(self._app.workspace)

    def backup(self, path: str | Path, *, everywhere: bool, force: bool) -> KeptReport:
        """Write all stored files to one archive."""
        return backup.backup(self._app.path, Path(path), everywhere=everywhere, force=force)

    def restore(self, path: str | Path, *, everywhere: bool, force: bool, config: bool, dry_run: bool) -> KeptReport:
        """Restore a backup."""
        with self._app.without_state():
            return backup.restore(
                self._app.path, Path(path), everywhere=everywhere, force=force, config=config, dry_run=dry_run
            )

    def purge(self, *, everywhere: bool, models: bool, dry_run: bool) -> KeptReport:
        """Remove all stored files."""
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
