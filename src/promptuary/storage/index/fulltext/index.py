"""The full text index of the file memory, on tantivy: BM25 over texts, headings and paths of chunks.

Disposable: everything in it can be made again. One process writes at a time, any number read and never wait for it.
What a question means is decided in ``lexical_query``, whether the files are whole in ``segments``.
"""

import os
import threading
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptuary.core.errors import PromptuaryError
from promptuary.core.languages import language_of
from promptuary.core.ports.index import Document, IndexDamagedError
from promptuary.core.query import extra_terms, folded
from promptuary.core.search import Words
from promptuary.storage.index.fulltext.files import (
    CommitStamp,
    IndexBusyError,
    commit_stamp,
    translate_errors,
    verify,
    verify_no_index,
)
from promptuary.storage.index.fulltext.query import LONGEST_WORD, Analyzers, QueryBuilder

if TYPE_CHECKING:
    from tantivy import Document as Entry
    from tantivy import Index, IndexWriter, Query, Schema, Searcher

MOST_HITS: Final = 100_000
"""Hits that one search returns at most."""

_HEAP: Final = 160_000_000
"""Bytes in which the writer collects before it writes a segment, of all its threads together: few segments are fast."""
_THREADS: Final = 2
_SPARE: Final = 8
"""Hits that are asked for beyond the limit, to see whether the last one stands in a tie."""


class TantivyIndex:
    """The index in ``folder``, which is made when ``writing``. May be used by several threads at once.

    ``verified`` are files of it that somebody has compared with their checksums already.
    """

    def __init__(self, folder: Path, *, writing: bool, verified: frozenset[str] = frozenset()) -> None:
        self._folder = folder
        self._writing = writing
        self._process = os.getpid()
        self._closed = False
        self._reading = threading.Lock()
        self._changing = threading.Lock()
        self.verified = verified
        self._state: tuple[CommitStamp, Index, Searcher] | None = None
        self._writer: IndexWriter | None = None
        with translate_errors(folder):
            self._analyzers = _analyzers()
            self._schema = _schema()
            if writing:
                folder.mkdir(mode=0o700, exist_ok=True)
                if commit_stamp(folder) is None:
                    verify_no_index(folder)
                    _open(folder, self._schema, self._analyzers)
            self._newest()

    def write(self, documents: Sequence[Document], dropped: Collection[int], *, fresh: bool = False) -> None:
        """Take ``dropped`` out and put ``documents`` in, replacing those of the same number; not yet to be seen.

        ``fresh`` promises that there were never any of these numbers: deletes cost more than they look.
        """
        from tantivy import Document as Entry  # noqa: PLC0415  (only who writes needs it)

        with self._changing, translate_errors(self._folder):
            writer = self._opened_writer()
            for number in dropped:
                writer.delete_documents_by_term("id", number)
            for one in documents:
                if not fresh:
                    writer.delete_documents_by_term("id", one.id)
                writer.add_document(_filled(Entry(), one))

    def commit(self) -> None:
        """Make what was written lasting and visible, to other processes too."""
        with self._changing, translate_errors(self._folder):
            self._check()
            if self._writer is None:
                return
            try:
                self._writer.commit()
            except BaseException:
                # Nobody knows what it holds now; the next one starts from what is on the disk.
                self._writer = None
                raise

    def search(self, words: Words, limit: int, *, files: Collection[int] | None = None) -> Sequence[tuple[int, float]]:
        """Return the best chunks with their BM25 scores, the best first, of equals the older; ``files``: only of these.

        A smaller limit gives the beginning of what a larger one gives.
        """
        if limit < 1 or not words or (files is not None and not files):
            return []
        with translate_errors(self._folder):
            newest = self._newest()
            if newest is None:
                return []
            _, _, searcher = newest
            query = QueryBuilder(self._schema, searcher, self._analyzers).build(words, files)
            return [] if query is None else _best(searcher, query, min(limit, MOST_HITS))

    def close(self) -> None:
        """Let go of the files, when merges are done; what was not committed is lost."""
        with self._changing, self._reading, translate_errors(self._folder):
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

    def _newest(self) -> "tuple[CommitStamp, Index, Searcher] | None":
        """Return the last commit, opened; ``None`` if there has been none."""
        state, seen = self._state, commit_stamp(self._folder)
        if state is not None and seen in {state[0], None}:
            # An index that was removed as a whole can still be read by who has it open.
            return state
        with self._reading:
            if self._closed:
                raise PromptuaryError(f"The index {self._folder.name} is closed; open it again.")
            # Before anything is read: what comes later is another mark, and is read next time.
            seen = commit_stamp(self._folder)
            if seen is None:
                if self._state is None:
                    verify_no_index(self._folder)
            elif self._state is None or seen != self._state[0]:
                self._state = self._read(seen, self._state)
            return self._state

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
            # Somebody holds the files for longer than tantivy waits; what was read last is still whole.
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
            raise PromptuaryError(f"The index {self._folder.name} was opened for reading only.")
        if self._writer is None:
            newest = self._newest() or self._remade()
            self._writer = newest[1].writer(_HEAP, _THREADS)
        return self._writer

    def _remade(self) -> "tuple[CommitStamp, Index, Searcher]":
        _open(self._folder, self._schema, self._analyzers)
        newest = self._newest()
        if newest is None:
            raise PromptuaryError(f"The index {self._folder.name} is being removed by another process; try again.")
        return newest


