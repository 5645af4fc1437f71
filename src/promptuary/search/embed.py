"""Gives chunks their vectors, a batch at a time, so that it can be stopped and taken up again anywhere.

A vector is kept for good by the hash of what it was made of: a text that was embedded once, in whatever file, is not
embedded again. Chunks get their vectors in the order of their numbers, and the index remembers how far that has come.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from promptuary.core.ports.index import Unembedded, VectorStore
from promptuary.core.ports.models import Embedder, vector_space_id

BATCH: Final = 32
"""How many texts are embedded before it can be stopped."""

_LOOKED_UP: Final = 1_024
"""How many chunks are asked for at a time: most of them may have a vector already."""


class Embeddable(Protocol):
    """An index that lacks vectors."""

    def unembedded(self, limit: int) -> Sequence[Unembedded]:
        """Return the first chunks without a vector, in the order of their numbers."""
        ...

    def embed(self, vectors: Mapping[int, bytes]) -> None:
        """Put the vectors of the first of them into the index."""
        ...


def restore(index: Embeddable, store: VectorStore, embedder: Embedder, *, go_on: Callable[[], bool]) -> int:
    """Give chunks the vectors that are kept already, up to the first that has none; return how many. Embeds nothing."""
    done, kind = 0, vector_space_id(embedder)
    while go_on() and (chunks := index.unembedded(_LOOKED_UP)):
        known = store.get(kind, list({chunk.sha256 for chunk in chunks}))
        count = next((place for place, chunk in enumerate(chunks) if chunk.sha256 not in known), len(chunks))
        index.embed({chunk.id: known[chunk.sha256] for chunk in chunks[:count]})
        done += count
        if count < len(chunks):
            break
    return done


def embed_missing(
    index: Embeddable, store: VectorStore, embedder: Embedder, *, go_on: Callable[[int], bool] = lambda _: True
) -> int:
    """Embed what has no vector; ``go_on`` is told how many are done and may stop it. Returns how many were done."""
    done, kind = 0, vector_space_id(embedder)
    while chunks := index.unembedded(_LOOKED_UP):
        known = dict(store.get(kind, list({chunk.sha256 for chunk in chunks})))
        # What has its vector already goes in at once; what has none, a batch at a time.
        step = BATCH if any(chunk.sha256 not in known for chunk in chunks) else len(chunks)
        for start in range(0, len(chunks), step):
            batch = chunks[start : start + step]
            lacking = {chunk.sha256: chunk.context for chunk in batch if chunk.sha256 not in known}
            if lacking:
                if not go_on(done):
                    return done
                vectors = dict(zip(lacking, embedder.embed(list(lacking.values()), "passage"), strict=True))
                store.put(kind, vectors)
                known |= vectors
            index.embed({chunk.id: known[chunk.sha256] for chunk in batch})
            done += len(batch)
        if not go_on(done):
            return done
    return done
