"""The stored files of a workspace: adoption, backup, restore and removal."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from promptuary.core.ledger import KeptReport
from promptuary.workspace.workspace import Workspace


class KeptFiles:
    """The stored files of ``workspace``. ``without_state`` closes its database while it is replaced in the block."""

    def __init__(self, workspace: Workspace, without_state: Callable[[], AbstractContextManager[None]]) -> None:
        self._workspace, self._without_state = workspace, without_state

    def adopt(self) -> None:
        """Adopt the database of the workspace as this person's own, although it came from elsewhere."""
        from promptuary.storage.workspace_state import adopt_state  # noqa: PLC0415  (seldom needed)

        adopt_state(self._workspace)

    def backup(self, path: str | Path, *, everywhere: bool, force: bool) -> KeptReport:
        """Write all stored files to one archive."""
        from promptuary.wiring.state_files.backup import backup  # noqa: PLC0415  (seldom needed)

        return backup(self._workspace.root.path, Path(path), everywhere=everywhere, force=force)

    def restore(self, path: str | Path, *, everywhere: bool, force: bool, config: bool, dry_run: bool) -> KeptReport:
        """Restore a backup."""
        from promptuary.wiring.state_files.backup import restore  # noqa: PLC0415  (seldom needed)

        with self._without_state():
            home = self._workspace.root.path
            return restore(home, Path(path), everywhere=everywhere, force=force, config=config, dry_run=dry_run)

    def purge(self, *, everywhere: bool, models: bool, dry_run: bool) -> KeptReport:
        """Remove all stored files."""
        from promptuary.wiring.state_files.backup import purge  # noqa: PLC0415  (seldom needed)

        with self._without_state():
            return purge(self._workspace.root.path, everywhere=everywhere, models=models, dry_run=dry_run)
