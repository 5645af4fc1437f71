"""The list of folders that a person has indexed for a workspace, stored outside the workspace.

A workspace may come from a stranger: no file in it may cause other folders of this machine to be read. So the list is
in the person's own state folder, one small file per workspace. Folders inside the workspace are listed by their path in
it, and a workspace that the person moved gets the list that it had before.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from promptuary.base import durable
from promptuary.base.errors import ConfigError, LockTimeoutError, shortage
from promptuary.base.files import Folder, Stamp
from promptuary.workspace.data_folder.relocation import former_place, is_signed, sign
from promptuary.workspace.user_folders import state_folder, workspace_file

_MAX_FILE: Final = 1 << 20


class IndexedFoldersFile:
    """The folders that are indexed for the workspace at ``workspace``, in the order in which they were added.

    Every method raises ``ConfigError`` if the file cannot be read or written.
    """

    def __init__(self, workspace: Path, *, folder: Path | None = None) -> None:
        self._workspace = workspace
        self._lists = folder or state_folder() / "folders"
        self._file = workspace_file(self._lists, workspace)
        self._known: tuple[Stamp, Sequence[Folder]] | None = None

    def all(self) -> Sequence[Folder]:
        """Return the folders; the file is read again only when it was replaced."""
        stamp = self._stamp()
        if self._known is not None and self._known[0] == stamp:
            return self._known[1]
        found = self._read_list()
        if found is None:
            return self._taken_over()
        if is_signed(self._workspace):
            self._known = None if stamp is None else (stamp, found)
        elif found and former_place(self._workspace) is None:
            sign(self._workspace)  # a backup brought the list
        return found

    def _stamp(self) -> Stamp | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)

    def adopt(self) -> None:
        """Take over the list of the workspace from which the person moved or copied this one, if so."""
        former = former_place(self._workspace)
        if former is not None:
            self._take_over(former.path, inside_only=False)

    def _taken_over(self) -> Sequence[Folder]:
        """Return the list from the workspace's old path; for a copy, only the folders inside it."""
        former = former_place(self._workspace)
        return [] if former is None else self._take_over(former.path, inside_only=not former.gone)

    def _take_over(self, former: Path, *, inside_only: bool) -> Sequence[Folder]:
        theirs = IndexedFoldersFile(former, folder=self._lists)._read_list() or ()  # noqa: SLF001  (of this class)
        moved = [
            Folder(str(self._workspace / Path(folder.path).relative_to(former)), folder.label) if inside else folder
            for folder in theirs
            if (inside := Path(folder.path).is_relative_to(former)) or not inside_only
        ]
        with self._lock():
            known = {one.path: one for one in [*moved, *(self._read_list() or ())]}
            if known:
                # What a copy has not taken over yet can still be adopted.
                self._write(list(known.values()), signed=len(moved) == len(theirs))
        return list(known.values())

    def _read_list(self) -> Sequence[Folder] | None:
        try:
            with self._file.open("rb") as opened:
                found = json.loads(opened.read(_MAX_FILE))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            advice = shortage(error.errno) or f"it cannot be read ({error.strerror}); check its permissions."
            raise ConfigError(f"{self._file}: {advice}") from error
        except (ValueError, RecursionError):
            raise self._format_error() from None
        if not isinstance(found, list):
            raise self._format_error()
        return [self._folder(one) for one in found]

    def add(self, folder: Folder) -> None:
        """Add a folder at the end, replacing an entry with the same path."""
        self.all()  # a list from elsewhere is taken over first
        with self._lock():
            others = [one for one in self._read_list() or () if one.path != folder.path]
            self._write([*others, folder])

    def remove(self, path: str) -> bool:
        """Remove a folder from the list; return whether it was in it."""
        self.all()
        with self._lock():
            before = self._read_list() or ()
            after = [one for one in before if one.path != path]
            if len(after) < len(before):
                self._write(after)
            return len(after) < len(before)

    def _folder(self, value: Any) -> Folder:
        match value:
            case {"path": str(path), "label": str(label)} if path:
                return Folder(os.path.normpath(self._workspace / path), label)
            case _:
                raise self._format_error()

    def _format_error(self) -> ConfigError:
        return ConfigError(f"{self._file} is not a list of folders; remove it, and index your folders again.")

    @contextmanager
    def _lock(self) -> Iterator[None]:
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

    def _write(self, folders: Sequence[Folder], *, signed: bool = True) -> None:
        content = json.dumps(
            [{"path": self._short(folder.path), "label": folder.label} for folder in folders], indent=1
        )
        durable.replace(self._file, content.encode("utf-8", "surrogateescape"))
        if signed:
            sign(self._workspace)

    def _short(self, path: str) -> str:
        """Return a path relative to the workspace."""
        inside = Path(path).is_relative_to(self._workspace)
        return str(Path(path).relative_to(self._workspace)) if inside else path


def names_folders_outside(file: Path) -> bool:
    """Return whether a list of folders, as in a backup, names one outside of its workspace, or cannot be read."""
    try:
        with file.open("rb") as opened:
            paths = [Path(entry["path"]) for entry in json.loads(opened.read(_MAX_FILE))]
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return True
    return any(path.is_absolute() or ".." in path.parts for path in paths)
