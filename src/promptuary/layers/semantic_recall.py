"""The layer ``semantic_recall``: the lines of indexed files that fit the message best, with path and lines.

It adds what is not there yet: a place whose text stands in the window already is left out, whoever brought it. Without
an index it says nothing. What is searched, and how, is not known here.
"""

from collections.abc import Callable, Sequence
from typing import Final

from promptuary import background
from promptuary.core.blocks import Detail
from promptuary.core.counting import TokenCounter
from promptuary.core.errors import ConfigError, PromptuaryError
from promptuary.core.layers import Between, Layer, LayerContext, Omitted, Piece, Recall, RecallRequest, Slot
from promptuary.core.recall import Found, Hit, Question, Search
from promptuary.core.text import visible, with_unix_lines
from promptuary.core.words import unquoted
from promptuary.references.detail import whole
from promptuary.references.found import apart, source_of, worth

HEADING: Final = "# Recalled from indexed files"

_MOST_HITS: Final = 12
_GAP: Final = "\n\n"


class SemanticRecall(Layer):
    """What is indexed and fits the message. ``ready`` tells whether anything is; ``home`` is the workspace."""

    id = "semantic_recall"
    slot = Slot.SEMANTIC_RECALL
    band = "live"
    scope = "execution"

    def __init__(self, search: Search, ready: Callable[[], bool], home: str, *, most: int = 2000) -> None:
        self._search = search
        self._ready = ready
        self._home = home
        self.budget = Between(0, most)

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | None:
        """Return the best places that are not in view yet, as many as fit."""
        if request.budget < 1 or not request.query.strip():
            return None
        found = await background.run(lambda: self._found(request.query))
        wanted = worth([hit for hit in apart(found.hits) if not in_view(hit, request.in_view)])
        return fitted(wanted, request.budget, context.counter, self._home)

    def _found(self, words: str) -> Found:
        try:
            return self._search(Question(unquoted(words), _MOST_HITS)) if self._ready() else Found()
        except ConfigError as error:
            # What is wrong with the index is no reason to refuse a turn, as wrong settings of a layer are.
            raise PromptuaryError(str(error)) from error


def in_view(hit: Hit, texts: Sequence[str]) -> bool:
    """Tell whether the text of a hit stands in one of ``texts``."""
    shown, _ = visible(with_unix_lines(hit.text))
    bare = shown.strip()
    return any(bare in text for text in texts)


def fitted(hits: Sequence[Hit], budget: int, counter: TokenCounter, home: str) -> Recall | None:
    """Return as many of the hits as cost at most ``budget`` together, the best first, and those that did not fit."""
    if not hits:
        return None
    pieces: list[Piece] = []
    omitted: list[Omitted] = []
    for hit in hits:
        source = source_of(hit, home, "recalled")
        block = whole(source, counter)
        piece = Piece(
            block.text.removesuffix(_GAP),
            source.label,
            source=source.path or source.label,
            revision=hit.sha256,
            detail=Detail.FULL,
            trust=source.trust,
            score=round(hit.score, 4),
            reason=_reason(hit),
        )
        if counter.count(Recall([*pieces, piece], HEADING).text) <= budget:
            pieces.append(piece)
        else:
            omitted.append(Omitted(source.label, f"{block.tokens:,} tokens did not fit", source.label, piece.score))
    return Recall(pieces, HEADING if pieces else "", omitted)


def _reason(hit: Hit) -> str:
    said = [f"words {', '.join(hit.why.matched[:5])}"] if hit.why.matched else []
    alike = [f"cosine {hit.why.cosine:.2f}"] if hit.why.cosine is not None else []
    return "; ".join([*said, *alike]) or "found"
