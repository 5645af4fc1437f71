"""Computes the vectors of chunks, one batch at a time, so that it can be interrupted and resumed at any point.

A vector is stored durably by the hash of what was embedded: the same text in any file is embedded only once. What a
person is likely to ask about comes first: files that were found lately, then the files that changed last. Generated
text gets no vector: it is found by its words.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from promptuary.models.protocols import Embedder
from promptuary.search.chunks.generated import is_generated
from promptuary.search.index.port import SearchIndex, UnembeddedChunk, VectorStore
from promptuary.search.values import EmbedProgress, vector_space_id
from promptuary.search.vectors.elsewhere import embed_elsewhere
from promptuary.search.vectors.scale import measure, measured

BATCH: Final = 32
"""How many texts are embedded between two chances to stop."""

_WINDOW: Final = 256
"""How many chunks are sorted by length at a time.

Texts of about the same length keep all threads busy until the end of a batch, and an endpoint pads them less. More
would be less than one percent faster, and deviate from the order of priority.
"""

_LOOKED_UP: Final = 4_096
"""How many stored vectors are looked up at a time."""


def restore(index: SearchIndex, store: VectorStore, embedder: Embedder, *, progress: EmbedProgress) -> int:
    """Restore stored vectors of chunks until ``progress`` returns false; return how many. Nothing is embedded.

    Ends with the first batch in which no chunk has a stored vector, so that it costs little where nothing is stored.
    """
    done, above, space = 0, 0, vector_space_id(embedder)
    while lacking := index.lacking_vectors(above, _LOOKED_UP):
        known = store.get(space, list({sha256 for _, sha256 in lacking}))
        if not known:
            break
        found = {number: known[sha256] for number, sha256 in lacking if sha256 in known}
        index.embed(found)
        done += len(found)
        above = lacking[-1][0]
        if not progress(done):
            break
    return done


def embed_missing(
    index: SearchIndex,
    store: VectorStore,
    embedder: Embedder,
    *,
    first: Collection[str] = (),
    progress: EmbedProgress | None = None,
) -> int:
    """Embed every chunk that lacks a vector, until ``progress`` returns false; return how many were done.

    ``first`` are paths of files that come before all others.
    """
    proceed = progress or (lambda _: True)
    done, space = restore(index, store, embedder, progress=proceed), vector_space_id(embedder)
    if index.lacks_vectors():
        measure(store, embedder)
    if (index.lacks_vectors() or index.has_vectors()) and measured(store, embedder).topical:
        embed_elsewhere(store, embedder)
    while chunks := index.unembedded(_WINDOW, first=first):
        generated = [chunk.id for chunk in chunks if is_generated(chunk.path, chunk.head, chunk.context)]
        index.embed({}, without=generated)
        done += len(generated)
        left = set(generated)
        for batch in _batches([chunk for chunk in chunks if chunk.id not in left]):
            if not proceed(done):
                return done
            # Looked up only now: another process may be embedding the same chunks.
            known = dict(store.get(space, list({chunk.sha256 for chunk in batch})))
            lacking = {chunk.sha256: chunk.context for chunk in batch if chunk.sha256 not in known}
            if lacking:
                vectors = dict(zip(lacking, embedder.embed(list(lacking.values()), "passage"), strict=True))
                store.put(space, vectors)
                known |= vectors
            index.embed({chunk.id: known[chunk.sha256] for chunk in batch})
            done += len(batch)
        if not proceed(done):
            return done
    return done


def _batches(chunks: Sequence[UnembeddedChunk]) -> Iterator[list[UnembeddedChunk]]:
    """Yield the chunks in batches of ``BATCH`` different texts, the longest first; equal texts stay together."""
    same: dict[str, list[UnembeddedChunk]] = {}
    for chunk in sorted(chunks, key=lambda one: -len(one.context)):
        same.setdefault(chunk.sha256, []).append(chunk)
    texts = list(same.values())
    for start in range(0, len(texts), BATCH):
        yield [chunk for equal in texts[start : start + BATCH] for chunk in equal]
