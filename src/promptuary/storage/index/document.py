"""A chunk as the catalogue hands it to the full-text index."""

from collections.abc import Sequence
from typing import NamedTuple


class Document(NamedTuple):
    """A chunk for the full-text index: its number, its file's number and path, and what can be found of it.

    ``own`` are the words of the text that people wrote, in a chat; ``names`` are the title, aliases and tags of the
    note. ``date`` is that of the chunk, in seconds since 1970; ``None`` if only its file has one.
    """

    id: int
    file: int
    path: str
    heading: Sequence[str]
    text: str
    own: str = ""
    names: Sequence[str] = ()
    date: int | None = None
