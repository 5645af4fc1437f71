"""Gives chunks their vectors, a batch at a time, so that it can be stopped and continued anywhere.

A vector is stored durably by the hash of what was embedded: a text that was embedded once, in whatever file, is not
embedded again. Chunks get their vectors in the order of their numbers, and the index remembers how far that has come.
"""

from collections.abc import Callable
from typing import Final

from promptuary.core.ports.index import SearchIndex, VectorStore
from promptuary.core.ports.models import Embedder, vector_space_id
from promptuary.core.search import EmbedProgress

BATCH: Final = 32
"""How many texts are embedded before it can be stopped."""

_LOOKED_UP: Final = 1_024
"""How many chunks are read at a time: most of them may have a stored vector."""


def restore(index: SearchIndex, store: VectorStore, embedder: Embedder, *, proceed: Callable[[], bool]) -> int:
    """Give chunks their stored vectors, up to the first that has none, while ``proceed`` is true; return how many.

    Nothing is embedded.
    """
    done, space = 0, vector_space_id(embedder)
    while proceed() and (chunks := index.unembedded(_LOOKED_UP)):
        known = store.get(space, list({chunk.sha256 for chunk in chunks}))
        count = next((place for place, chunk in enumerate(chunks) if chunk.sha256 not in known), len(chunks))
        index.embed({chunk.id: known[chunk.sha256] for chunk in chunks[:count]})
        done += count
        if count < len(chunks):
            break
    return done


def embed_missing(
    index: SearchIndex, store: VectorStore, embedder: Embedder, *, progress: EmbedProgress | None = None
) -> int:
    """Embed every chunk that has no vector, until ``progress`` returns false; return how many were done."""
    done, space = 0, vector_space_id(embedder)
    proceed = progress or (lambda _: True)
    while chunks := index.unembedded(_LOOKED_UP):
        known = dict(store.get(space, list({chunk.sha256 for chunk in chunks})))
        # Stored vectors are written at once; missing ones are made a batch at a time.
        step = BATCH if any(chunk.sha256 not in known for chunk in chunks) else len(chunks)
        for start in range(0, len(chunks), step):
            batch = chunks[start : start + step]
            lacking = {chunk.sha256: chunk.context for chunk in batch if chunk.sha256 not in known}
            if lacking:
                if not proceed(done):
                    return done
                vectors = dict(zip(lacking, embedder.embed(list(lacking.values()), "passage"), strict=True))
                store.put(space, vectors)
                known |= vectors
            index.embed({chunk.id: known[chunk.sha256] for chunk in batch})
            done += len(batch)
        if not proceed(done):
            return done
    return done
