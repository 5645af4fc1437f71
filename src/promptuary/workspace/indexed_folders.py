"""The folders that a person had indexed for a workspace, kept outside of it.

A workspace may come from a stranger: what lies in it must not be able to name other folders of this machine to be read.
So the list is in the person's own state folder, one small file a workspace, replaced as a whole under a lock.
"""

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from promptuary.core.errors import ConfigError
from promptuary.core.search import Folder
from promptuary.workspace.user_folders import state_folder

_MAX_FILE: Final = 1 << 20


class Folders:
    """The indexed folders of the workspace at ``workspace``, in the order in which they were added."""

    def __init__(self, workspace: Path, *, folder: Path | None = None) -> None:
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]
        self._file = (folder or state_folder() / "folders") / f"{name}.json"

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
            raise self._unreadable() from None
        if not isinstance(found, list):
            raise self._unreadable()
        return [self._folder(one) for one in found]

    def add(self, folder: Folder) -> None:
        """Keep a folder, or change its label."""
        with self._changing():
            others = [one for one in self.all() if one.path != folder.path]
            self._write([*others, folder])

    def remove(self, path: str) -> bool:
        """Forget a folder; tell whether it was known."""
        with self._changing():
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
                raise self._unreadable()

    def _unreadable(self) -> ConfigError:
        return ConfigError(f"{self._file} is not a list of folders; remove it, and index your folders again.")

    @contextmanager
    def _changing(self) -> Iterator[None]:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._file.with_suffix(".lock").open("wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as error:
            raise ConfigError(
                f"{self._file.parent} cannot be written ({error.strerror}); the folders to index are kept there."
            ) from error

    def _write(self, folders: Sequence[Folder]) -> None:
        content = json.dumps([{"path": one.path, "label": one.label} for one in folders], indent=1)
        descriptor, temporary = tempfile.mkstemp(dir=self._file.parent, prefix=self._file.stem)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(opened.fileno())
            Path(temporary).replace(self._file)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
