"""Small embedders to test with, and a search that uses one; nothing here needs a model or a home."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from promptuary.base.errors import PromptuaryError
from promptuary.config.settings import Settings
from promptuary.models.protocols import Embedder, Purpose, Scale
from promptuary.search.chunks.lines import Sizes
from promptuary.search.folders import IndexedFolders
from promptuary.search.index.index import DiskIndex
from promptuary.search.kind_index import SearchBackend
from promptuary.search.service import SearchService
from promptuary.search.vectors.store import Vectors
from promptuary.tokens.counting import DEFAULT_VOCABULARY, Counter
from promptuary.workspace.data_folder.private_folder import private_folder
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.workspace import open_door


class HashedWords:
    """Texts with the same words have the same vector. Notes what it is given; fails as soon as ``broken`` says why."""

    scale: Scale | None = Scale()

    def __init__(self, name: str = "hashed words", dimensions: int = 16) -> None:
        self.id = name
        self.dimensions = dimensions
        self.passages: list[str] = []
        self.questions: list[str] = []
        self.broken = ""

    def prepare(self) -> None:
        """Have nothing to load."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        if self.broken:
            raise PromptuaryError(self.broken)
        (self.questions if purpose == "query" else self.passages).extend(texts)
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        vector = np.zeros(self.dimensions, "<f4")
        for word in re.findall(r"\w+", text.lower()) or [""]:
            digest = hashlib.sha256(f"{self.id} {word}".encode("utf-8", "surrogatepass")).digest()
            vector[digest[0] % self.dimensions] += 1.0 if digest[1] % 2 else -1.0
        length = float(np.sqrt((vector * vector).sum()))
        if not length:
            vector[0] = length = 1.0
        return (vector / length).astype("<f4").tobytes()


@contextmanager
def search_with(
    workspace: Path,
    embedder: Embedder | None = None,
    *,
    sizes: Sizes | None = None,
    debounce: float = 0.05,
    hidden: bool = False,
) -> Iterator[SearchService]:
    """Open the search of ``workspace`` with this embedder; the list of its folders lies beside the workspace."""
    sizes = sizes or Sizes(256, 32)
    store = Vectors(private_folder(workspace) / "state.db") if embedder else None
    index = DiskIndex(private_folder(workspace, "index"), sizes.recipe, store=store, embedder=embedder)
    listed = IndexedFoldersFile(workspace, folder=workspace.parent / "folders")
    service = SearchService(
        IndexedFolders(listed, lambda path: open_door(path, Settings()), hidden=hidden),
        lambda: SearchBackend(index, store, embedder),
        Counter(DEFAULT_VOCABULARY),
        sizes,
        debounce=debounce,
    )
    try:
        yield service
    finally:
        service.close()
