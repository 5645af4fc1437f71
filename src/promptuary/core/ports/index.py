"""What the file memory needs of an index, and does not know how it is done.

Vectors cross these borders as bytes: little-endian 32-bit floats of length one, so that the core needs no library.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from promptuary.core.search import Chunk, Filters, Folder, Hit, IndexedFile, Words


class Document(NamedTuple):
    """A chunk as the full text index gets it: its number, its file's number and path, its headings and text."""

    id: int
    file: int
    path: str
    heading: Sequence[str]
    text: str


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A chunk without a vector: its number, what is to be embedded, and the hash that the vector is kept under."""

    id: int
    context: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Row:
    """A chunk as it is found, before it has a score; ``file`` is the number of its file."""

    hit: Hit
    file: int


@dataclass(frozen=True, slots=True)
class Counts:
    """How much an index holds."""

    files: int = 0
    chunks: int = 0
    unembedded: int = 0


class IndexWriter(Protocol):
    """The index as a sync writes it: there is one writer at a time.

    What a ``put``, ``move`` or ``drop`` changes is kept when it returns, and found after ``flush``. Every method raises
    ``IndexDamagedError`` if the index cannot be read.
    """

    def files(self, folder: Folder) -> Mapping[str, IndexedFile]:
        """Return what is indexed of a folder, by path."""
        ...

    def files_at(self, folder: Folder, paths: Sequence[str]) -> tuple[Mapping[str, IndexedFile], bool]:
        """Return what is indexed at these paths and below them, and whether the folder has other files."""
        ...

    def put(self, folder: Folder, file: IndexedFile, text: str, chunks: Sequence[Chunk]) -> None:
        """Index a file at once or not at all; chunks that it had before stay as they are, vectors included.

        ``chunks`` are lines of ``text``; without any, the file is known and nothing of it is found.
        """
        ...

    def touch(self, folder: Folder, file: IndexedFile) -> None:
        """Note that a file looks different on disk but holds the same."""
        ...

    def move(self, folder: Folder, old: str, file: IndexedFile) -> None:
        """Give an indexed file another path."""
        ...

    def drop(self, folder: Folder, paths: Sequence[str]) -> None:
        """Forget files."""
        ...

    def flush(self) -> None:
        """Make everything that was written findable, by other processes too."""
        ...


class IndexReader(Protocol):
    """The index as a search reads it, in any number of processes; none ever waits for the writer.

    Every method raises ``IndexDamagedError`` if the index cannot be read.
    """

    def select(self, filters: Filters) -> Sequence[tuple[int, str, str]]:
        """Return the number, folder and path of every file that passes the filters, those for paths aside."""
        ...

    def lexical(self, words: Words, limit: int, *, files: Collection[int] | None = None) -> Sequence[tuple[int, float]]:
        """Return the best chunks by words with their BM25 scores."""
        ...

    def nearest(
        self, vector: bytes, limit: int, *, files: Collection[int] | None = None
    ) -> Sequence[tuple[int, float]]:
        """Return the nearest chunks with their cosines."""
        ...

    def cosines(self, vector: bytes, chunks: Sequence[int]) -> Mapping[int, float]:
        """Return the cosines of those of ``chunks`` that have a vector."""
        ...

    def rows(self, numbers: Sequence[int]) -> Mapping[int, Row]:
        """Return the chunks of these numbers that are still there."""
        ...

    def code(self, numbers: Sequence[int]) -> Collection[int]:
        """Return those of these chunks that are of source code."""
        ...

    def lacks_vectors(self) -> bool:
        """Tell whether any chunk has no vector yet."""
        ...


class VectorStore(Protocol):
    """Vectors that last, by embedder and by the hash of what was embedded; they come back nearly as they were put."""

    def get(self, embedder: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Return the vectors of those hashes that have one."""
        ...

    def known(self, embedder: str, hashes: Sequence[str]) -> Collection[str]:
        """Return those hashes that have a vector."""
        ...

    def put(self, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors by their hashes, all or none of them, in the place of those before."""
        ...

    def count(self, embedder: str) -> int:
        """Return how many vectors of an embedder there are."""
        ...

    def keep_only(self, embedder: str, hashes: Iterable[str]) -> int:
        """Remove those vectors of an embedder whose hashes are not given, and return how many there were."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...
