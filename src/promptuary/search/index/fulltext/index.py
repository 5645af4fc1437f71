"""The full-text index of files, built on tantivy: BM25 over the texts, headings and paths of chunks.

Disposable: everything in it can be rebuilt. One process writes at a time; any number of processes read, and never wait
for the writer. ``query`` builds the queries, ``spelling`` corrects misspelled words, ``files`` verifies the files.
"""

import os
import threading
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptuary.base.errors import IndexBusyError, IndexDamagedError, PromptuaryError
from promptuary.base.languages import language_of
from promptuary.search.index.document import Document
from promptuary.search.index.fulltext.files import CommitStamp, commit_stamp, translate_errors, verify, verify_no_index
from promptuary.search.index.fulltext.query import LONGEST_WORD, Analyzers, QueryBuilder
from promptuary.search.index.fulltext.spelling import Speller
from promptuary.search.query import extra_terms, folded
from promptuary.search.values import Words

if TYPE_CHECKING:
    from tantivy import Document as Entry
    from tantivy import Index, IndexWriter, Query, Schema, Searcher

MOST_HITS: Final = 100_000
"""The greatest number of hits of one search."""

_HEAP: Final = 160_000_000
"""Size of the writer's buffer in bytes, for all its threads together: a large one makes few segments, which is fast."""
_THREADS: Final = 2
_SMALL_HEAP: Final = 15_000_000
"""The same for an index in memory, which is small, and written by one thread: the least that tantivy accepts."""
_NO_STAMP: Final = (0, 0, 0)
_SPARE: Final = 8
"""Hits requested beyond the limit, to detect a tie with the last one."""


