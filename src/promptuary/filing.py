"""Opens the file memory of a workspace as its settings say: where the index is, how files are cut, who embeds."""

from typing import Final

from promptuary.config import Settings
from promptuary.core.errors import ConfigError
from promptuary.core.indexing import Embedder, VectorStore
from promptuary.doors import Doors, open_door
from promptuary.file_memory import FileMemory
from promptuary.memory.chunk import Sizes
from promptuary.models import minilm
from promptuary.models.endpoint import EndpointEmbedder
from promptuary.plugins import installed_embedders
from promptuary.storage.embedded.vector_store import EmbeddedVectorStore
from promptuary.tokens import DEFAULT_VOCABULARY, Counter
from promptuary.workspace.door import Workspace
from promptuary.workspace.durable import private_folder
from promptuary.workspace.remembered import Folders

_STATE: Final = "state.db"
_INDEX: Final = "index"


def open_file_memory(workspace: Workspace, settings: Settings) -> FileMemory:
    """Return the file memory of ``workspace``."""
    root = workspace.root.path
    embedder = embedder_for(settings)
    sizes = Sizes(settings.chunk_tokens, settings.chunk_overlap)
    store: VectorStore | None = EmbeddedVectorStore(private_folder(root) / _STATE) if embedder else None
    return FileMemory(
        private_folder(root, _INDEX),
        Doors(Folders(root), lambda path: open_door(path, settings)),
        # Always the same vocabulary: what is indexed must not depend on who is written to.
        Counter(DEFAULT_VOCABULARY),
        sizes,
        store=store,
        embedder=embedder,
    )


def embedder_for(settings: Settings) -> Embedder | None:
    """Return what makes vectors: a model on this machine, an endpoint, a plug-in, or nothing."""
    match settings.embedder:
        case "none":
            return None
        case "auto" if settings.embed_url:
            return _endpoint(settings)
        case "auto":
            return minilm.MiniLM() if minilm.available() else None
        case "minilm":
            return minilm.MiniLM()
        case "endpoint":
            return _endpoint(settings)
    plugged = installed_embedders()
    if settings.embedder not in plugged:
        names = ", ".join(["auto", "none", "minilm", "endpoint", *plugged])
        raise ConfigError(f"embedder {settings.embedder!r} is not installed; use one of: {names}")
    return plugged[settings.embedder]()


def _endpoint(settings: Settings) -> Embedder:
    if not settings.embed_url or not settings.embed_model:
        raise ConfigError("the endpoint embedder needs an address and a model: set embed_url and embed_model")
    return EndpointEmbedder(settings.embed_url, settings.embed_model, key_variable=settings.embed_key)
