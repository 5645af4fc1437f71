"""The input history of a workspace's chats: stored in the person's own state folder, so that they can search it.

It is a convenience: a file that is missing, corrupt or not writable is never an error. Each owner sees their own lines.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from promptuary.base import durable
from promptuary.base.errors import LockTimeoutError
from promptuary.workspace.user_folders import make_folder, state_folder, workspace_file

MAX_LINES: Final = 1_000
MAX_LINE: Final = 10_000
"""The most characters of a line; a longer one is not stored."""
_MAX_FILE: Final = 16 << 20
_LOCK_TIMEOUT: Final = 1.0


def read_typed_lines(workspace: Path, owner: str) -> Sequence[str]:
    """Return what ``owner`` typed, the oldest first."""
    return _read(_file(workspace)).get(owner, [])


def keep_typed_line(workspace: Path, owner: str, line: str, *, is_private: Callable[[str], bool]) -> None:
    """Append ``line``, unless it is the same as the last one, too long or empty.

    Lines that ``is_private`` matches are removed from the file.
    """
    file = _file(workspace)
    new = [line] if line.strip() and len(line) <= MAX_LINE else []
    try:
        make_folder(file.parent)
        with durable.locked(file.with_suffix(".lock"), timeout=_LOCK_TIMEOUT):
            every = _read(file)
            own = every.get(owner, [])
            kept = [one for one in (*own, *(new if own[-1:] != new else [])) if not is_private(one)]
            if kept != own:
                every[owner] = kept[-MAX_LINES:]
                durable.replace(file, json.dumps(every).encode(), sync=False)
    except (OSError, LockTimeoutError):
        return


def _file(workspace: Path) -> Path:
    return workspace_file(state_folder() / "typed", workspace)


def _read(file: Path) -> dict[str, list[str]]:
    try:
        with file.open("rb") as opened:
            found: Any = json.loads(opened.read(_MAX_FILE))
        return {
            str(owner): [line for line in lines if isinstance(line, str) and len(line) <= MAX_LINE][-MAX_LINES:]
            for owner, lines in found.items()
            if isinstance(lines, list)
        }
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