class TantivyIndex:
    """The index in ``folder``, which is created if ``writing``; without one, in memory. Thread-safe.

    ``verified`` are the names of files whose checksums were verified before.
    """

    def __init__(self, folder: Path | None, *, writing: bool, verified: frozenset[str] = frozenset()) -> None:
        self._in_memory = folder is None
        self._folder = folder = folder or Path("in memory")
        self._writing = writing
        self._process = os.getpid()
        self._closed = False
        self._read_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self.verified = verified
        self._state: tuple[CommitStamp, Index, Searcher] | None = None
        self._writer: IndexWriter | None = None
        with translate_errors(folder):
            self._analyzers = make_analyzers()
            self._schema = _schema()
            if self._in_memory:
                self._read_memory(_open(None, self._schema, self._analyzers))
                return
            if writing:
                folder.mkdir(mode=0o700, exist_ok=True)
                if commit_stamp(folder) is None:
                    verify_no_index(folder)
                    _open(folder, self._schema, self._analyzers)
            self._last_commit()

    def write(self, documents: Sequence[Document], dropped: Collection[int], *, fresh: bool = False) -> None:
        """Remove ``dropped`` and add ``documents``, replacing those with the same number; visible after ``commit``.

        ``fresh`` promises that the numbers are new: deleting is expensive.
        """
        from tantivy import Document as Entry  # noqa: PLC0415  (only a writer needs it)

        with self._write_lock, translate_errors(self._folder):
            writer = self._opened_writer()
            for number in dropped:
                writer.delete_documents_by_term("id", number)
            for one in documents:
                if not fresh:
                    writer.delete_documents_by_term("id", one.id)
                writer.add_document(_fill(Entry(), one))

    def commit(self) -> None:
        """Make changes durable and visible, to other processes too."""
        with self._write_lock, translate_errors(self._folder):
            self._check()
            if self._writer is None:
                return
            try:
                self._writer.commit()
                if self._in_memory and self._state is not None:
                    # Its threads would stay, with their buffers.
                    writer, self._writer = self._writer, None
                    writer.wait_merging_threads()
                    self._read_memory(self._state[1])
            except BaseException:
                # Its state is unknown now; the next writer reloads the files.
                self._writer = None
                raise

    def search(self, words: Words, limit: int, *, files: Collection[int] | None = None) -> Sequence[tuple[int, float]]:
        """Return the best chunks, the best first, of equal ones the older first, and how many words each explains.

        That is BM25 in words of average rarity. ``files`` restricts the search to these files. The result for a smaller
        limit is a prefix of that for a larger one.
        """
        if limit < 1 or not words or (files is not None and not files):
            return []
        with translate_errors(self._folder):
            last = self._last_commit()
            if last is None:
                return []
            _, _, searcher = last
            builder = QueryBuilder(self._schema, searcher, self._analyzers)
            query = builder.build(words, files)
            return [] if query is None else _best(searcher, query, min(limit, MOST_HITS), builder.average())

    def respelled(self, words: Words) -> Words:
        """Return the words with near spellings for those that no chunk has."""
        with translate_errors(self._folder):
            last = self._last_commit()
            return words if last is None else Speller(last[2], self._analyzers).respelled(words)

    def size(self) -> int:
        """Return how many chunks there are."""
        with translate_errors(self._folder):
            last = self._last_commit()
            return 0 if last is None else int(last[2].num_docs)

    def average(self, words: Words) -> float:
        """Return the score of a word of average rarity, among these: what ``search`` measures in."""
        with translate_errors(self._folder):
            last = self._last_commit()
            if last is None:
                return 1.0
            builder = QueryBuilder(self._schema, last[2], self._analyzers)
            builder.build(words, None)
            return builder.average()

    def explained(self, words: Words, named: Sequence[tuple[int, str]]) -> dict[int, float]:
        """Return how many words chunks explain by their names, as if these occurred once in a text of average length.

        A name counts if all its words are among ``words``: "release" alone does not mean "release notes".
        """
        with translate_errors(self._folder):
            last = self._last_commit()
            if last is None:
                return {}
            builder = QueryBuilder(self._schema, last[2], self._analyzers)
            builder.build(words, None)
            return builder.explained(named)

    def close(self) -> None:
        """Close the files after pending merges; uncommitted changes are lost."""
        with self._write_lock, self._read_lock, translate_errors(self._folder):
            self._closed = True
            writer, self._writer, self._state = self._writer, None, None
            if writer is not None and os.getpid() == self._process:
                writer.wait_merging_threads()

    def _check(self) -> None:
        if self._closed:
            raise PromptuaryError(f"The index {self._folder.name} is closed; open it again.")
        if os.getpid() != self._process:
            raise PromptuaryError(
                f"The index {self._folder.name} was opened before this process forked; open it again."
            )

    def _last_commit(self) -> "tuple[CommitStamp, Index, Searcher] | None":
        """Return the last commit, opened; ``None`` if there is none."""
        state = self._state
        if self._in_memory:
            if state is None:
                self._check()
            return state
        seen = commit_stamp(self._folder)
        if state is not None and seen in {state[0], None}:
            # A removed index can still be read by a process that has it open.
            return state
        with self._read_lock:
            if self._closed:
                raise PromptuaryError(f"The index {self._folder.name} is closed; open it again.")
            # Taken before reading: a later commit has another stamp, and is read next time.
            seen = commit_stamp(self._folder)
            if seen is None:
                if self._state is None:
                    verify_no_index(self._folder)
            elif self._state is None or seen != self._state[0]:
                self._state = self._read(seen, self._state)
            return self._state

    def _read_memory(self, index: "Index") -> None:
        """Read the last commit of an index in memory."""
        index.reload()
        self._state = _NO_STAMP, index, index.searcher()

    def _read(
        self, seen: CommitStamp, before: "tuple[CommitStamp, Index, Searcher] | None"
    ) -> "tuple[CommitStamp, Index, Searcher]":
        try:
            with translate_errors(self._folder):
                self.verified = verify(self._folder, self.verified)
                index = before[1] if before else _open(self._folder, self._schema, self._analyzers)
                index.reload()
                return seen, index, index.searcher()
        except IndexBusyError:
            # Another process locks the files for longer than tantivy waits; the last commit is still valid.
            if before is None:
                raise
            return before
        except IndexDamagedError:
            if before is None or commit_stamp(self._folder) is not None:
                raise
            return before

    def _opened_writer(self) -> "IndexWriter":
        self._check()
        if not self._writing:
            raise PromptuaryError(f"The index {self._folder.name} was opened read-only.")
        if self._writer is None:
            last = self._last_commit() or self._recreated()
            self._writer = last[1].writer(*((_SMALL_HEAP, 1) if self._in_memory else (_HEAP, _THREADS)))
        return self._writer

    def _recreated(self) -> "tuple[CommitStamp, Index, Searcher]":
        _open(self._folder, self._schema, self._analyzers)
        last = self._last_commit()
        if last is None:
            raise PromptuaryError(f"The index {self._folder.name} is being removed by another process; try again.")
        return last


