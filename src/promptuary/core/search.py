"""What the file memory is made of and asked for: chunks of files, questions, and what was found.

Values only. A chunk is always whole lines, so that its lines slice back to exactly its text.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from promptuary.core.errors import ConfigError

FileKind = Literal["markdown", "code", "text", "data"]
"""What a file is for searching: prose with headings, source code, other prose, configuration and tables."""

FILE_KINDS: tuple[FileKind, ...] = ("markdown", "code", "text", "data")


CONTEXT: Final = 2
"""Which rule makes what is embedded of a chunk: vectors made by another are not its vectors."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some whole lines of a file. ``first`` and ``last`` count from one, both included.

    ``text`` is exactly these lines, with the ends of all but the last. ``trail`` says where in the file it stands: the
    headings above it, or the names of the definitions around it, the outermost first.
    """

    start_line: int
    end_line: int
    text: str
    heading: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """What tells two chunks apart wherever they stand: the hash of trail and text."""
        return self.digest.hex()

    @property
    def digest(self) -> bytes:
        """The same hash as bytes."""
        whole = "\x1f".join((*self.heading, self.text)) if self.heading else self.text
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).digest()

    @property
    def context(self) -> str:
        """The text as it is embedded: under those headings that do not stand in it."""
        above = " > ".join(title for title in self.heading if title not in self.text)
        return f"{above}\n{self.text}" if above else self.text


@dataclass(frozen=True, slots=True)
class Stamp:
    """How a file looked on disk: what changes when it does. Times are nanoseconds."""

    size: int
    modified: int
    changed: int
    inode: int


@dataclass(frozen=True, slots=True)
class Folder:
    """An indexed folder by its absolute path. ``label`` is a name that searches can filter by; it grants nothing."""

    path: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as the index knows it. ``date`` is seconds since 1970: a date of its own, else its last change."""

    path: str
    stamp: Stamp
    sha256: str
    kind: FileKind
    date: int


@dataclass(frozen=True, slots=True)
class Filters:
    """What may be found at all. Empty means everything; ``since`` and ``until`` are seconds since 1970.

    ``paths`` are globs, files or folders, with ``!`` before what is left out: counted from the workspace, from the
    indexed folder, or whole if they begin with ``/``.
    """

    folders: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    kinds: tuple[FileKind, ...] = ()
    labels: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None

    def __post_init__(self) -> None:
        for name in ("folders", "paths", "kinds", "labels"):
            if isinstance(value := getattr(self, name), str):
                raise ConfigError(f"{name} of a search are several, or one in a tuple: {name}=({value!r},)")
        if unknown := [kind for kind in self.kinds if kind not in FILE_KINDS]:
            raise ConfigError(f"{unknown[0]!r} is no kind of file; there are {', '.join(FILE_KINDS)}")

    def __bool__(self) -> bool:
        return self != Filters()


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What is asked: any text, how many answers at most, what may be among them, and whether words alone decide."""

    text: str
    limit: int = 10
    filters: Filters = Filters()
    lexical_only: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """A question taken apart for full text search: each part is what a person typed, not yet analysed.

    ``phrases`` must stand in a hit as they are, ``prefixes`` are beginnings of words, ``terms`` are the rest.
    """

    terms: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return len(self) > 0

    def __len__(self) -> int:
        return len(self.terms) + len(self.phrases) + len(self.prefixes)


@dataclass(frozen=True, slots=True)
class Why:
    """Why a hit stands where it does: the parts of its score. ``None``: it was not compared in that way."""

    lexical: float | None = None
    cosine: float | None = None
    match: Callable[[], tuple[str, ...]] = field(default=tuple, repr=False, compare=False)

    @property
    def matched(self) -> tuple[str, ...]:
        """The words of the question that stand in the text. Looked for when asked: most never are."""
        return self.match()


@dataclass(frozen=True, slots=True)
class Hit:
    """One chunk that answers a question; ``folder`` is the indexed folder and ``path`` the file in it."""

    folder: str
    path: str
    start_line: int
    end_line: int
    text: str
    heading: tuple[str, ...]
    kind: FileKind
    date: int
    sha256: str
    score: float
    why: Why

    @property
    def place(self) -> str:
        """Where to read it: path and lines."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to a search. ``mode`` tells what took part; ``partly``: some chunks have no vector yet."""

    hits: Sequence[Hit] = ()
    mode: Literal["lexical", "hybrid"] = "lexical"
    auto_synced: bool = False
    partially_embedded: bool = False
    notes: tuple[str, ...] = ()


Search = Callable[[SearchQuery], SearchResult]
"""Answers a question from what is indexed. Raises ``PromptuaryError`` if nothing is."""
