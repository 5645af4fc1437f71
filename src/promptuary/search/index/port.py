"""What search needs from an index and from a vector store. Backends implement these; ``search.indexes`` chooses one.

Vectors cross these borders as bytes: little-endian 32-bit floats of length one, so that the core needs no library.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, NamedTuple, Protocol

from promptuary.base.files import Folder
from promptuary.search.values import Chunk, FileKind, Filters, IndexCounts, IndexedFile, Words


class IndexedChunk(NamedTuple):
    """A chunk in the index with its file: ``folder`` is the indexed folder and ``path`` the file in it.

    ``date`` is that of the chunk if it has one, else that of the file.
    """

    folder: str
    path: str
    kind: FileKind
    date: int
    chunk: Chunk


HEAD_LINES: Final = 20
"""How many lines count as the beginning of a file."""


class UnembeddedChunk(NamedTuple):
    """A chunk without a vector: its number, the text to embed, and the hash that identifies the vector.

    ``path`` is that of its file in the indexed folder, ``head`` the first lines of the file.
    """

    id: int
    context: str
    sha256: str
    path: str
    head: str


class Similarity(NamedTuple):
    """How near a chunk is to a query, and to the index as a whole.

    ``usual`` is the average cosine of the query with all chunks; ``typical`` is how much nearer than the average chunk
    this one is to all others: such a chunk is near to any query.
    """

    cosine: float
    usual: float = 0.0
    typical: float = 0.0


class ChunkTraits(NamedTuple):
    """The document of a chunk, which is a file or one conversation in it, and how many chunks it has.

    ``conversation`` is the number of the conversation, see ``SearchIndex.spoken``; ``None`` if it is not a chat.
    ``document`` is the same for chunks of the same document; ``date`` is that of the chunk if it has one, else that of
    the file. ``is_code``: it is source code. ``sha256`` is the hash of the chunk. ``language`` is that of the text, see
    ``base.text_language``.
    """

    siblings: int = 1
    conversation: int | None = None
    document: int = 0
    date: int = 0
    is_code: bool = False
    sha256: bytes = b""
    language: str = ""


class OfDay(NamedTuple):
    """A chunk of a day, and its file. ``said``: the file says so; else it changed last on that day."""

    chunk: int
    file: int
    said: bool


class IndexWriter(Protocol):
    """Writes the index. There is one writer at a time.

    Changes may be buffered: ``flush`` stores them and makes them visible to searches, and so does the end of the
    ``writing`` block. Every method raises ``IndexDamagedError`` if the index cannot be read.
    """

    @property
    def fresh(self) -> bool:
        """Whether the index is new, so that every file is still to be put into it."""
        ...

    def folders(self) -> Sequence[tuple[Folder, int]]:
        """Return the folders with the number of their files."""
        ...

    def files(self, folder: Folder) -> Mapping[str, IndexedFile]:
        """Return the indexed files of a folder by path."""
        ...

    def revisions(self) -> Mapping[tuple[str, str], str]:
        """Return the hash of every file by its folder and path."""
        ...

    def files_at(self, folder: Folder, paths: Sequence[str]) -> tuple[Mapping[str, IndexedFile], bool]:
        """Return the indexed files at and below these paths, and whether the folder has other files."""
        ...

    def put(self, folder: Folder, file: IndexedFile, text: str, chunks: Sequence[Chunk]) -> None:
        """Index a file as a whole or not at all. Chunks that it had before keep their numbers and vectors.

        A chunk with other names or another date counts as new, but has the same hash and so the same vector.
        ``chunks`` are lines of ``text``; without any, the file is recorded and searches do not find it.
        """
        ...

    def touch(self, folder: Folder, file: IndexedFile) -> None:
        """Record that a file looks different on disk but has the same content."""
        ...

    def move(self, folder: Folder, old: str, file: IndexedFile) -> None:
        """Give an indexed file another path. Its chunks keep their numbers and vectors."""
        ...

    def drop(self, folder: Folder, paths: Sequence[str]) -> None:
        """Delete files from the index. Paths that are not indexed are ignored."""
        ...

    def drop_folder(self, folder: Folder) -> None:
        """Delete a folder and its files from the index."""
        ...

    def flush(self) -> None:
        """Make everything that was written visible to searches, in other processes too."""
        ...


class SearchIndex(Protocol):
    """An index of files: chunks with numbers, found by words and by vectors.

    Any number of threads and processes may read, and none waits for the writer. An index that does not exist yet reads
    as empty. Every method raises ``IndexDamagedError`` if the index cannot be read.
    """

    def writing(self, *, rebuild: bool = False) -> AbstractContextManager[IndexWriter | None]:
        """Become the writer; ``None`` if another writer is at work.

        ``rebuild`` starts a new, empty index; so does an index that is damaged or made by other settings, see
        ``IndexWriter.fresh``. Searches read the old one until the block ends without an error.
        """
        ...

    def exists(self) -> bool:
        """Return whether there is an index."""
        ...

    def is_current(self) -> bool:
        """Return whether the index was made by these settings; if not, the next writer starts a new one."""
        ...

    def is_complete(self) -> bool:
        """Return whether searches find everything that was written; if not, the next writer repairs that."""
        ...

    def counts(self) -> IndexCounts:
        """Return how much the index holds."""
        ...

    def size(self) -> int:
        """Return about how many chunks there are. Fast, whereas ``counts`` may take time."""
        ...

    def languages(self) -> Mapping[str, int]:
        """Return how many chunks there are in each language; those that say nothing about it are not counted."""
        ...

    def folders(self) -> Sequence[tuple[Folder, int]]:
        """Return the folders with the number of their files; those whose hash is ``UNREAD`` do not count."""
        ...

    def files(self, folder: Folder) -> Mapping[str, IndexedFile]:
        """Return the indexed files of a folder by path."""
        ...

    def revisions(self) -> Mapping[tuple[str, str], str]:
        """Return the hash of every file by its folder and path."""
        ...

    def content(self, folder: Folder, path: str) -> tuple[str, Sequence[Chunk]]:
        """Return the text of an indexed file and its chunks; nothing if it is not indexed."""
        ...

    def select(self, filters: Filters) -> Sequence[tuple[int, str, str]]:
        """Return the number, folder and path of every file that passes the filters. ``filters.paths`` is ignored."""
        ...

    def respelled(self, words: Words) -> Words:
        """Return the words with near spellings (``Words.respelled``) for those that no chunk has.

        A word of four letters or more may have one mistake, one of eight or more two. Searches weigh a word that is
        spelled differently below one that is not.
        """
        ...

    def lexical(self, words: Words, limit: int, *, files: Collection[int] | None = None) -> Sequence[tuple[int, float]]:
        """Return the numbers of the best chunks by words, the best first, and how many of the words each explains.

        A word that few chunks have counts for more than one, a common word for less. ``files`` restricts them to the
        chunks of these files. A phrase of ``words`` is in every chunk that is returned. Any words are valid.
        """
        ...

    def dated(self, first: int, until: int, limit: int, *, files: Collection[int] | None = None) -> Sequence[OfDay]:
        """Return at most ``limit`` chunks of the days from ``first`` on and before ``until``, counted from 1970.

        Those whose files say so come first, of these the last. ``files`` restricts them to the chunks of these files.
        """
        ...

    def spoken(self, words: Words, limit: int) -> Mapping[int, float]:
        """Return the conversations in which people say the most of the words, and how many words each explains."""
        ...

    def nearest(
        self, vector: bytes, limit: int, *, files: Collection[int] | None = None
    ) -> Sequence[tuple[int, Similarity]]:
        """Return the numbers of the chunks with the highest cosines, the nearest first.

        ``files`` restricts them to the chunks of these files.
        """
        ...

    def similarities(self, vector: bytes, chunks: Sequence[int]) -> Mapping[int, Similarity]:
        """Return how similar those of ``chunks`` are that have a vector."""
        ...

    def chunks(self, numbers: Sequence[int]) -> Mapping[int, IndexedChunk]:
        """Return those of the chunks with these numbers that are still in the index."""
        ...

    def traits(self, numbers: Sequence[int]) -> Mapping[int, ChunkTraits]:
        """Return the documents of those of these chunks that are still in the index."""
        ...

    def has_vectors(self) -> bool:
        """Return whether any chunk has a vector."""
        ...

    def lacks_vectors(self) -> bool:
        """Return whether any chunk lacks a vector."""
        ...

    def unembedded(self, limit: int, *, first: Collection[str] = ()) -> Sequence[UnembeddedChunk]:
        """Return chunks that lack a vector: those of the paths in ``first``, then of the files that changed last."""
        ...

    def lacking_vectors(self, above: int, limit: int) -> Sequence[tuple[int, str]]:
        """Return the numbers and hashes of chunks that lack a vector, above a number and in order."""
        ...

    def embed(self, vectors: Mapping[int, bytes], *, without: Collection[int] = ()) -> None:
        """Store the vectors of chunks by their numbers; those that are gone are ignored.

        ``without`` are chunks that need no vector: they do not count as lacking one any more. If the index was rebuilt
        since the last call of ``unembedded`` or ``lacking_vectors``, nothing is stored.
        """
        ...

    def hashes(self) -> Collection[str]:
        """Return the hashes of all chunks."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...


class VectorStore(Protocol):
    """Stores vectors durably by embedder and by the hash of what was embedded. They may be rounded slightly."""

    def get(self, embedder: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Return the vectors of those hashes that have one."""
        ...

    def put(self, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Store vectors by their hashes, all or none of them, replacing earlier ones."""
        ...

    def keep_only(self, embedder: str, hashes: Iterable[str]) -> int:
        """Delete those vectors of an embedder whose hashes are not given, and return how many that were."""
        ...

    def remove(self, hashes: Sequence[str]) -> int:
        """Delete the vectors of these hashes, of every embedder, and return how many that were."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...
