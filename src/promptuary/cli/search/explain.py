"""Explains the rank of a hit: for passages of files, notes and experiences."""

from collections.abc import Iterator, Sequence

from promptuary.base.text import one_line
from promptuary.search.query import parse
from promptuary.search.values import Why


def query_words(text: str) -> Sequence[str]:
    """Return the words of a query, which select the lines of an excerpt."""
    parsed = parse(text)
    return [*parsed.terms, *parsed.prefixes, *(word for phrase in parsed.phrases for word in phrase.split())]


def reasons(score: float, why: Why) -> Iterator[str]:
    """Yield the parts of a score, and the words that matched."""
    parts = {"words": why.lexical, "meaning": why.meaning, "cosine": why.cosine, "reranker": why.rerank}
    yield f"score {score:.3f}"
    yield from (f"{name} {value:.3f}" for name, value in parts.items() if value is not None)
    if why.length:
        yield f"long document -{why.length:.3f}"
    respelled = [one for one in why.matched if " ~ " in one]
    if exact := [one for one in why.matched if one not in respelled]:
        yield f"matched: {one_line(' '.join(exact))}"
    yield from map(one_line, respelled)
