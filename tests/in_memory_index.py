"""An index and a vector store in dictionaries: small enough to read, complete enough to run a search on.

They pass the conformance suites and lose everything when the process ends. Scores are simple: how many of the words a
chunk has.
"""

import re
import struct
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base.files import Folder
from promptuary.base.text_language import passage_language
from promptuary.search.index.port import HEAD_LINES, ChunkTraits, IndexedChunk, OfDay, Similarity, UnembeddedChunk
from promptuary.search.query import (
    STOP_WORDS,
    distance,
    folded,
    matched,
    mistakes,
    one_mistake_away,
    parse,
    taken_apart,
    words_to_check,
    worth_respelling,
)
from promptuary.search.values import UNREAD, Chunk, Filters, IndexCounts, IndexedFile, Words, as_tag, note_name


class _File(Struct):
    """A file with its number, its text, and its chunks by their numbers."""

    number: int
    folder: Folder
    file: IndexedFile
    text: str = ""
    chunks: dict[int, Chunk] = field(default_factory=dict)


class _Contents(Struct):
    """Everything in one index. ``visible`` are the chunks that searches find; numbers are never reused.

    Chunks in ``without`` need no vector.
    """

    files: dict[tuple[str, str], _File] = field(default_factory=dict)
    folders: dict[str, Folder] = field(default_factory=dict)
    vectors: dict[int, bytes] = field(default_factory=dict)
    without: set[int] = field(default_factory=set)
    visible: set[int] = field(default_factory=set)
    last_file: int = 0
    last_chunk: int = 0

    def revisions(self) -> dict[tuple[str, str], str]:
        """Return the hash of every file by its folder and path."""
        return {place: one.file.sha256 for place, one in self.files.items()}

    def chunks(self) -> dict[int, _File]:
        """Return the file of every chunk, in the order of the chunks' numbers."""
        return dict(sorted((number, one) for one in self.files.values() for number in one.chunks))

    def lacking(self) -> dict[int, _File]:
        """Return the file of every chunk that lacks a vector, in the order of the chunks' numbers."""
        return {one: file for one, file in self.chunks().items() if one not in self.vectors.keys() | self.without}

    def of(self, folder: Folder) -> dict[str, IndexedFile]:
        """Return the files of a folder by path."""
        return {path: one.file for (place, path), one in self.files.items() if place == folder.path}

    def counted(self) -> list[tuple[Folder, int]]:
        """Return the folders with the number of their files that have content."""
        having = [one.folder.path for one in self.files.values() if one.file.sha256 != UNREAD]
        return [(folder, having.count(path)) for path, folder in sorted(self.folders.items())]


