"""The one shape in which anything enters the window.

A ``Source`` is what was fetched, able to show itself in less and less detail; a ``Block`` is a
source at one detail, rendered, with its cost. Nothing reaches a model in any other way.
"""

from collections.abc import Callable
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


def _no_outline() -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Source:
    """Something fetched: its text, where it came from, and how it can be shortened.

    ``key`` tells two references to the same thing apart from two things: equal keys are injected once.
    ``first_lines`` gives, for each kept line range, the number of its first line, so that an excerpt
    can be numbered; empty for text that has no lines of its own (a diff, a tree).
    ``facts`` are short remarks for the block's info line ("lines 10-50 of 212", "UTF-16").
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
    first_line: int | None = None
    outline: Callable[[], str | None] = _no_outline
    read_on: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A source at one detail, as it is sent; ``tokens`` counts exactly ``text``."""

    source: Source
    detail: Detail
    text: str
    tokens: int
