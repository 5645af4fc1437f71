"""Answers a question from the index: candidates by words and by meaning, put in one order.

The order of the first results never depends on how many are asked for: the candidates are a pool of fixed size, and
only who asks for more than the pool holds gets what follows in the order of the full text index.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from promptuary import concurrency
from promptuary.core import query as language
from promptuary.core.ports.index import IndexReader, Row
from promptuary.core.ports.models import Embedder
from promptuary.core.search import Hit, SearchQuery, Words
from promptuary.search.filters import passing
from promptuary.search.ranking import NEAREST, Candidate, Ranked, fuse

POOL: Final = 100
"""How many candidates the words give, and how many the meaning."""


_ALIKE: Final = 0.2
"""The least cosine of an answer that has none of the words; unrelated texts have up to about this."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The hits, the best first, and whether meaning took part."""

    hits: Sequence[Hit] = ()
    hybrid: bool = False


def search(question: SearchQuery, index: IndexReader, embedder: Embedder | None) -> Answered:
    """Return the best hits for ``question``; without an ``embedder`` by words alone.

    A quoted phrase stands in every hit. If it stands nowhere, and there are other words, it is words like these: people
    also quote titles that nobody wrote down.
    """
    words = language.parse(question.text)
    if not words or question.limit < 1:
        return Answered()
    files = passing(question.filters, index)
    if files is not None and not files:
        return Answered()
    answered = _answered(question, words, index, embedder, files)
    if not answered.hits and words.phrases and (words.terms or words.prefixes):
        return _answered(question, language.parse(language.unquoted(question.text)), index, embedder, files)
    return answered


def _answered(
    question: SearchQuery, words: Words, index: IndexReader, embedder: Embedder | None, files: Collection[int] | None
) -> Answered:
    if embedder is None:
        return Answered(list(_by_words(0, question.limit, words, index, files)))
    # The model and the full text index both leave the interpreter alone while they work: side by side.
    embedding = concurrency.begin(lambda: embedder.embed([question.text], "query")[0])
    lexical = dict(index.lexical(words, POOL, files=files))
    vector = embedding.result()
    # A quoted phrase must be in a hit, and only the full text index knows.
    cosines = {} if words.phrases else dict(index.nearest(vector, POOL, files=files))
    cosines |= index.cosines(vector, [one for one in lexical if one not in cosines])
    pool = [*lexical, *(one for one in cosines if one not in lexical)]
    code = index.code(sorted(cosines, key=lambda one: (-cosines[one], one))[:NEAREST])
    # What shares no word with the question and little of its meaning is no answer.
    pool = [one for one in pool if one in lexical or cosines[one] >= _ALIKE]
    candidates = [Candidate(one, lexical.get(one), cosines.get(one), one in code) for one in pool]
    ranked = fuse(candidates, len(words), names=sum(map(language.is_name, words.terms)))
    hits = list(_hits(ranked, question.limit, words, index))
    if len(hits) < question.limit and len(lexical) >= POOL:
        hits += _by_words(len(hits), question.limit, words, index, files, known=frozenset(pool))
    return Answered(hits, hybrid=bool(cosines))


def _hits(ranked: Sequence[Ranked], limit: int, words: Words, index: IndexReader) -> Iterator[Hit]:
    """Yield the first hits that are still there; only so many are read as are wanted."""
    found = 0
    for start in range(0, len(ranked), limit):
        batch = ranked[start : start + limit]
        rows = index.rows([one.chunk for one in batch])
        for one in batch:
            if one.chunk in rows and found < limit:
                found += 1
                yield _hit(rows[one.chunk], one, words)
        if found >= limit:
            return


def _by_words(
    found: int,
    limit: int,
    words: Words,
    index: IndexReader,
    files: Collection[int] | None,
    *,
    known: Collection[int] = frozenset(),
) -> Iterator[Hit]:
    """Yield hits in the order of the full text index, until there are ``limit`` with those ``found`` already."""
    seen = set(known)
    while found < limit:
        wanted = limit - found
        best = index.lexical(words, wanted + len(seen), files=files)
        fresh = [(one, score) for one, score in best if one not in seen][:wanted]
        rows = index.rows([one for one, _ in fresh])
        ranked = fuse([Candidate(one, score) for one, score in fresh if one in rows], len(words))
        yield from (_hit(rows[one.chunk], one, words) for one in ranked)
        if len(fresh) < wanted:
            return
        # Some may not be there any more: what comes after them takes their places.
        found += len(rows)
        seen.update(one for one, _ in fresh)


def _hit(row: Row, ranked: Ranked, words: Words) -> Hit:
    match = partial(language.matched, words, row.hit.text)
    return replace(row.hit, score=ranked.score, why=replace(ranked.why, match=match))
