"""A chunk as the catalogue passes it to the full-text index."""

from collections.abc import Sequence
from typing import NamedTuple


class Document(NamedTuple):
    """A chunk for the full-text index: its number, its file's number and path, and its searchable text.

    ``names`` are the title, aliases and tags of the note, ``own`` what people say in the conversation that begins
    there, and ``links`` what its links call other files.
    """

    id: int
    file: int
    path: str
    heading: Sequence[str]
    text: str
    names: Sequence[str] = ()
    own: str = ""
    links: Sequence[str] = ()