def _best(searcher: "Searcher", query: "Query", limit: int, average: float) -> list[tuple[int, float]]:
    """Return the ``limit`` best, in an order that does not depend on segments; scores are in units of ``average``."""
    asked = limit + _SPARE
    while True:
        hits = searcher.search(query, asked, count=False).hits
        # Without the digits that depend on the order in which tantivy adds the parts of a score.
        scores = [int(one * 1e4 + 0.5) / 1e4 if one >= 1 else int(one * 1e6 + 0.5) / 1e6 for one, _ in hits]
        # tantivy breaks ties by segment: all hits that tie with the last wanted one must be among these.
        if len(hits) < asked or scores[-1] < scores[limit - 1]:
            break
        asked *= 4
    ids = searcher.fast_field_values("id", [address for _, address in hits])
    found = sorted([(-score, int(number)) for score, number in zip(scores, ids, strict=True) if number is not None])
    return [(number, -score / average) for score, number in found[:limit]]


def _fill(entry: "Entry", one: Document) -> "Entry":
    """Return ``entry``, an empty one, filled with a chunk as it is indexed."""
    entry.add_integer("id", one.id)
    entry.add_integer("file", one.file)
    for field, text in indexed_texts(one):
        entry.add_text(field, text)
    return entry


def indexed_texts(one: Document) -> Iterator[tuple[str, str]]:
    """Yield the fields of a chunk with their texts, as they are analysed."""
    body = folded(one.text)
    yield "body", body
    # Separate values: no phrase matches across the text and them.
    if extra := extra_terms(body):
        yield "body", extra
    # So that the name of a language finds its files; all of them have it, so it does not change their order.
    if language := language_of(one.path):
        yield "body", language
    yield "path", _short(one.path)
    for above in (one.heading, one.names):
        if above:
            yield "trail", _short(" ".join(above))


@lru_cache(maxsize=256)
def _short(text: str) -> str:
    """Return a path or a trail as it is indexed. Cached, because neighbouring chunks share them."""
    text = folded(text)
    return f"{text} {extra}" if (extra := extra_terms(text)) else text


def _schema() -> "Schema":
    from tantivy import SchemaBuilder  # noqa: PLC0415  (start-up counts)

    builder = SchemaBuilder()
    builder.add_integer_field("id", indexed=True, fast=True)
    builder.add_integer_field("file", indexed=True)
    builder.add_text_field("body", tokenizer_name="stems")
    builder.add_text_field("trail", tokenizer_name="stems")
    builder.add_text_field("path", tokenizer_name="plain")
    return builder.build()


def make_analyzers() -> Analyzers:
    """Return how texts and questions become words."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer  # noqa: PLC0415  (start-up counts)

    # Accents are folded before: most texts have none, and a filter would examine every word.
    def words() -> TextAnalyzerBuilder:
        simple = TextAnalyzerBuilder(Tokenizer.simple())
        return simple.filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())

    return Analyzers(words().filter(Filter.stemmer("english")).build(), words().build())


def _open(folder: Path | None, schema: "Schema", analyzers: Analyzers) -> "Index":
    """Open the index, or create it if there is none; without a folder, in memory."""
    from tantivy import Index  # noqa: PLC0415  (start-up counts)

    index = Index(schema) if folder is None else Index(schema, str(folder))
    index.register_tokenizer("stems", analyzers.stems)
    index.register_tokenizer("plain", analyzers.plain)
    # Otherwise a thread polls for commits all the time.
    index.config_reader("manual")
    return index
