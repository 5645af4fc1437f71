"""A folder that is indexed, the state of a file on the disk, and lines of one."""

from msgspec import Struct


class Stamp(Struct, frozen=True):
    """The state of a file in the file system; it differs after every change. Times are nanoseconds."""

    size: int
    modified: int
    changed: int
    inode: int


class Folder(Struct, frozen=True):
    """An indexed folder by its absolute path. ``label`` is a name that searches can filter by, not a permission."""

    path: str
    label: str = ""


class FileLines(Struct, frozen=True):
    """Some lines of a file, each without its line feed, and how many there are in all.

    ``first_line`` counts from 1. ``converted`` says of a document what its text was made from.
    """

    path: str
    first_line: int
    lines: tuple[str, ...]
    total: int
    sha256: str
    converted: str = ""
