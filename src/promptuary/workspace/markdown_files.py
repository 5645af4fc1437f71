"""Folders of Markdown outside of the workspace: read whole for an import, written once for an export.

Only the folder that a person names is read, without following a link, and with limits on the number, size and depth of
files. Promptuary's own folders stay closed: their notes have owners, and an export contains those that the person may
see.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from msgspec import Struct

from promptuary.base import durable
from promptuary.base.errors import PromptuaryError, SourceError
from promptuary.base.text import one_line
from promptuary.workspace.access import Access
from promptuary.workspace.disk.folders import Folders
from promptuary.workspace.disk.protected_folders import ProtectedFolders
from promptuary.workspace.disk.read import IsNote, read_text
from promptuary.workspace.disk.root import Root
from promptuary.workspace.listing.noise import TOOL_FOLDERS, VENDORED_FOLDERS

MAX_FILES: Final = 20_000
MAX_ENTRIES: Final = 500_000
MAX_CHARACTERS: Final = 128 << 20
MAX_DEPTH: Final = 16
_MAX_BYTES: Final = 1 << 20
_ENDINGS: Final = (".md", ".markdown")
_LEFT_OUT: Final = TOOL_FOLDERS | VENDORED_FOLDERS


class MarkdownFiles(Struct, frozen=True):
    """The texts of Markdown files by path, and those that were not read, each with the reason.

    ``folder`` identifies the folder of the paths without naming it.
    """

    texts: Mapping[str, str]
    skipped: Mapping[str, str]
    folder: str


def read_markdown(path: Path, *, is_note: IsNote) -> MarkdownFiles:
    """Return the Markdown files below a folder, or the one file. Raises ``PromptuaryError`` for anything else.

    ``is_note`` recognises a file of somebody's notes under another name.
    """
    place = _existing(path)
    top, only = (place, "") if place.is_dir() else (place.parent, place.name)
    closed = ProtectedFolders.of(top)
    if closed.everything:
        raise PromptuaryError(
            f"{path} is among Promptuary's own files; export the notes first (promptuary memory export), or adopt them"
        )
    access = Access(max_bytes=_MAX_BYTES, protected=closed)
    texts: dict[str, str] = {}
    skipped: dict[str, str] = {}
    with Root(top) as root:
        names = iter([(only, "")]) if only else _markdown_below(top, access)
        for name, refused in names:
            if refused:
                skipped[name] = refused
                continue
            try:
                texts[name] = read_text(root, name, access, is_note=is_note).text
            except SourceError as error:
                skipped[name] = error.reason
            _check_amount(path, texts)
    if not texts and not skipped:
        raise PromptuaryError(f"there is no Markdown file in {path}; name the folder or the file with the notes")
    return MarkdownFiles(texts, skipped, hashlib.sha256(os.fsencode(top)).hexdigest()[:8])


def _existing(path: Path) -> Path:
    try:
        return path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise PromptuaryError(f"{one_line(str(path))} is not there; name a folder or a file of Markdown") from error


def _check_amount(path: Path, texts: Mapping[str, str]) -> None:
    # Adding up all lengths for each file would be slow; each is bounded, so checking every hundredth is enough.
    if len(texts) > MAX_FILES or (len(texts) % 100 == 0 and sum(map(len, texts.values())) > MAX_CHARACTERS):
        raise PromptuaryError(
            f"{path} has more Markdown than an import takes ({MAX_FILES:,} files, {MAX_CHARACTERS >> 20} MB); "
            "import its folders one by one"
        )


def _markdown_below(top: Path, access: Access) -> Iterator[tuple[str, str]]:
    """Yield every Markdown file below ``top``, and why it is not read if it is a link."""
    pending, entries = [""], 0
    with Folders(top) as folders:
        while pending:
            folder = pending.pop()
            found = folders.entries(folder) or []
            entries += len(found)
            if entries > MAX_ENTRIES:
                raise PromptuaryError(f"{top} has more than {MAX_ENTRIES:,} files; import its folders one by one")
            for name, kind in sorted(found):
                path = folder + name
                if kind == "folder":
                    is_read = name not in _LEFT_OUT and not access.protects(path) and folder.count("/") < MAX_DEPTH
                    pending += [f"{path}/"] if is_read else []
                elif name.lower().endswith(_ENDINGS):
                    yield path, "" if kind == "file" else "it is a link or not a regular file, and is not followed"


def write_new_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write files, by paths with ``/`` between names, to a new or empty folder; nothing is overwritten."""
    place = Path(os.path.realpath(path.expanduser()))
    if ProtectedFolders.of(place).everything:
        raise PromptuaryError(f"{path} is among Promptuary's own files; export to another folder")
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.listdir(folder):  # noqa: PTH208  (of the folder that is open, whatever has its name)
                raise PromptuaryError(f"{path} is not empty, and an export overwrites nothing; name a new folder")
            for name, content in files.items():
                _write(folder, name.split("/"), content)
        finally:
            os.close(folder)
    except OSError as error:
        raise PromptuaryError(
            f"the notes could not be exported to {path} ({error.strerror}); check the folder, or name another"
        ) from error


def _write(folder: int, names: list[str], content: bytes) -> None:
    with ExitStack() as opened:
        for name in names[:-1]:
            durable.make_folder(name, dir_fd=folder)
            folder = opened.enter_context(durable.opened_folder(name, dir_fd=folder))
        if not durable.create(names[-1], content, dir_fd=folder):
            raise PromptuaryError(f"{'/'.join(names)} appeared while the notes were exported; name a new folder")
