"""A message that is still being typed: its cost, and the input history."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, Protocol

from msgspec.structs import replace

from promptuary.core.expansion import Measured
from promptuary.core.references import NOT_MEASURED, WRITING_KINDS, Pasted, pasted_spans
from promptuary.references.scan import scan
from promptuary.tokens import Counter
from promptuary.workspace.disk.own.typed_lines import keep_typed_line, typed_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from promptuary.core.expansion import Expansion
    from promptuary.core.principals import Principal
    from promptuary.threads.options import Waiting

_WRITING_COMMAND: Final = re.compile(
    r"\s*/(?:memory\s+)?(?:(?:write|remember)\b|forget\s+\S+\s+(?!yes\s*$)\S)", re.IGNORECASE
)
"""Includes ``forget`` with the words of a note instead of its id, which is refused."""


class Expands(Protocol):
    """Attaches what a message points at, and what is queued for it; unless ``recorded``, nothing is recorded."""

    def __call__(self, text: str, *, pasted: Pasted, recorded: bool, queue: Waiting | None) -> Expansion:
        """Return the expanded message."""
        ...


def measure(
    text: str, pasted: Pasted, expand: Expands, vocabulary: str, waiting: Callable[[], Waiting] | None = None
) -> Measured:
    """Return the cost of ``text`` with everything that it would send; nothing is recorded.

    ``waiting`` returns what is queued for the next message of its thread. References that would fetch something from
    elsewhere, or write, are skipped.
    """
    spans = pasted_spans(text, pasted)
    elsewhere = [one for one in scan(text, skip=spans) if one.kind in NOT_MEASURED]
    unread = [*spans, *((one.start, one.end) for one in elsewhere)]
    queue = waiting() if waiting else None
    if queue is not None:
        queued = scan(queue.also)
        elsewhere += [one for one in queued if one.kind in NOT_MEASURED]
        queue = replace(queue, also=" ".join(one.raw for one in queued if one.kind not in NOT_MEASURED))
    expansion = expand(text, pasted=unread, recorded=False, queue=queue if queue and queue.any else None)
    words = Counter(vocabulary).count(expansion.text)
    along = [(one.reference.raw, one.tokens) for one in expansion.outcomes if one.reference.start < 0]
    uncounted = tuple(one.raw for one in elsewhere)
    return Measured(words, expansion.spend, uncounted, expansion.warnings, tuple(along))


def lines(root: Path, principal: Principal) -> Sequence[str]:
    """Return what the principal typed in the chats of the workspace, the oldest first."""
    return typed_lines(root, _owner(principal))


def keep(root: Path, principal: Principal, line: str) -> None:
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
