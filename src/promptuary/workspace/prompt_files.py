"""Files of prompts, where this program and others look for them, and which of a workspace's the person has read.

A workspace may come from somebody else: nothing is followed out of it, and files are bounded in size, number and depth.
Does not know what is in a file, nor what its name means.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from promptuary.base import durable
from promptuary.base.errors import Code, ConfigError, PromptuaryError, SourceError, shortage
from promptuary.base.text import one_line
from promptuary.workspace.access import Access
from promptuary.workspace.data_folder.data_path import data_path
from promptuary.workspace.data_folder.private_folder import private_folder, unignore
from promptuary.workspace.disk.folders import Folders
from promptuary.workspace.disk.protected_folders import FOLDER
from promptuary.workspace.disk.read import read_text
from promptuary.workspace.disk.root import Root
from promptuary.workspace.user_folders import make_folder, state_folder, workspace_file
from promptuary.workspace.workspace import Workspace

MAX_BYTES: Final = 256 << 10
"""The size of a file of a prompt: whoever is asked to read it has to be able to."""
MAX_FILES: Final = 500
MAX_DEPTH: Final = 4
_MAX_ENTRIES: Final = 5_000
_PROMPTS: Final = "prompts"
OWN_FOLDER: Final = f"{FOLDER}/{_PROMPTS}"
"""The folder of a workspace's own prompts."""
_MAX_RECORD: Final = 1 << 20
_LINK: Final = "it is a link or not a regular file, and is not followed; put the file itself there"


class PromptFile(Struct, frozen=True):
    """The text of a file, and its path from the folder in which it was looked for."""

    path: str
    text: str
    sha256: str


class PromptFiles(Struct, frozen=True):
    """The files of a folder, and those that were not read, each with the reason."""

    files: tuple[PromptFile, ...]
    skipped: Mapping[str, str]


def workspace_prompts(workspace: Workspace, folder: str, ending: str, depth: int = MAX_DEPTH) -> PromptFiles:
    """Return the files with this ending below a folder of the workspace that its reader may see."""
    return _read(workspace.root, folder, ending, depth, workspace)


def person_prompts(folder: Path, ending: str, depth: int = MAX_DEPTH) -> PromptFiles:
    """Return the files with this ending below a folder of the person who runs this program."""
    try:
        if not folder.is_dir():
            return PromptFiles((), {})
        with Root(folder) as root:
            return _read(root, "", ending, depth)
    except (ConfigError, OSError):
        return PromptFiles((), {})


def _read(root: Root, folder: str, ending: str, depth: int, workspace: Workspace | None = None) -> PromptFiles:
    files: list[PromptFile] = []
    skipped: dict[str, str] = {}
    # The names in a folder of prompts are judged as any others; only that it is among our own files does not matter.
    access = Access(max_bytes=MAX_BYTES, protected=None)
    above = f"{folder}/" if folder else ""
    for path, refused in _below(root.path, above, ending, depth):
        name = path.removeprefix(above)
        if workspace is not None and not workspace.access.covers(path):
            continue
        if refused:
            skipped[name] = refused
        elif len(files) == MAX_FILES:
            skipped[""] = f"there are more than {MAX_FILES} files; the others are not read"
            break
        else:
            try:
                is_note = workspace.is_note if workspace is not None else lambda _: False
                found = read_text(root, path, access, is_note=is_note)
                files.append(PromptFile(name, found.text, found.sha256))
            except SourceError as error:
                too_large = f"it is larger than {MAX_BYTES:,} bytes, the most for a prompt"
                skipped[name] = too_large if error.code is Code.FILE_TOO_LARGE else error.reason
    return PromptFiles(tuple(files), skipped)


def _below(top: Path, folder: str, ending: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield every file with this ending below a folder of ``top``, and why it is not read, if it is not."""
    pending, entries = [folder], 0
    with Folders(top) as folders:
        while pending:
            here = pending.pop()
            found = sorted(folders.entries(here) or [])
            entries += len(found)
            if entries > _MAX_ENTRIES:
                yield folder, f"there are more than {_MAX_ENTRIES:,} files; the others are not read"
                return
            inner: list[str] = []
            for name, kind in found:
                path = f"{here}{name}"
                if kind == "folder":
                    if here.removeprefix(folder).count("/") < depth:
                        inner.append(f"{path}/")
                    elif depth == MAX_DEPTH:  # no other form has any that deep
                        yield path, f"it is more than {depth} folders deep, and is not read"
                elif name.lower().endswith(ending) and not name.startswith("."):
                    yield path, "" if kind == "file" else _LINK
            pending += reversed(inner)


# What the person has read


def accepted(root: Path) -> Mapping[str, str]:
    """Return the prompts of the workspace at ``root`` that the person accepted: the SHA-256 of each, by its path."""
    try:
        with _record(root).open("rb") as file:
            found: Any = json.loads(file.read(_MAX_RECORD))
        return {str(path): str(sha256) for path, sha256 in found.items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def accept(root: Path, path: str, sha256: str) -> None:
    """Record that the person accepted a prompt of the workspace at ``root`` as it is. Raises ``PromptuaryError``."""
    record = _record(root)
    try:
        make_folder(record.parent)
        with durable.locked(record.with_suffix(".lock")):
            durable.replace(record, json.dumps({**accepted(root), path: sha256}).encode())
    except OSError as error:
        raise PromptuaryError(
            f"what you accepted cannot be recorded in {record} ({error.strerror}); check the folder"
        ) from error


def _record(root: Path) -> Path:
    return workspace_file(state_folder() / _PROMPTS, root)


# Writing


def own_folder(root: Path) -> Path:
    """Return the folder of the workspace's own prompts, created if it is missing. Raises ``ConfigError``."""
    if not data_path(root).inside:
        raise ConfigError(f"{FOLDER} of this workspace cannot be written by you; leave out --here")
    folder = private_folder(root, _PROMPTS)
    unignore(root)
    return folder


def write_prompt(folder: Path, path: str, content: bytes, before: str | None) -> None:
    """Write a file below ``folder``, which is created if it is missing; links in it are refused.

    ``before`` is the SHA-256 of what it replaces, ``None`` for a new file. Raises ``PromptuaryError`` if there is
    something else.
    """
    *above, name = path.split("/")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with ExitStack() as opened:
            here = opened.enter_context(durable.opened_folder(folder))
            for one in above:
                durable.make_folder(one, dir_fd=here)
                here = opened.enter_context(durable.opened_folder(one, dir_fd=here))
            if before is None:
                if not durable.create(name, content, dir_fd=here):
                    raise PromptuaryError(f"{one_line(str(folder / path))} exists already; promptuary prompt edit")
            elif _sha256(name, here) != before:
                raise PromptuaryError(f"{one_line(str(folder / path))} has changed meanwhile; edit it again")
            else:
                durable.replace(name, content, dir_fd=here)
    except OSError as error:
        advice = shortage(error.errno) or f"it cannot be written ({error.strerror}); check the folder"
        raise PromptuaryError(f"{one_line(str(folder / path))}: {advice}") from error


def _sha256(name: str, folder: int) -> str:
    with suppress(OSError):
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with open(descriptor, "rb") as file:  # noqa: PTH123  (it is open already)
            return hashlib.sha256(file.read(MAX_BYTES + 1)).hexdigest()
    return ""
