"""Whether a file is the person's own: theirs or root's, and not writable for everybody.

Git trusts repositories by the same rule. Without it, anyone who can write to a folder above, such as ``/tmp``, could
choose which folder is the workspace and receive what is written there.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path


def is_own(found: os.stat_result) -> bool:
    """Return whether a file with this status is the person's own."""
    return found.st_uid in _own_ids() and not (found.st_mode & stat.S_IWOTH and not stat.S_ISLNK(found.st_mode))


def own_markers(folder: Path, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return those of ``names`` that exist in ``folder`` and are the person's own, and those that are not."""
    own: list[str] = []
    foreign: list[str] = []
    for name in names:
        try:
            found = (folder / name).stat()
        except (OSError, ValueError):  # it does not exist, or the folder may not be searched
            continue
        (own if is_own(found) else foreign).append(name)
    return own, foreign


def _own_ids() -> set[int]:
    own = {os.geteuid(), 0}
    behind_sudo = os.environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and behind_sudo.isdecimal():
        own.add(int(behind_sudo))
    return own
