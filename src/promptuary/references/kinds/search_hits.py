"""Search hits as sources: lines of a file, with their place. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from promptuary.base.blocks import Source
from promptuary.base.languages import language_of
from promptuary.base.references import format_reference
from promptuary.search.values import Chunk, Hit, SearchResult

_FAR: Final = 0.5
"""A hit is attached if its score is at least this share of the best score."""
_FAR_UNASKED: Final = 0.25
"""The same for recall, where a budget limits the amount."""

_COPY: Final = 0.9
"""The share of common words from which one hit counts as a copy of another."""


def source_of(hit: Hit, workspace: str, kind: str) -> Source:
    """Return ``hit`` as a source, labelled like a reference to these lines in ``workspace``."""
    path = path_of_hit(hit, workspace)
    inside = path != _whole(hit)
    lines = f":{hit.start_line}-{hit.end_line}"
    return Source(
        # The same key as a reference to these lines: both together attach them once.
        key=f"file:{path}{lines}",
        label=f"{path}{lines}",
        kind=kind,
        text=text_of(hit),
        revision=hit.sha256,
        path=path if inside else "",
        origin=f"index:{path}",  # the revision is that of the indexed lines, not of the file
        language=language_of(hit.path),
        facts=(f"lines {hit.start_line}-{hit.end_line}", *((" > ".join(hit.heading),) if hit.heading else ())),
        lines=(hit.start_line, hit.end_line),
        first_line=hit.start_line,
        read_on=f"read on with {format_reference('file', path)}" if inside else "",
    )


def joined(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with neighbours merged: those of the same file whose lines are adjacent.

    Each takes the place of the best of its parts.
    """
    left = list(hits)
    whole: list[Hit] = []
    while left:
        hit = left.pop(0)
        file = _whole(hit)
        while True:
            # Lines are compared first: this is done for every hit that may still fit.
            before = next((one for one in left if one.end_line + 1 == hit.start_line and _whole(one) == file), None)
            after = next((one for one in left if hit.end_line + 1 == one.start_line and _whole(one) == file), None)
            if before is not None:
                left.remove(before)
                hit = _both(before, hit, hit)
            elif after is not None:
                left.remove(after)
                hit = _both(hit, after, hit)
            else:
                break
        whole.append(hit)
    return whole


def _both(first: Hit, second: Hit, best: Hit) -> Hit:
    """Return two neighbours as one hit, with the metadata of the ``best`` of them."""
    text = f"{first.text}\n{second.text}"
    heading = tuple(one for one, other in zip(first.heading, second.heading, strict=False) if one == other)
    start, end = first.start_line, second.end_line
    sha256 = Chunk(start, end, text, heading).sha256
    return replace(best, start_line=start, end_line=end, text=text, heading=heading, sha256=sha256)


def text_of(hit: Hit) -> str:
    r"""Return the text of a hit. If its lines end in ``\r\n``, so does the last: a lone carriage return is shown."""
    return f"{hit.text}\n" if hit.text.endswith("\r") else hit.text


def path_of_hit(hit: Hit, workspace: str) -> str:
    """Return the path of a hit's file, relative to ``workspace`` if it is inside, else absolute."""
    return _whole(hit).removeprefix(f"{workspace.rstrip('/')}/")


def apart(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits, the best first, each without the lines that a better one contains."""
    kept: list[Hit] = []
    for hit in hits:
        kept += rest_of(hit, [(one.start_line, one.end_line) for one in kept if _whole(one) == _whole(hit)])
    return kept


def rest_of(hit: Hit, shown: Iterable[tuple[int, int]]) -> list[Hit]:
    """Return what is left of a hit without the line ranges ``shown``: the hit itself, or the parts around them.

    Blank parts and single lines are dropped.
    """
    gaps, position = [], hit.start_line
    for first, last in sorted(shown):
        gaps.append((position, min(first - 1, hit.end_line)))
        position = max(position, last + 1)
    gaps.append((position, hit.end_line))
    if (hit.start_line, hit.end_line) in gaps:
        return [hit]
    parts = [lines_of(hit, first, last) for first, last in gaps if first < last]
    return [part for part in parts if part.text.strip()]


def lines_of(hit: Hit, first: int, last: int) -> Hit:
    """Return the lines ``first`` to ``last`` of a hit as a hit."""
    text = "\n".join(hit.text.split("\n")[first - hit.start_line : last - hit.start_line + 1])
    return replace(hit, start_line=first, end_line=last, text=text, sha256=Chunk(first, last, text, hit.heading).sha256)


def recallable(found: SearchResult) -> list[Hit]:
    """Return the hits for recall: none unless they probably answer."""
    return relevant(found, _FAR_UNASKED) if found.answers else []


def relevant(found: SearchResult, far: float = _FAR) -> list[Hit]:
    """Return the hits that are not ``far`` below the best; of those with nearly the same words only the best."""
    if not found.hits:
        return []
    least = far * max(hit.score for hit in found.hits)
    chosen: list[tuple[Hit, frozenset[str]]] = []
    for hit in found.hits:
        words = frozenset(hit.text.split())
        if hit.score >= least and not any(_are_copies(words, others) for _, others in chosen):
            chosen.append((hit, words))
    return [hit for hit, _ in chosen]


def _are_copies(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _COPY * max(len(one), len(other))


def _whole(hit: Hit) -> str:
    return f"{hit.folder.rstrip('/')}/{hit.path}"
