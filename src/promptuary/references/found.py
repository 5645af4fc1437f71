"""What a search found, as sources: lines of a file, with where they stand and why they are here. Pure."""

from collections.abc import Sequence
from typing import Final

from promptuary.core.blocks import Source
from promptuary.core.languages import language_of
from promptuary.core.recall import Hit
from promptuary.core.references import format_reference

_WORTH: Final = 0.5
"""A place is brought along if its score is at least this part of the best one's."""

_ALIKE: Final = 0.3
"""The least cosine of a place that has none of the words that were said."""


def source_of(hit: Hit, workspace: str, kind: str) -> Source:
    """Return ``hit`` as a source, named as a reference to these lines in ``workspace`` would name it."""
    path = place_of(hit, workspace)
    inside = path != _whole(hit)
    lines = f":{hit.first}-{hit.last}"
    return Source(
        # The same key as the reference to these lines: who asks for both gets them once.
        key=f"file:{path}{lines}",
        label=f"{path}{lines}",
        kind=kind,
        text=hit.text,
        revision=hit.sha256,
        path=path if inside else "",
        language=language_of(hit.path),
        facts=(f"lines {hit.first}-{hit.last}", *((" > ".join(hit.trail),) if hit.trail else ())),
        lines=(hit.first, hit.last),
        first_line=hit.first,
        read_on=f"read on with {format_reference('file', path)}" if inside else "",
    )


def place_of(hit: Hit, workspace: str) -> str:
    """Return the path of a hit's file: from the workspace on if it is in it, whatever folder is indexed, else whole."""
    return _whole(hit).removeprefix(f"{workspace.rstrip('/')}/")


def apart(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits without those whose lines a better one shows already, wholly."""
    kept: list[Hit] = []
    for hit in hits:
        shown = (one for one in kept if _whole(one) == _whole(hit))
        if not any(one.first <= hit.first and hit.last <= one.last for one in shown):
            kept.append(hit)
    return kept


def worth(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that are worth a part of the window: not far behind the best, and alike in words or sense."""
    best = max((hit.score for hit in hits), default=0.0)
    return [hit for hit in hits if hit.score >= _WORTH * best and (hit.why.matched or (hit.why.cosine or 0) >= _ALIKE)]


def _whole(hit: Hit) -> str:
    return f"{hit.folder.rstrip('/')}/{hit.path}"