class InMemoryWriter:
    """The ``IndexWriter`` of an ``InMemoryIndex``."""

    def __init__(self, contents: _Contents, lock: threading.RLock, *, fresh: bool) -> None:
        self.fresh = fresh
        self._contents = contents
        self._lock = lock

    def folders(self) -> Sequence[tuple[Folder, int]]:
        """Return the folders with the number of their files."""
        with self._lock:
            return self._contents.counted()

    def files(self, folder: Folder) -> Mapping[str, IndexedFile]:
        """Return the indexed files of a folder by path."""
        with self._lock:
            return self._contents.of(folder)

    def revisions(self) -> Mapping[tuple[str, str], str]:
        """Return the hash of every file by its folder and path."""
        with self._lock:
            return self._contents.revisions()

    def files_at(self, folder: Folder, paths: Sequence[str]) -> tuple[Mapping[str, IndexedFile], bool]:
        """Return the indexed files at and below these paths, and whether the folder has other files."""
        known = self.files(folder)
        at = {
            path: file
            for path, file in known.items()
            if any(path == one or path.startswith(f"{one}/") for one in paths)
        }
        return at, len(known) > len(at)

    def put(self, folder: Folder, file: IndexedFile, text: str, chunks: Sequence[Chunk]) -> None:
        """Index a file; chunks that it had before keep their numbers and vectors."""
        with self._lock:
            own, key = self._contents, (folder.path, file.path)
            own.folders[folder.path] = folder
            known = own.files.get(key)
            if known is None:
                own.last_file += 1
            before = dict(known.chunks) if known else {}
            after: dict[int, Chunk] = {}
            for chunk in chunks:
                number = next((one for one, old in before.items() if _is_same(old, chunk)), None)
                if number is None:
                    own.last_chunk += 1
                    number = own.last_chunk
                before.pop(number, None)
                after[number] = chunk
            own.files[key] = _File(
                known.number if known else own.last_file, folder, file, text if chunks else "", after
            )
            self._forget(before)

    def touch(self, folder: Folder, file: IndexedFile) -> None:
        """Record that a file looks different on disk but has the same content."""
        with self._lock:
            self._contents.files[folder.path, file.path].file = file

    def move(self, folder: Folder, old: str, file: IndexedFile) -> None:
        """Give an indexed file another path."""
        with self._lock:
            moved = self._contents.files.pop((folder.path, old))
            moved.file = file
            self._contents.files[folder.path, file.path] = moved
            self._contents.visible.difference_update(moved.chunks)

    def drop(self, folder: Folder, paths: Sequence[str]) -> None:
        """Delete files from the index."""
        with self._lock:
            for path in paths:
                if dropped := self._contents.files.pop((folder.path, path), None):
                    self._forget(dropped.chunks)

    def drop_folder(self, folder: Folder) -> None:
        """Delete a folder and its files from the index."""
        with self._lock:
            self.drop(folder, list(self.files(folder)))
            self._contents.folders.pop(folder.path, None)

    def flush(self) -> None:
        """Make everything that was written visible to searches."""
        with self._lock:
            self._contents.visible = set(self._contents.chunks())

    def _forget(self, chunks: Iterable[int]) -> None:
        for number in chunks:
            self._contents.vectors.pop(number, None)
            self._contents.without.discard(number)
            self._contents.visible.discard(number)


