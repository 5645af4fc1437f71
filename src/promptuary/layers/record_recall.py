"""What layers that recall records have in common: ``memory.layer`` shows notes, ``experiences.layer`` experiences.

Recalled records are not part of the history, but are treated as if they were attached to the message that they were
recalled for. They stay in the window as long as that message is in the history, so nothing is shown twice and nothing
that the model has seen disappears. When the message is compacted away, or the layer takes more than its share, the
record leaves the window, and may be recalled again. What a thread was shown is the state of the layer, as JSON.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from promptuary.base.blocks import Block, Omitted
from promptuary.base.budget import TokenCounter
from promptuary.base.principals import NoteScope
from promptuary.layers.layer import Ending, Layer, LayerContext, Recall, RecallRequest, Reply
from promptuary.references.message import ParsedMessage
from promptuary.search.query import unquoted

_SHOWN: Final = "shown"
_PENDING: Final = "pending"

Record = TypeVar("Record")


class Shown(Struct, frozen=True):
    """A record that was shown: its revision then, the first line that was shown of a long one, and in which turn.

    ``turn`` is empty until that turn has ended. An id is unique only within its ``scope``.
    """

    scope: NoteScope
    id: str
    rev: str
    line: int = 0
    turn: str = ""


class Candidate(Struct, Generic[Record], frozen=True):
    """A record to show, since when, and why; ``score`` is that of the search."""

    record: Record
    since: Shown
    reason: str
    score: float | None = None


class Selection(Struct, Generic[Record], frozen=True):
    """The records to show, in the order in which they were first shown; what is left out; notes for the person."""

    wanted: Sequence[Candidate[Record]] = ()
    omitted: Sequence[Omitted] = ()
    notes: Sequence[str] = ()


class RecordRecall(Layer, ABC, Generic[Record]):
    """The records of one principal that a message needs, and those recalled for earlier messages."""

    band = "live"
    scope = "thread"
    heading: ClassVar[str]
    earlier: ClassVar[str]
    """Why a record is shown that was shown before."""

    @abstractmethod
    async def select(
        self, words: str, standing: Sequence[Shown], request: RecallRequest, context: LayerContext
    ) -> Selection[Record]:
        """Return those of ``standing``, which are in the window, that still may be, and what the message needs."""

    @abstractmethod
    def block(self, wanted: Candidate[Record], spent: int, room: int, counter: TokenCounter) -> Block | None:
        """Return a record as it is shown, if possible within ``room``; new records took ``spent`` tokens before it."""

    @abstractmethod
    def names(self, record: Record) -> tuple[str, str]:
        """Return the label of a record, and its address."""

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | None:
        """Return the records that are already in the window, and those that the message needs."""
        if request.budget < 1:
            return None
        standing = shown_in(context.state, {item.turn for item in request.history})
        selection = await self.select(searched_words(request.message), standing, request, context)
        chosen, recall = self.fit(selection.wanted, request.budget, context.counter)
        context.state = {_SHOWN: _entries(_read(context.state, _SHOWN)), _PENDING: _entries(chosen)}
        recall = replace(recall, omitted=[*recall.omitted, *selection.omitted], notes=selection.notes)
        return recall if recall.blocks or recall.omitted or recall.notes else None

    async def store(self, reply: Reply, context: LayerContext) -> None:
        """Record what the turn shows as shown: it is in the history now."""
        turn = reply.items[0].turn if reply.items else ""
        ended = [shown if shown.turn else replace(shown, turn=turn) for shown in _read(context.state, _PENDING)]
        context.state = {_SHOWN: _entries(ended), _PENDING: []}

    async def complete(self, ending: Ending, context: LayerContext) -> None:
        """Discard the state of a turn that got no reply: nothing of it is in the history."""
        if ending != "finished":
            context.state = {_SHOWN: _entries(_read(context.state, _SHOWN)), _PENDING: []}

    def again(self, record: Record, rev: str, since: Shown) -> Candidate[Record]:
        """Return a record that was shown before, as it is now."""
        if rev == since.rev:
            return Candidate(record, since, self.earlier)
        return Candidate(record, replace(since, rev=rev, line=0), f"{self.earlier}, and changed since")

    def fit(
        self, wanted: Sequence[Candidate[Record]], budget: int, counter: TokenCounter
    ) -> tuple[list[Shown], Recall]:
        """Return which records are shown within ``budget`` tokens, and their blocks; what does not fit is omitted.

        New ones get room first, then those shown last. They are shown in the order in which they were first shown.
        """
        new = [one for one in wanted if not one.since.turn]
        old = [one for one in wanted if one.since.turn]
        blocks: dict[int, Block] = {}
        omitted: list[Omitted] = []
        spent = taken = 0
        for one in (*new, *reversed(old)):
            block = self.block(one, spent, budget - taken, counter)
            if block is not None:
                blocks[id(one)] = replace(block, score=one.score, reason=one.reason)
                cost = counter.count(self._recall(wanted, blocks).text)
                if cost <= budget:
                    taken = cost
                    spent += 0 if one.since.turn else block.tokens
                    continue
                del blocks[id(one)]
            label, address = self.names(one.record)
            whole = block or self.block(one, 0, sys.maxsize, counter)
            omitted.append(Omitted(label, "did not fit", address, one.score, whole.whole_cost if whole else 0))
        shown = [one.since for one in wanted if id(one) in blocks]
        return shown, replace(self._recall(wanted, blocks), omitted=omitted)

    def _recall(self, wanted: Sequence[Candidate[Record]], blocks: Mapping[int, Block]) -> Recall:
        return Recall([blocks[id(one)] for one in wanted if id(one) in blocks], self.heading)


def searched_words(message: ParsedMessage) -> str:
    """Return the words of a message to search for; empty if it has none."""
    words = unquoted(message.words)
    return words if words.strip() else ""


def shown_in(state: Any, turns: Collection[str]) -> list[Shown]:
    """Return what was shown in the turns that are still in the history, in that order."""
    return [shown for shown in _read(state, _SHOWN) if shown.turn in turns]


def _entries(records: Sequence[Shown]) -> list[dict[str, Any]]:
    return [asdict(record) for record in records]


def _read(state: Any, name: str) -> list[Shown]:
    entries = state.get(name, []) if isinstance(state, Mapping) else []
    return [Shown(**entry) for entry in entries]
