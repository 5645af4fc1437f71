"""The list of folders that a person has indexed for a workspace, stored outside the workspace.

A workspace may come from a stranger: no file in it may name other folders of this machine to be read. So the list is in
the person's own state folder, one small file a workspace.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from promptuary import durable
from promptuary.core.errors import ConfigError, LockTimeoutError
from promptuary.core.search import Folder
from promptuary.workspace.user_folders import state_folder, workspace_file

_MAX_FILE: Final = 1 << 20


class IndexedFoldersFile:
    """The folders that are indexed for the workspace at ``workspace``, in the order in which they were added.

    Every method raises ``ConfigError`` if the file cannot be read or written.
    """

    def __init__(self, workspace: Path, *, folder: Path | None = None) -> None:
        self._file = workspace_file(folder or state_folder() / "folders", workspace)

    def all(self) -> Sequence[Folder]:
        """Return every folder."""
        try:
            with self._file.open("rb") as opened:
                found = json.loads(opened.read(_MAX_FILE))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ConfigError(f"{self._file} cannot be read ({error.strerror}); check its permissions.") from error
        except (ValueError, RecursionError):
            raise self._malformed() from None
        if not isinstance(found, list):
            raise self._malformed()
        return [self._folder(one) for one in found]

    def add(self, folder: Folder) -> None:
        """Add a folder at the end, replacing an entry with the same path."""
        with self._locked():
            others = [one for one in self.all() if one.path != folder.path]
            self._write([*others, folder])

    def remove(self, path: str) -> bool:
        """Remove a folder from the list; return whether it was in it."""
        with self._locked():
            before = self.all()
            after = [one for one in before if one.path != path]
            if len(after) < len(before):
                self._write(after)
            return len(after) < len(before)

    def _folder(self, value: Any) -> Folder:
        match value:
            # Earlier versions called the label "owner".
            case {"path": str(path), "label": str(label)} | {"path": str(path), "owner": str(label)} if path.startswith(
                "/"
            ):
                return Folder(path, label)
            case _:
                raise self._malformed()

    def _malformed(self) -> ConfigError:
        return ConfigError(f"{self._file} is not a list of folders; remove it, and index your folders again.")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock around a change of the list."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with durable.locked(self._file.with_suffix(".lock")):
                yield
        except OSError as error:
            raise ConfigError(
                f"The list of indexed folders cannot be written ({error.strerror}); check {self._file.parent}."
            ) from error
        except LockTimeoutError as error:
            raise ConfigError(
                "Another process is changing the list of indexed folders; try again when it is done."
            ) from error

    def _write(self, folders: Sequence[Folder]) -> None:
        content = json.dumps([{"path": one.path, "label": one.label} for one in folders], indent=1)
        durable.replace(self._file, content.encode("utf-8", "surrogateescape"))