class InMemoryIndex:
    """A ``SearchIndex`` that lives as long as the process."""

    def __init__(self) -> None:
        self._contents: _Contents | None = None
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        self._embedding: _Contents | None = None

    @contextmanager
    def writing(self, *, rebuild: bool = False) -> Iterator[InMemoryWriter | None]:
        """Become the writer; ``None`` if there is another writer."""
        if not self._writing.acquire(blocking=False):
            yield None
            return
        try:
            before = self._contents
            fresh = rebuild or before is None
            contents = _Contents() if fresh or before is None else before
            if before is None:
                self._contents = contents  # no index answers yet, so what is written can be found at once
            writer = InMemoryWriter(contents, self._lock, fresh=fresh)
            writer.flush()
            yield writer
            writer.flush()
            self._contents = contents
        finally:
            self._writing.release()

    def exists(self) -> bool:
        """Return whether there is an index."""
        return self._contents is not None

    def is_current(self) -> bool:
        """Return whether there is an index: its settings never change."""
        return self._contents is not None

    def is_complete(self) -> bool:
        """Return whether searches find everything that was written."""
        with self._reading() as own:
            return own.visible == set(own.chunks())

    def counts(self) -> IndexCounts:
        """Return how much the index holds."""
        with self._reading() as own:
            chunks = own.chunks()
            files = sum(count for _, count in own.counted())
            return IndexCounts(files, len(chunks), len(own.lacking()))

    def languages(self) -> Mapping[str, int]:
        """Return how many chunks there are in each language."""
        with self._reading() as own:
            every = Counter(_language(chunk, one) for one in own.files.values() for chunk in one.chunks.values())
        return {language: chunks for language, chunks in every.most_common() if language}

    def size(self) -> int:
        """Return how many chunks there are."""
        return self.counts().chunks

    def folders(self) -> Sequence[tuple[Folder, int]]:
        """Return the folders with the number of their files."""
        with self._reading() as own:
            return own.counted()

    def files(self, folder: Folder) -> Mapping[str, IndexedFile]:
        """Return the indexed files of a folder by path."""
        with self._reading() as own:
            return own.of(folder)

    def revisions(self) -> Mapping[tuple[str, str], str]:
        """Return the hash of every file by its folder and path."""
        with self._reading() as own:
            return own.revisions()

    def content(self, folder: Folder, path: str) -> tuple[str, Sequence[Chunk]]:
        """Return the text of an indexed file and its chunks; nothing if it is not indexed."""
        with self._reading() as own:
            found = own.files.get((folder.path, path))
            return (found.text, sorted(found.chunks.values(), key=lambda one: one.start_line)) if found else ("", ())

    def select(self, filters: Filters) -> Sequence[tuple[int, str, str]]:
        """Return the number, folder and path of every file that passes the filters."""
        with self._reading() as own:
            passing = [one for one in own.files.values() if _passes(one, filters)]
            return [(one.number, one.folder.path, one.file.path) for one in passing]

    def respelled(self, words: Words) -> Words:
        """Return the words with near spellings for those that no chunk has."""
        with self._reading() as own:
            texts = [_findable(file, file.chunks[one]) for one, file in own.chunks().items() if one in own.visible]
        there = {word for text in texts for word in re.findall(r"[^\W\d_]+", f"{text} {taken_apart(text)}".lower())}
        unknown = [one for one in words_to_check(words) if not any(matched(Words((one,)), text) for text in texts)]
        if not unknown or not worth_respelling(unknown, words):
            return words
        return replace(words, respelled=tuple((one, near) for one in unknown for near in _near(one, there)))

    def lexical(self, words: Words, limit: int, *, files: Collection[int] | None = None) -> Sequence[tuple[int, float]]:
        """Return the chunks that have most of the words."""

        def score(number: int, file: _File) -> float:
            chunk = file.chunks[number]
            found = matched(words, _findable(file, chunk))
            return _count(words, found) if set(words.phrases) <= set(found) else 0.0

        with self._reading() as own:
            visible = {number: file for number, file in own.chunks().items() if number in own.visible}
            named = {} if words.phrases else _named(words, visible)
            return _best(visible, lambda number, file: max(score(number, file), named.get(number, 0.0)), limit, files)

    def dated(self, first: int, until: int, limit: int, *, files: Collection[int] | None = None) -> Sequence[OfDay]:
        """Return chunks of some days, those whose files say so first."""
        with self._reading() as own:
            every = [(number, file) for number, file in own.chunks().items() if files is None or file.number in files]
            said = [
                OfDay(number, file.number, said=True)
                for number, file in every
                if _is_said(file.chunks[number], first, until)
            ]
            changed = [
                OfDay(number, file.number, said=False)
                for number, file in every
                if not file.chunks[number].days and first <= file.file.date // 86_400 < until
            ]
            return [*said, *changed][:limit]

    def spoken(self, words: Words, limit: int) -> Mapping[int, float]:
        """Return the conversations in which people say most of the words."""
        with self._reading() as own:
            visible = {number: file for number, file in own.chunks().items() if number in own.visible}
            found = _best(visible, lambda number, file: _said(words, file.chunks[number]), limit, None)
            return dict(found)

    def nearest(
        self, vector: bytes, limit: int, *, files: Collection[int] | None = None
    ) -> Sequence[tuple[int, Similarity]]:
        """Return the nearest chunks."""
        with self._reading() as own:
            chunks = own.chunks()
            having = {number: chunks[number] for number in own.vectors}
            found = self.similarities(vector, list(having))
            best = _best(having, lambda number, _: found[number].cosine, limit, files, least=-2.0)
            return [(number, found[number]) for number, _ in best]

    def similarities(self, vector: bytes, chunks: Sequence[int]) -> Mapping[int, Similarity]:
        """Return the similarities of those ``chunks`` that have a vector."""
        with self._reading() as own:
            having = [one for one in chunks if one in own.vectors]
            mean = _mean(own.vectors.values())
            usual, centre = _product(vector, mean), _product(mean, mean)
            return {
                one: Similarity(_product(vector, own.vectors[one]), usual, _product(own.vectors[one], mean) - centre)
                for one in having
            }

    def chunks(self, numbers: Sequence[int]) -> Mapping[int, IndexedChunk]:
        """Return the chunks with these numbers that are still in the index."""
        with self._reading() as own:
            known = own.chunks()
            return {number: _indexed(number, known[number]) for number in numbers if number in known}

    def traits(self, numbers: Sequence[int]) -> Mapping[int, ChunkTraits]:
        """Return what is known about the documents of these chunks."""
        with self._reading() as own:
            known = own.chunks()
            return {number: _traits(number, known[number]) for number in numbers if number in known}

    def has_vectors(self) -> bool:
        """Return whether any chunk has a vector."""
        with self._reading() as own:
            return bool(own.vectors)

    def lacks_vectors(self) -> bool:
        """Return whether any chunk lacks a vector."""
        return self.counts().unembedded > 0

    def unembedded(self, limit: int, *, first: Collection[str] = ()) -> Sequence[UnembeddedChunk]:
        """Return chunks that lack a vector: those of the paths in ``first``, then of the files that changed last."""
        with self._reading() as own:
            self._embedding = own
            lacking = own.lacking()
            order = sorted(
                lacking,
                key=lambda one: (lacking[one].file.path not in first, -lacking[one].file.stamp.modified, one),
            )
            return [_unembedded(one, lacking[one]) for one in order[:limit]]

    def lacking_vectors(self, above: int, limit: int) -> Sequence[tuple[int, str]]:
        """Return the numbers and hashes of chunks that lack a vector, above a number and in order."""
        with self._reading() as own:
            self._embedding = own
            every = [(one, file.chunks[one].sha256) for one, file in own.lacking().items() if one > above]
            return every[:limit]

    def embed(self, vectors: Mapping[int, bytes], *, without: Collection[int] = ()) -> None:
        """Store vectors; none if the index was rebuilt since they were requested."""
        with self._reading() as own:
            if own is self._embedding:
                own.vectors |= {number: vectors[number] for number in vectors.keys() & own.chunks().keys()}
                own.without |= own.chunks().keys() & set(without)

    def hashes(self) -> Collection[str]:
        """Return the hashes of all chunks."""
        with self._reading() as own:
            return {file.chunks[number].sha256 for number, file in own.chunks().items()}

    def close(self) -> None:
        """Do nothing: there are no files to close."""

    @contextmanager
    def _reading(self) -> Iterator[_Contents]:
        with self._lock:
            yield self._contents or _Contents()