def _best(searcher: "Searcher", query: "Query", limit: int) -> list[tuple[int, float]]:
    """Return the ``limit`` best, in an order that does not depend on how the index is cut into segments."""
    asked = limit + _SPARE
    while True:
        hits = searcher.search(query, asked, count=False).hits
        scores = [_rounded(score) for score, _ in hits]
        # tantivy breaks ties by segment: all that tie with the last one wanted must be here.
        if len(hits) < asked or scores[-1] < scores[limit - 1]:
            break
        asked *= 4
    ids = searcher.fast_field_values("id", [address for _, address in hits])
    found = sorted((-score, int(number)) for score, number in zip(scores, ids, strict=True) if number is not None)
    return [(number, -score) for score, number in found[:limit]]


def _rounded(score: float) -> float:
    """Return a score without the digits that depend on the order in which tantivy happened to add up its parts."""
    return round(score, 4) if score >= 1 else round(score, 6)


def _filled(entry: "Entry", one: Document) -> "Entry":
    """Return an empty entry with a chunk in it, as it is indexed."""
    body = folded(one.text)
    entry.add_integer("id", one.id)
    entry.add_integer("file", one.file)
    entry.add_text("body", body)
    # Values of their own: no phrase reaches from the text into them.
    if extra := extra_terms(body):
        entry.add_text("body", extra)
    # Everything in a language is about it: so its name tells nothing apart, and is found all the same.
    if language := language_of(one.path):
        entry.add_text("body", language)
    entry.add_text("path", _short(one.path))
    if one.heading:
        entry.add_text("trail", _short(" ".join(one.heading)))
    return entry


@lru_cache(maxsize=256)
def _short(text: str) -> str:
    """Return a path or a trail as it is indexed. Neighbours share them."""
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


def _analyzers() -> Analyzers:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer  # noqa: PLC0415  (start-up counts)

    # Accents are folded before: most texts have none, and the filter looks at every word.
    def words() -> TextAnalyzerBuilder:
        simple = TextAnalyzerBuilder(Tokenizer.simple())
        return simple.filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())

    return Analyzers(words().filter(Filter.stemmer("english")).build(), words().build())


def _open(folder: Path, schema: "Schema", analyzers: Analyzers) -> "Index":
    """Open the index, or make it if there is none."""
    from tantivy import Index  # noqa: PLC0415  (start-up counts)

    index = Index(schema, str(folder))
    index.register_tokenizer("stems", analyzers.stems)
    index.register_tokenizer("plain", analyzers.plain)
    # Otherwise a thread looks for commits all the time.
    index.config_reader("manual")
    return index
