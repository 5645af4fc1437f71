"""A message that is still being typed: what it would cost, and the input history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from promptuary.base.references import KINDS, NOT_MEASURED, Pasted, pasted_spans
from promptuary.references.expansion import Measured
from promptuary.references.input_history import keep_line, lines
from promptuary.references.scan import scan
from promptuary.tokens.counting import Counter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptuary.app import App


class Drafts:
    """What one principal types in chats."""

    def __init__(self, app: App) -> None:
        self._app = app

    def measure(self, text: str, pasted: Pasted, thread: str | None) -> Measured:
        """Return the cost of ``text`` with everything that it would send; nothing is recorded.

        With a ``thread``, what is queued for its next message counts, too. References that would fetch something from
        elsewhere, or write, are skipped.
        """
        spans = pasted_spans(text, pasted)
        kinds = self._app.reference_kinds
        unmeasured = NOT_MEASURED | (kinds - KINDS)
        elsewhere = [one for one in scan(text, kinds=kinds, skip=spans) if one.kind in unmeasured]
        unread = [*spans, *((reference.start, reference.end) for reference in elsewhere)]
        queue = None if thread is None else self._app.threads(create=False).waiting(thread=thread)
        if queue is not None:
            queued = scan(queue.also, kinds=kinds)
            elsewhere += [reference for reference in queued if reference.kind in unmeasured]
            also = " ".join(reference.raw for reference in queued if reference.kind not in unmeasured)
            queue = replace(queue, also=also)
        expansion = self._app.expand(text, pasted=unread, recorded=False, queue=queue if queue and queue.any else None)
        words = Counter(self._app.settings.effective_vocabulary).count(expansion.text)
        along = [(one.reference.raw, one.tokens) for one in expansion.outcomes if one.reference.start < 0]
        uncounted = tuple(reference.raw for reference in elsewhere)
        return Measured(words, expansion.spend, uncounted, expansion.warnings, tuple(along))

    def typed(self) -> Sequence[str]:
        """Return what the principal typed in the chats of the workspace, the oldest first."""
        return lines(self._app.path, self._app.principal)

    def keep_typed(self, line: str) -> None:
        """Store what the principal typed in a chat."""
        keep_line(self._app.path, self._app.principal, line)
