"""The indexes of a workspace, opened by its settings: of files, of notes, of experiences."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from promptuary.config.settings import Settings
from promptuary.core.errors import ConfigError, how_to_install
from promptuary.core.principals import Owner
from promptuary.models.embedders import embedder_for, reranker_for
from promptuary.search.chunks.sizes import Sizes
from promptuary.search.folders import IndexedFolders
from promptuary.search.rerank import Reranking
from promptuary.search.service import SearchBackend, SearchService
from promptuary.search.vectors.stored import StoredVectors
from promptuary.storage.index.generations import remove_indexes
from promptuary.storage.index.index import DiskIndex
from promptuary.tokens import DEFAULT_VOCABULARY, Counter
from promptuary.workspace.disk.own.moved import proof
from promptuary.workspace.disk.own.own_place import own_place
from promptuary.workspace.disk.own.private_folder import private_folder
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.user_folders import made
from promptuary.workspace.web.converter import converter_version
from promptuary.workspace.workspace import Workspace, open_door

_INDEX: Final = "index"
_NOTES: Final = "notes-"
_VECTOR_PACKAGES: Final = ("numpy", "turbovec")


def open_search(workspace: Workspace, settings: Settings) -> SearchService:
    """Return the search of ``workspace``. Nothing is written to disk before something is indexed."""
    root = workspace.root.path
    sizes = Sizes(settings.chunk_tokens, settings.chunk_overlap)
    # Another converter reads documents differently, and perhaps some that the last one could not read.
    recipe = f"{sizes.recipe}, documents {converter_version()}{', hidden files too' * settings.index_hidden}"

    return SearchService(
        IndexedFolders(IndexedFoldersFile(root), lambda path: open_door(path, settings), hidden=settings.index_hidden),
        lambda: _backend(workspace, settings, private_folder(root, _INDEX), recipe),
        # Always the same vocabulary: the index must not depend on the model that is used.
        Counter(DEFAULT_VOCABULARY),
        sizes,
        workspace=str(root),
        here=workspace.standpoint.folder,
        debounce=settings.watch_debounce,
    )


def notes_backend(workspace: Workspace, settings: Settings, owner: Owner, name: str, recipe: str) -> SearchBackend:
    """Return the index of the notes of a principal."""
    return records_backend(workspace, settings, owner, f"{_NOTES}{name}", recipe)


def records_backend(workspace: Workspace, settings: Settings, owner: Owner, name: str, recipe: str) -> SearchBackend:
    """Return an index for records of a principal: in a separate folder, beside the index of files."""
    folder = made(private_folder(workspace.root.path, _INDEX) / name)
    return _backend(workspace, settings, folder, recipe, owner)


def drop_note_indexes(workspace: Workspace, *, but: str = "") -> None:
    """Remove the indexes of notes, except ``but``: each principal has one, which is rebuilt when it is next used."""
    if own_place(workspace.root.path, disposable=True).has(_INDEX):
        remove_indexes(private_folder(workspace.root.path, _INDEX), _NOTES, but=f"{_NOTES}{but}")


def _backend(
    workspace: Workspace, settings: Settings, folder: Path, recipe: str, owner: Owner | None = None
) -> SearchBackend:
    embedder = embedder_for(settings)
    if embedder is not None and not all(map(find_spec, _VECTOR_PACKAGES)):
        # An endpoint or a plug-in needs no model here, but the vectors still have to be stored and compared.
        raise ConfigError(
            f"search by meaning needs {' and '.join(_VECTOR_PACKAGES)}, with an endpoint or a plug-in too: "
            f'{how_to_install("embeddings", only=_VECTOR_PACKAGES)}, or set embedder = "none"'
        )
    store = StoredVectors(workspace, owner) if embedder else None
    made_here = proof(Path("/"), _INDEX)[:16]  # the same wherever this person moves the folder
    index = DiskIndex(folder, recipe, store=store, embedder=embedder, maker=made_here)
    return SearchBackend(index, store, embedder, _reranking(settings))


def _reranking(settings: Settings) -> Reranking | None:
    reranker = reranker_for(settings)
    return Reranking(reranker, settings.rerank_timeout) if reranker else None
