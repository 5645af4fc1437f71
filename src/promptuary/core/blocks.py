"""The one shape in which anything enters the window.

A ``Source`` is what was fetched, able to show itself in less and less detail; a ``Block`` is a
source at one detail, rendered, with its cost. Nothing reaches a model in any other way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Detail(StrEnum):
    """How much of a source is shown, from everything to its name."""

    FULL = "full"
    OUTLINE = "outline"
    EXCERPT = "excerpt"
    PATH = "path"


class Trust(StrEnum):
    """Where text came from. Only code assigns it; no content can raise it."""

    WORKSPACE = "workspace"
    """Files and history of the person's own workspace."""
    EXTERNAL = "external"
    """The web and anyone else: data, never instructions."""


def nothing_shorter() -> Sequence[str]:
    """Offer no outline: such a source goes from whole to excerpt."""
    return ()


@dataclass(frozen=True, slots=True)
class Source:
    """Something fetched: its text, where it came from, and how it can be shortened.

    ``key`` tells two references to one thing from references to two: equal keys are injected once. ``path`` is the
    file it came from, if it is one. ``revision`` is the SHA-256 of what was fetched. ``facts`` are short remarks
    for the block's info line ("lines 10-50 of 212"). ``first_line`` numbers the first line of ``text`` where it has
    numbers, so that an excerpt can say what it left out. ``outlines`` gives shorter forms, the richest first.
    ``read_on`` is the reference that brings a part of it, for the person and the model to go on with. ``anchor`` is
    what a link in the message leads to.
    """

    key: str
    label: str
    kind: str
    text: str
    revision: str
    language: str = ""
    trust: Trust = Trust.WORKSPACE
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    lines: tuple[int, int] | None = None
    first_line: int | None = None
    outlines: Callable[[], Sequence[str]] = nothing_shorter
    read_on: str = ""
    anchor: str = ""
    path: str = ""
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A source at one detail, as it is sent; ``tokens`` counts exactly ``text``."""

    source: Source
    detail: Detail
    text: str
    tokens: int
