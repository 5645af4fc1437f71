"""The input history of a principal in the chats of a workspace; it holds no text of a note."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from promptuary.base.references import WRITING_KINDS
from promptuary.references.scan import scan
from promptuary.workspace.data_folder.input_history import keep_typed_line, read_typed_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from promptuary.base.principals import Principal

_WRITING_COMMAND: Final = re.compile(
    r"\s*/(?:memory\s+)?(?:(?:write|remember)\b|forget\s+\S+\s+(?!yes\s*$)\S)", re.IGNORECASE
)
"""Includes ``forget`` with the words of a note instead of its id, which is refused."""


def lines(root: Path, principal: Principal) -> Sequence[str]:
    """Return what the principal typed in the chats of the workspace, the oldest first."""
    return read_typed_lines(root, _owner(principal))


def keep_line(root: Path, principal: Principal, line: str) -> None:
    """Store what the principal typed, unless it writes a note: the line would outlive the note."""
    keep_typed_line(root, _owner(principal), line, is_private=writes_a_note)


def drop_lines(root: Path, principal: Principal, is_gone: Callable[[str], bool]) -> None:
    """Remove the lines of the principal that ``is_gone`` matches."""
    keep_typed_line(root, _owner(principal), "", is_private=is_gone)


def writes_a_note(line: str) -> bool:
    """Return whether a line contains the text of a note: ``/memory write``, ``@remember:`` and the like."""
    if _WRITING_COMMAND.match(line):
        return True
    return "@remember" in line.lower() and any(one.kind in WRITING_KINDS for one in scan(line))


def _owner(principal: Principal) -> str:
    return json.dumps([principal.user, principal.agent, principal.group])
