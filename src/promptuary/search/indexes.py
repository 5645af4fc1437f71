"""The indexes of a workspace, opened by its settings: of its files, and of each owner's notes and experiences.

Each has a folder, whose name is made from the owner here and nowhere else: nobody can name another owner's. The few
records of one principal among many are indexed in memory, under the same name: ten thousand of them need no folder.
With ``index = "database"`` they are in tables of PostgreSQL, under these names, and nothing is on this disk.
"""

import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from weakref import WeakKeyDictionary

from promptuary.base.errors import ConfigError, how_to_install
from promptuary.base.principals import Owner
from promptuary.config.settings import Settings
from promptuary.database.port import Database
from promptuary.models.embedders import reranker_for
from promptuary.models.protocols import Embedder
from promptuary.search.chunks.lines import Sizes
from promptuary.search.folders import IndexedFolders
from promptuary.search.index.generations import remove_indexes
from promptuary.search.index.index import DiskIndex
from promptuary.search.index.memory import MemoryIndex
from promptuary.search.index.port import SearchIndex
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
from promptuary.workspace.state_file import open_database
from promptuary.workspace.user_folders import make_folder
from promptuary.workspace.workspace import Workspace, open_door

if TYPE_CHECKING:
    from promptuary.app import App

RecordKind = Literal["notes", "experiences"]

MOST_IN_MEMORY: Final = 200
"""The most records that are indexed in memory."""

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


def open_records(
    app: "App", kind: RecordKind, recipe: str, count: Callable[[], int], *, place: str = "", session: str = ""
) -> SearchBackend:
    """Return the index of the records of the principal that ``app`` acts as: at a place, and seen by a session.

    ``count`` returns how many there are.
    """
    owner = app.principal.owner
    name = _folder_name(kind, owner, _place(app, kind, place), session)
    if _is_in_database(app.settings):
        return _open(app.workspace, app.settings, recipe, owner, name)
    # One that is there is used: what is forgotten must be gone from it, too.
    on_disk = (
        not app.is_one_of_many
        or count() > MOST_IN_MEMORY
        or data_path(app.path, disposable=True).has(f"{_INDEX}/{name}")
    )
    return _open(app.workspace, app.settings, recipe, owner, name, on_disk=on_disk)


def drop_note_indexes(app: "App", *, keep: str = "") -> None:
    """Remove the indexes of everybody's notes, which are rebuilt when they are next used.

    ``keep`` is the place of the principal's own notes whose index stays.
    """
    kept = _folder_name("notes", app.principal.owner, _place(app, "notes", keep), "") if keep else ""
    if _is_in_database(app.settings):
        from promptuary.search.index.postgres.index import drop_indexes  # noqa: PLC0415  (few people have a server)

        with closing(_opened_database(app.workspace, app.settings)) as database:
            drop_indexes(database, "notes-", but=kept)
    _clear_in_memory(app.path, "notes-", but=kept)
    if data_path(app.path, disposable=True).has(_INDEX):
        remove_indexes(private_folder(app.path, _INDEX), "notes-", but=kept)


_in_memory: Final = WeakKeyDictionary[MemoryIndex, tuple[Path, str]]()
"""The indexes in memory, each with its workspace and its name."""
_listing: Final = threading.Lock()


def _open_in_memory(
    workspace: Path, name: str, store: WorkspaceVectors | None, embedder: Embedder | None
) -> MemoryIndex:
    index = MemoryIndex(store=store, embedder=embedder)
    with _listing:
        _in_memory[index] = (workspace, name)
    return index


def _clear_in_memory(workspace: Path, prefix: str, *, but: str | SearchIndex) -> None:
    """Clear the indexes in memory whose names begin with ``prefix``; the next search fills them again."""
    with _listing:
        every = [
            index
            for index, (place, name) in _in_memory.items()
            if place == workspace and name.startswith(prefix) and but not in (name, index)
        ]
    for index in every:
        index.clear()


def _place(app: "App", kind: RecordKind, place: str) -> str:
    """Return the place of records: on a server, a user of the same name has other notes than the person here."""
    return f"{place}\0served" if app.served and kind == "notes" else place


def _folder_name(kind: RecordKind, owner: Owner, place: str, session: str) -> str:
    """Return the folder of an index: no other owner, kind, place or session has the same."""
    # Names are printable, so none contains a NUL.
    named = f"{owner.kind}\0{owner.name}\0{owner.agent}\0{place}\0{session}"
    return f"{kind}-{sha256(named.encode()).hexdigest()[:16]}"


def _open(
    workspace: Workspace,
    settings: Settings,
    recipe: str,
    owner: Owner | None = None,
    name: str = "",
    *,
    on_disk: bool = True,
) -> SearchBackend:
    """Return the index in the folder ``name``, whose vectors are those of ``owner`` or, without one, of everybody."""
    embedder = shared_embedder(settings)
    if embedder is not None and not all(map(find_spec, _VECTOR_PACKAGES)):
        # An endpoint or a plug-in needs no model here, but the vectors still have to be stored and compared.
        raise ConfigError(
            f"search by meaning needs {' and '.join(_VECTOR_PACKAGES)}, with an endpoint or a plug-in too: "
            f'{how_to_install("embeddings", only=_VECTOR_PACKAGES)}, or set embedder = "none"'
        )
    root = workspace.root.path
    store = WorkspaceVectors(workspace, settings, owner) if embedder else None
    reranker = reranker_for(settings)
    reranking = Reranking(reranker, settings.rerank_timeout) if reranker else None
    index: SearchIndex
    if _is_in_database(settings):
        from promptuary.search.index.postgres.index import PostgresIndex  # noqa: PLC0415  (few people have a server)

        database = _opened_database(workspace, settings)
        index = PostgresIndex(database, name or "files", recipe, owner=owner, store=store, embedder=embedder)
    elif on_disk:
        folder = private_folder(root, _INDEX)
        made_here = proof(Path("/"), _INDEX)[:16]  # the same wherever this person moves the folder
        place = make_folder(folder / name) if name else folder
        index = DiskIndex(place, recipe, store=store, embedder=embedder, maker=made_here)
    else:
        index = _open_in_memory(root, name, store, embedder)
    return SearchBackend(
        index, store, embedder, reranking, None if on_disk else MOST_IN_MEMORY, partial(_drop_copies, root, name, index)
    )


def _is_in_database(settings: Settings) -> bool:
    """Return whether the indexes are tables of PostgreSQL."""
    if settings.index == "database" and not settings.database:
        raise ConfigError(
            'index = "database" needs PostgreSQL: set database = "postgresql://USER@HOST/NAME", or index = "embedded"'
        )
    return settings.index == "database"


def _opened_database(workspace: Workspace, settings: Settings) -> Database:
    database = open_database(workspace, settings.database, settings.tenant)
    if database is None:
        raise AssertionError("a database that is created is there")
    return database


def _drop_copies(workspace: Path, name: str, own: SearchIndex) -> None:
    """Remove other indexes of the same records: those in memory and, if ``own`` is in memory, one on disk.

    Another process may have made that, and whoever has the same principal with other rights has one of its own.
    """
    _clear_in_memory(workspace, name, but=own)
    if isinstance(own, MemoryIndex) and data_path(workspace, disposable=True).has(f"{_INDEX}/{name}"):
        remove_indexes(private_folder(workspace, _INDEX), name)
