"""What was learnt from sessions of other agents, and shown in them: small files for each, in the state folder."""

import hashlib
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from promptuary.base import durable
from promptuary.workspace.user_folders import make_folder, state_folder

_MAX_LENGTH: Final = 1_000
_KEPT_SECONDS: Final = 90 * 86_400.0
_MAX_FILES: Final = 2_000
_MAX_PROMPTS: Final = 20
_MAX_SHOWN: Final = 20_000


def read_learning_mark(session: str) -> str:
    """Return the mark of the last turn that was learnt from; empty if there is none."""
    try:
        with open(_file(session), "rb") as file:  # noqa: PTH123  (as light as it can be)
            return file.read(_MAX_LENGTH).decode("utf-8", "replace")
    except OSError:
        return ""


def note_learnt(session: str, mark: str) -> None:
    """Record that a turn was learnt from. Deletes the marks of old sessions."""
    path = _file(session)
    make_folder(path.parent)
    if not path.exists():
        _tidy(path.parent)
    durable.replace(path, mark.encode()[:_MAX_LENGTH], mode=0o600, sync=False)


def read_shown_marks(session: str) -> list[str]:
    """Return the marks of what was shown with the last prompts of a session; none without a session."""
    return " ".join(_read_lines(session)).split() if session else []


def note_shown(session: str, marks: Sequence[str], *, anew: bool) -> None:
    """Record the marks of what is shown with a prompt. ``anew``: the session has nothing from before any more.

    Each prompt is a line, and the last few are kept: an agent may shorten its history without telling.
    """
    lines = [*([] if anew else _read_lines(session)), " ".join(marks)][-_MAX_PROMPTS:]
    path = _file(session, "shown")
    make_folder(path.parent)
    if not path.exists():
        _tidy(path.parent)
    with suppress(OSError):  # then something is shown twice
        durable.replace(path, "\n".join(lines).encode()[-_MAX_SHOWN:], mode=0o600, sync=False)


def _read_lines(session: str) -> list[str]:
    try:
        with open(_file(session, "shown"), "rb") as file:  # noqa: PTH123
            return file.read(_MAX_SHOWN).decode("ascii", "replace").split("\n")
    except OSError:
        return []


def _file(session: str, what: str = "learnt") -> Path:
    return state_folder() / what / hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()[:32]


def _tidy(folder: Path) -> None:
    with suppress(OSError):
        for number, one in enumerate(os.scandir(folder)):
            if number >= _MAX_FILES or time.time() - one.stat().st_mtime > _KEPT_SECONDS:
                os.unlink(one.path)  # noqa: PTH108
