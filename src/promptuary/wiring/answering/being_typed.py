"""A message that is still being typed: what it would cost, and what was typed before it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from promptuary.core.expansion import Measured
from promptuary.core.references import NOT_MEASURED, Pasted, pasted_spans
from promptuary.references.scan import scan
from promptuary.tokens import Counter
from promptuary.workspace.disk.own.typed_lines import keep_typed_line, typed_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from promptuary.core.expansion import Expansion
    from promptuary.core.principals import Principal


def measure(text: str, pasted: Pasted, expand: Callable[[str, Pasted], Expansion], vocabulary: str) -> Measured:
    """Return what ``text`` and everything that it points at would cost; ``expand`` attaches it, and records nothing.

    What would be fetched from elsewhere, or written, is not looked at.
    """
    spans = pasted_spans(text, pasted)
    elsewhere = [one for one in scan(text, skip=spans) if one.kind in NOT_MEASURED]
    expansion = expand(text, [*spans, *((one.start, one.end) for one in elsewhere)])
    words = Counter(vocabulary).count(expansion.text)
    return Measured(words, expansion.spend, tuple(one.raw for one in elsewhere), expansion.warnings)


def lines(root: Path, principal: Principal) -> Sequence[str]:
    """Return what the principal typed in the chats of the workspace, the oldest first."""
    return typed_lines(root, _owner(principal))


def keep(root: Path, principal: Principal, line: str) -> None:
    """Keep what the principal typed."""
    keep_typed_line(root, _owner(principal), line)


def _owner(principal: Principal) -> str:
    return json.dumps([principal.user, principal.agent, principal.group])
