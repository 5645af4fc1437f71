"""The indexes of a workspace, opened by its settings: of its files, and of each owner's notes and experiences.

Each has a folder, whose name is made from the owner here and nowhere else: nobody can name another owner's.
"""

from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from promptuary.base.errors import ConfigError, how_to_install
from promptuary.base.principals import Owner
from promptuary.config.settings import Settings
from promptuary.models.embedders import reranker_for
from promptuary.search.chunks.lines import Sizes
from promptuary.search.folders import IndexedFolders
from promptuary.search.index.generations import remove_indexes
from promptuary.search.index.index import DiskIndex
from promptuary.search.kind_index import SearchBackend
from promptuary.search.rerank import Reranking
from promptuary.search.service import SearchService
from promptuary.search.vectors.shared import shared_embedder
from promptuary.search.vectors.store import WorkspaceVectors
from promptuary.tokens.counting import DEFAULT_VOCABULARY, Counter
from promptuary.workspace.data_folder.data_path import data_path
from promptuary.workspace.data_folder.private_folder import private_folder
from promptuary.workspace.data_folder.relocation import proof
from promptuary.workspace.documents.converter import converter_version
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.user_folders import make_folder
from promptuary.workspace.workspace import Workspace, open_door

if TYPE_CHECKING:
    from promptuary.app import App

RecordKind = Literal["notes", "experiences"]

_INDEX: Final = "index"
_VECTOR_PACKAGES: Final = ("numpy", "turbovec")


def open_search(workspace: Workspace, settings: Settings) -> SearchService:
    """Return the search of ``workspace``. Nothing is written to disk before something is indexed."""
    root = workspace.root.path
    sizes = Sizes(settings.chunk_tokens, settings.chunk_overlap)
    # Another converter reads documents differently, and perhaps some that the last one could not read.
    recipe = f"{sizes.recipe}, documents {converter_version()}{', hidden files too' * settings.index_hidden}"

    return SearchService(
        IndexedFolders(IndexedFoldersFile(root), lambda path: open_door(path, settings), hidden=settings.index_hidden),
        partial(_open, workspace, settings, recipe),
        # Always the same vocabulary: the index must not depend on the model that is used.
        Counter(DEFAULT_VOCABULARY),
        sizes,
        workspace=str(root),
        here=workspace.standpoint.folder,
        debounce=settings.watch_debounce,
    )


def open_records(app: "App", kind: RecordKind, recipe: str, place: str = "", session: str = "") -> SearchBackend:
    """Return the index of the records of the principal that ``app`` acts as: at a place, and seen by a session."""
    owner = app.principal.owner
    return _open(
        app.workspace, app.settings, recipe, owner, _folder_name(kind, owner, _place(app, kind, place), session)
    )


def drop_note_indexes(app: "App", *, keep: str = "") -> None:
    """Remove the indexes of everybody's notes, which are rebuilt when they are next used.

    ``keep`` is the place of the principal's own notes whose index stays.
    """
    if data_path(app.path, disposable=True).has(_INDEX):
        kept = _folder_name("notes", app.principal.owner, _place(app, "notes", keep), "") if keep else ""
        remove_indexes(private_folder(app.path, _INDEX), "notes-", but=kept)


def _place(app: "App", kind: RecordKind, place: str) -> str:
    """Return the place of records: on a server, a user of the same name has other notes than the person here."""
    return f"{place}\0served" if app.served and kind == "notes" else place


def _folder_name(kind: RecordKind, owner: Owner, place: str, session: str) -> str:
    """Return the folder of an index: no other owner, kind, place or session has the same."""
    # Names are printable, so none contains a NUL.
    named = f"{owner.kind}\0{owner.name}\0{owner.agent}\0{place}\0{session}"
    return f"{kind}-{sha256(named.encode()).hexdigest()[:16]}"


def _open(
    workspace: Workspace, settings: Settings, recipe: str, owner: Owner | None = None, name: str = ""
) -> SearchBackend:
    """Return the index in the folder ``name``, whose vectors are those of ``owner`` or, without one, of everybody."""
    embedder = shared_embedder(settings)
    if embedder is not None and not all(map(find_spec, _VECTOR_PACKAGES)):
        # An endpoint or a plug-in needs no model here, but the vectors still have to be stored and compared.
        raise ConfigError(
            f"search by meaning needs {' and '.join(_VECTOR_PACKAGES)}, with an endpoint or a plug-in too: "
            f'{how_to_install("embeddings", only=_VECTOR_PACKAGES)}, or set embedder = "none"'
        )
    folder = private_folder(workspace.root.path, _INDEX)
    store = WorkspaceVectors(workspace, owner) if embedder else None
    made_here = proof(Path("/"), _INDEX)[:16]  # the same wherever this person moves the folder
    index = DiskIndex(
        make_folder(folder / name) if name else folder, recipe, store=store, embedder=embedder, maker=made_here
    )
    reranker = reranker_for(settings)
    return SearchBackend(index, store, embedder, Reranking(reranker, settings.rerank_timeout) if reranker else None)
