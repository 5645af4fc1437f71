"""The layer ``semantic_recall``: the lines of indexed files that match the message best, with path and lines.

A hit whose text is already in the window is left out; of a hit that is there in part, only the other lines are shown.
Without an index the layer adds nothing. This module does not know how the search works.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.blocks import Block, Omitted, Passage
from promptuary.base.budget import TokenCounter
from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.base.text import visible, with_unix_lines
from promptuary.layers.layer import BudgetRange, Layer, LayerContext, Recall, RecallRequest, Slot
from promptuary.references.detail import whole
from promptuary.references.kinds.search_hits import (
    apart,
    joined,
    lines_of,
    path_of_hit,
    recallable,
    rest_of,
    source_of,
    text_of,
)
from promptuary.references.render import without_gap
from promptuary.search.query import unquoted
from promptuary.search.values import Hit, Search, SearchQuery, SearchResult, note_text, why_text
from promptuary.workspace.access import Access

SearchWithin = Callable[[SearchQuery, Access], SearchResult]
"""Searches the files that a session may see, as they were pinned. Blocks."""

HEADING: Final = "# Recalled from indexed files"

_LEAST: Final = 0.5
"""The share of the budget for hits that are just likely to answer."""
_MOST_HITS: Final = 60
"""How many hits are requested: more than fit into most budgets."""


class SemanticRecall(Layer):
    """The best hits for the message. ``ready`` returns whether anything is indexed; ``home`` is the workspace.

    ``within`` searches what a session may see; without it, nothing is recalled in sessions.
    """

    id = "semantic_recall"
    slot = Slot.SEMANTIC_RECALL
    band = "live"
    scope = "execution"

    def __init__(
        self,
        search: Search,
        ready: Callable[[], bool],
        home: str,
        *,
        most: int = 2000,
        within: SearchWithin | None = None,
    ) -> None:
        self._search, self._within = search, within
        self._ready = ready
        self._home = home
        self.budget = BudgetRange(0, most)

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | None:
        """Return the best hits that are not in view yet, as many as fit."""
        words = request.message.words
        if request.budget < 1 or not words.strip():
            return None
        found = await concurrency.run(lambda: self._found(words, context.access))
        # Filtered before what is in view is removed: otherwise a weak hit would count once the best is in view.
        wanted = unseen(recallable(found), list(request.passages()) if found.hits else [], self._home)
        recalled = fitted(wanted, allowance(found.confidence, request.budget), context.counter, self._home)
        notes = tuple(map(note_text, found.notes))
        return replace(recalled or Recall(), notes=notes) if recalled or notes else None

    def _found(self, words: str, access: Access) -> SearchResult:
        query = SearchQuery(unquoted(words), _MOST_HITS, per_file=0)
        try:
            if not self._ready():
                return SearchResult()
            if access.session is None:
                return self._search(query)
            return SearchResult() if self._within is None else self._within(query, access)
        except ConfigError as error:
            # A damaged index must not fail the turn, as an invalid configuration of a layer would.
            raise PromptuaryError(str(error)) from error


def allowance(confidence: float, budget: int) -> int:
    """Return how much of a budget hits may take: all of it if they surely answer, and less the less sure that is."""
    return int(budget * min(1.0, _LEAST + (1 - _LEAST) * max(0.0, confidence - 1)))


def unseen(hits: Sequence[Hit], passages: Sequence[Passage], home: str) -> list[Hit]:
    """Return the parts of the hits that are neither in one of ``passages`` nor in a better hit."""
    left = [hit for hit in hits if not in_view(hit, passages)]
    return apart([part for hit in left for part in rest_of(hit, lines_in_view(hit, path_of_hit(hit, home), passages))])


def in_view(hit: Hit, passages: Sequence[Passage]) -> bool:
    """Return whether the text of a hit is in one of ``passages``."""
    bare = _bare(hit)
    return any(bare in passage.text for passage in passages)


def lines_in_view(hit: Hit, path: str, passages: Sequence[Passage]) -> Iterator[tuple[int, int]]:
    """Yield which lines of a hit, first and last, passages of the same file show.

    A passage may have been cut, or the file changed since: only lines that can be read in it count.
    """
    for passage in passages:
        if passage.path == path and passage.lines:
            first, last = max(passage.lines[0], hit.start_line), min(passage.lines[1], hit.end_line)
            if first <= last and _bare(lines_of(hit, first, last)) in passage.text:
                yield first, last


def _bare(hit: Hit) -> str:
    """Return the text of a hit as it is in a prompt, without surrounding white space."""
    return visible(with_unix_lines(text_of(hit)))[0].strip()


def fitted(hits: Sequence[Hit], budget: int, counter: TokenCounter, home: str) -> Recall | None:
    """Return as many of the hits, the best first, as cost at most ``budget`` together; the others are omitted.

    Neighbouring lines become one block. Lines of chats are shown in chronological order.
    """
    if not hits:
        return None
    blocks = cache(lambda hit, headed=True: _block(hit, home, counter, headed=headed))
    recall, chosen, omitted = Recall(heading=HEADING), list[Hit](), list[Omitted]()
    for hit in hits:
        more = replace(recall, blocks=[blocks(*one) for one in _headed(_in_order(joined([*chosen, hit])))])
        if counter.count(more.text) <= budget:
            recall = more
            chosen.append(hit)
        else:
            block = blocks(hit)
            source, reason = block.source, f"{block.tokens:,} tokens did not fit"
            omitted.append(Omitted(source.label, reason, source.address, block.score, block.tokens))
    return replace(recall, omitted=omitted)


def _in_order(hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return hits in the order of their dates if most of them are from dated chats, else unchanged."""
    said = [hit for hit in hits if hit.said_at is not None]
    return sorted(hits, key=lambda hit: (hit.date, hit.path, hit.start_line)) if 2 * len(said) > len(hits) else hits


def _headed(hits: Sequence[Hit]) -> Iterator[tuple[Hit, bool]]:
    """Yield each hit, and whether its block names the headings above it: not if they can be read already.

    That is so if its own lines begin with the last heading, or the block before it has the same headings.
    """
    above: tuple[object, ...] = ()
    for hit in hits:
        here = (hit.folder, hit.path, hit.heading)
        own = hit.text.lstrip().partition("\n")[0].lstrip("#").strip()
        yield hit, bool(hit.heading) and here != above and hit.heading != (own,)
        above = here


def _block(hit: Hit, home: str, counter: TokenCounter, *, headed: bool) -> Block:
    source = source_of(hit, home, "recalled")
    # The label has the lines and the receipt has the hash: the frame of a few lines should not cost more than they do.
    brief = replace(source, brief=True, facts=source.facts[1:] if headed else ())
    full = whole(brief, counter)
    return replace(without_gap(full, counter), score=round(hit.score, 4), reason=why_text(hit.why))