class InMemoryVectorStore:
    """A ``VectorStore`` that lives as long as the process."""

    def __init__(self) -> None:
        self._vectors: dict[str, dict[str, bytes]] = {}
        self._lock = threading.Lock()

    def get(self, embedder: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Return the vectors of those hashes that have one."""
        with self._lock:
            known = self._vectors.get(embedder, {})
            return {one: known[one] for one in hashes if one in known}

    def put(self, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Store vectors by their hashes, replacing earlier ones."""
        with self._lock:
            self._vectors.setdefault(embedder, {}).update(vectors)

    def keep_only(self, embedder: str, hashes: Iterable[str]) -> int:
        """Delete the vectors of an embedder whose hashes are not given, and return how many."""
        with self._lock:
            known, wanted = self._vectors.get(embedder, {}), set(hashes)
            self._vectors[embedder] = {one: vector for one, vector in known.items() if one in wanted}
            return len(known) - len(self._vectors[embedder])

    def remove(self, hashes: Sequence[str]) -> int:
        """Delete the vectors with these hashes, of every embedder, and return how many."""
        with self._lock:
            found = [(known, one) for known in self._vectors.values() for one in set(hashes) if one in known]
            for known, one in found:
                del known[one]
            return len(found)

    def close(self) -> None:
        """Do nothing: there is no file to close."""


def _is_said(chunk: Chunk, first: int, until: int) -> bool:
    return any(first <= day < until for day in chunk.days)


def _has_tag(file: IndexedFile, tags: Sequence[str]) -> bool:
    """Return whether a file has one of the tags, or one below it."""
    return any(f"{own}/".startswith(f"{as_tag(tag)}/") for own in file.tags for tag in tags)


def _passes(one: _File, filters: Filters) -> bool:
    return (
        (not filters.folders or one.folder.path in filters.folders)
        and (not filters.kinds or one.file.kind in filters.kinds)
        and (not filters.labels or one.folder.label in filters.labels)
        and (not filters.tags or _has_tag(one.file, filters.tags))
        and (filters.since is None or one.file.date >= filters.since)
        and (filters.until is None or one.file.date < filters.until)
    )


def _best(
    chunks: Mapping[int, _File],
    score: Callable[[int, _File], float],
    limit: int,
    files: Collection[int] | None,
    *,
    least: float = 0.0,
) -> list[tuple[int, float]]:
    """Return the chunks with the highest scores above ``least``, best first."""
    among = [(number, score(number, one)) for number, one in chunks.items() if files is None or one.number in files]
    return sorted((one for one in among if one[1] > least), key=lambda one: (-one[1], one[0]))[:limit]


def _named(words: Words, chunks: Mapping[int, _File]) -> dict[int, float]:
    """Return the first chunks of files that are linked with some of the words as link text, and how many words."""
    found: dict[int, float] = {}
    for number, source in chunks.items():
        for link in source.chunks[number].links:
            there = {
                one.file.path: _first(one)
                for one in chunks.values()
                if one.folder == source.folder and one is not source and note_name(one.file.path) == link.name
            }
            path, terms = link.pointed_at(source.file.path, there), parse(link.text).terms
            if path is not None and terms and len(named := matched(Words(terms), " ".join(words.terms))) == len(terms):
                found[there[path]] = max(float(len(named)), found.get(there[path], 0.0))
    return found


def _first(one: _File) -> int:
    return min(one.chunks, key=lambda number: one.chunks[number].start_line)


def _findable(one: _File, chunk: Chunk) -> str:
    return folded("\n".join((one.file.path, *chunk.heading, chunk.text)))


def _near(word: str, there: Collection[str]) -> list[str]:
    """Return the words of the index that ``word`` may mean."""
    candidates = set(one_mistake_away(word))
    if candidates & STOP_WORDS:
        return []
    nearest = sorted(candidates & set(there))
    if not nearest and mistakes(word) > 1:
        nearest = sorted(one for one in there if one[:2] == word[:2] and distance(word, one, 2) <= 2)
    return sorted(nearest, key=lambda one: one[0] != word[0])[:3]


def _count(words: Words, found: Sequence[str]) -> float:
    """Return how many words were found; a respelled one counts half."""
    typed = {*words.terms, *words.phrases, *words.quotations, *words.prefixes}
    return sum(1.0 if one in typed else 0.5 for one in found)


def _is_same(one: Chunk, other: Chunk) -> bool:
    """Return whether two chunks differ at most in their lines."""
    return replace(one, start_line=0, end_line=0) == replace(other, start_line=0, end_line=0)


def _unembedded(number: int, one: _File) -> UnembeddedChunk:
    chunk, head = one.chunks[number], "\n".join(one.text.split("\n")[:HEAD_LINES])
    return UnembeddedChunk(number, chunk.context, chunk.sha256, one.file.path, head)


def _indexed(number: int, one: _File) -> IndexedChunk:
    chunk = one.chunks[number]
    date = one.file.date if chunk.date is None else chunk.date
    if chunk.date is None and chunk.days and date // 86_400 not in chunk.days:
        date = chunk.days[-1] * 86_400
    return IndexedChunk(one.folder.path, one.file.path, one.file.kind, date, chunk)


def _traits(number: int, one: _File) -> ChunkTraits:
    begin = one.chunks[number].start_line
    conversations = sorted((chunk.start_line, each) for each, chunk in one.chunks.items() if chunk.own)
    siblings = max(1, round(len(one.chunks) / max(1, len(conversations))))
    before = [each for line, each in conversations if line <= begin]
    conversation = before[-1] if before else None
    document = -one.number if conversation is None else conversation
    date, sha256 = _indexed(number, one).date, one.chunks[number].digest
    return ChunkTraits(
        siblings, conversation, document, date, one.file.kind == "code", sha256, _language(one.chunks[number], one)
    )


def _language(chunk: Chunk, one: _File) -> str:
    return passage_language(chunk.text) or ("" if one.file.kind == "code" else passage_language(one.text))


def _said(words: Words, chunk: Chunk) -> float:
    return float(len(matched(words, chunk.own)))


def _mean(vectors: Collection[bytes]) -> bytes:
    columns = zip(*(struct.unpack(f"<{len(one) // 4}f", one) for one in vectors), strict=True)
    means = [sum(column) / (len(vectors) + 10) for column in columns]
    return struct.pack(f"<{len(means)}f", *means)


def _product(one: bytes, other: bytes) -> float:
    pairs = zip(struct.iter_unpack("<f", one), struct.iter_unpack("<f", other), strict=False)
    return float(sum(a * b for (a,), (b,) in pairs))
