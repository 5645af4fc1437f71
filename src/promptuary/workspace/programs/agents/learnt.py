"""The last turn learnt from in each session of another agent: one small file a session, in the state folder."""

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from promptuary import durable
from promptuary.workspace.user_folders import made, state_folder

_LONGEST: Final = 1_000
_KEPT_SECONDS: Final = 90 * 86_400.0
_MOST_FILES: Final = 2_000


def learnt_mark(session: str) -> str:
    """Return the mark of the last turn that was learnt from; empty if there is none."""
    try:
        with open(_file(session), "rb") as file:  # noqa: PTH123  (as light as it can be)
            return file.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def note_learnt(session: str, mark: str) -> None:
    """Record that a turn was learnt from. Deletes the marks of old sessions."""
    path = _file(session)
    made(path.parent)
    if not path.exists():
        _tidy(path.parent)
    durable.replace(path, mark.encode()[:_LONGEST], mode=0o600, sync=False)


def _file(session: str) -> Path:
    return state_folder() / "learnt" / hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()[:32]


def _tidy(folder: Path) -> None:
    with suppress(OSError):
        for number, one in enumerate(os.scandir(folder)):
            if number >= _MOST_FILES or time.time() - one.stat().st_mtime > _KEPT_SECONDS:
                os.unlink(one.path)  # noqa: PTH108
