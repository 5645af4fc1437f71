"""A folder that is indexed, and the state of a file on the disk."""

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
