"""Which folders are on a remote file system, where the kernel reports no changes: read from the mount table.

Pure except for reading the table. Where there is no table, every folder counts as local.
"""

import os
import re
from pathlib import Path, PurePosixPath
from typing import Final

TABLE: Final = Path("/proc/self/mounts")

REMOTE: Final = frozenset(
    (
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "davfs",
        "drvfs",
        "gfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "prl_fs",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "vmhgfs",
    )
)
"""Types of file systems that others may change without our kernel knowing. Every ``fuse.…`` is one of them, too."""

_ESCAPED = re.compile(r"\\([0-7]{3})")


def remote_type(folder: Path, table: str) -> str:
    """Return the type of the remote file system that ``folder`` or a part of it is on; empty if it is local."""
    mounted: dict[str, str] = {}
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) > 2:
            # A later mount on the same folder covers the earlier one.
            mounted[_ESCAPED.sub(lambda digits: chr(int(digits[1], 8)), fields[1])] = fields[2]
    above = (mounted.get(str(place)) for place in (folder, *folder.parents))
    below = (kind for place, kind in mounted.items() if PurePosixPath(place).is_relative_to(folder))
    nearest = next((kind for kind in above if kind), "")
    return next((kind for kind in (nearest, *below) if _is_remote(kind)), "")


def read_table(path: Path = TABLE) -> str:
    """Return the mount table; empty where there is none."""
    try:
        return os.fsdecode(path.read_bytes())
    except OSError:
        return ""


def _is_remote(kind: str) -> bool:
    return kind in REMOTE or kind.startswith("fuse.")
