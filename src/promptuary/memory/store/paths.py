"""Which paths in the folder of an agent can be notes, for every store of files. Does not access the disk."""

import re
from typing import Final

from promptuary.base.errors import NoteFileError
from promptuary.memory.values import AUDIENCES, INDEX_NAME, KINDS, LEGACY_KINDS

MAX_SIZE: Final = 1 << 20
"""Bytes of the largest file that is read or written. A note is a page, not a book."""

FOLDERS: Final = (*KINDS, *LEGACY_KINDS)
"""The folders of each audience that hold notes."""

_INDEX: Final = re.compile(rf"{INDEX_NAME.removesuffix('.md')}(-[0-9a-f]{{8}})?\.md")
_MAX_NAME: Final = 255


def names_of(path: str) -> tuple[str, ...]:
    """Return the names of a path, the audience first, or raise ``NoteFileError`` if no note can be there."""
    match names := tuple(path.split("/")):
        case (audience, name) if audience in AUDIENCES and is_index(name):
            return names
        case (audience, folder, name) if audience in AUDIENCES and folder in FOLDERS and why_skipped(name) is None:
            return names
        case _:
            raise NoteFileError(
                f"{path!r} is not the path of a note: private or shared, one of {', '.join(KINDS)}, and a name.md."
            )


def is_index(name: str) -> bool:
    """Return whether a file directly in an audience is a list of notes for a person."""
    return _INDEX.fullmatch(name) is not None


def is_hidden(name: str) -> bool:
    """Return whether a file is skipped silently: temporary files of editors and of this program."""
    return name.startswith(".") or not name.lower().endswith(".md")


def why_skipped(name: str) -> str | None:
    """Return why a name is invalid for a note; ``None`` if it is valid."""
    if is_hidden(name):
        return "its name begins with a dot or does not end with .md"
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if length > _MAX_NAME or "\x00" in name or "/" in name:
        return "its name is too long, or has a character that no name can have"
    return None


def check_size(path: str, size: int) -> None:
    """Raise ``NoteFileError`` for a file that is larger than a note may be."""
    if size > MAX_SIZE:
        raise NoteFileError(f"{path} is larger than {MAX_SIZE >> 20} MiB, the most that a note may be; split it.")
