"""The embedder and the reranker that settings name: models on this machine, endpoints, plug-ins.

One of many is chosen, so each is imported when it is.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from msgspec.structs import replace

from promptuary.base.errors import ConfigError
from promptuary.config.api_keys import KeyPlace
from promptuary.config.settings import Settings
from promptuary.models import minilm
from promptuary.models.protocols import Embedder, Reranker
from promptuary.workspace.user_folders import cache_folder

if TYPE_CHECKING:
    from promptuary.models.http import PostPolicy

_FOLDER: Final = "onnx:"
_PAIR: Final = "+"


def embedder_for(settings: Settings, *, copy: bool = True) -> Embedder | None:
    """Return the embedder of the settings: a model on this machine, an endpoint, a plug-in, or none.

    With ``copy``, a model in a folder gets a copy that loads faster. Raises ``ConfigError`` if it is not installed or
    lacks a setting.
    """
    match settings.embedder:
        case "none":
            return None
        case "auto" if settings.embed_url:
            return _endpoint(settings)
        case "auto":
            return _local() if minilm.available() else None
        case "minilm":
            return _local()
        case "endpoint":
            return _endpoint(settings)
        case named if named.startswith(_FOLDER):
            return _local_embedder(_own_folder("embedder", named), copy=copy)
        case named if _PAIR in named:
            return _pair(settings, copy=copy)
    from promptuary.models.named.fetched import fetched_model  # noqa: PLC0415  (the default needs none of them)

    if model := fetched_model(settings, settings.embedder):
        return _local_embedder(model.folder, settings.embedder, model.hashes, copy=copy)
    from promptuary.models.plugins import installed_embedders  # noqa: PLC0415  (looking for plug-ins takes time)

    plugged = installed_embedders()
    if settings.embedder not in plugged:
        names = ", ".join(["auto", "none", "minilm", "endpoint", "onnx:FOLDER", *plugged])
        raise ConfigError(f"embedder {settings.embedder!r} is not installed; use one of: {names}")
    return plugged[settings.embedder]()


def reranker_for(settings: Settings, *, copy: bool = True) -> Reranker | None:
    """Return the reranker of the settings: a model on this machine, an endpoint, or none.

    ``copy`` as for an embedder. Raises ``ConfigError`` if it is missing or lacks a setting.
    """
    match settings.reranker:
        case "none":
            return None
        case "auto" if not settings.rerank_url:
            return None
        case "auto" | "endpoint":
            return _rerank_endpoint(settings)
        case named if named.startswith(_FOLDER):
            return _local_reranker(_own_folder("reranker", named), copy=copy)
    from promptuary.models.named.fetched import fetched_model  # noqa: PLC0415  (most have none)

    if model := fetched_model(settings, settings.reranker):
        return _local_reranker(model.folder, settings.reranker, model.hashes, copy=copy)
    raise ConfigError(f"reranker {settings.reranker!r} is unknown; use one of: auto, none, onnx:FOLDER, endpoint")


def _pair(settings: Settings, *, copy: bool) -> Embedder:
    from promptuary.models.paired import PairedEmbedder  # noqa: PLC0415  (most have one)

    names = settings.embedder.split(_PAIR, 1)
    if not {"auto", "none", ""}.isdisjoint(names):
        raise ConfigError(f"embedder {settings.embedder!r} names two embedders, such as minilm{_PAIR}gte-small")
    first, second = (embedder_for(replace(settings, embedder=name), copy=copy) for name in names)
    if first is None or second is None:
        raise AssertionError("an embedder with a name is none")
    return PairedEmbedder(first, second)


def _local_embedder(
    path: Path, name: str = "", hashes: Mapping[str, str] | None = None, *, copy: bool = True
) -> Embedder:
    from promptuary.models.onnx_folder import open_embedder  # noqa: PLC0415  (the default model is not a folder)

    return open_embedder(path, cache=_models_cache() if copy else None, name=name, hashes=hashes)


def _local_reranker(
    path: Path, name: str = "", hashes: Mapping[str, str] | None = None, *, copy: bool = True
) -> Reranker:
    from promptuary.models.onnx_folder import check_hashes, read_folder  # noqa: PLC0415  (off unless it is wanted)
    from promptuary.models.onnx_reranker import OnnxReranker  # noqa: PLC0415

    cache = _models_cache() if copy else None
    folder = read_folder(path, cache=cache)
    check_hashes(folder, hashes or {}, name)
    return OnnxReranker(folder, cache=cache)


def _rerank_endpoint(settings: Settings) -> Reranker:
    if not settings.rerank_url:
        raise ConfigError("the rerank endpoint needs a URL: set rerank_url")
    from promptuary.models.rerank_endpoint import EndpointReranker  # noqa: PLC0415  (a local model needs no network)

    policy = _post_policy(settings, timeout=settings.rerank_timeout)
    return EndpointReranker(
        settings.rerank_url, settings.rerank_model, key=_key("rerank_key", settings.rerank_key), policy=policy
    )


def _key(setting: str, variable: str) -> KeyPlace:
    return KeyPlace(variable, setting=f"set {setting} to the name of an environment variable that holds one")


def _post_policy(settings: Settings, timeout: float = 60.0) -> "PostPolicy":
    from promptuary.models.http import PostPolicy  # noqa: PLC0415  (a local model needs no network)

    return PostPolicy(allow_hosts=frozenset(host.lower() for host in settings.allow_hosts), timeout=timeout)


def _local() -> Embedder:
    """Return the built-in model: files, notes and experiences of all principals share one, which is loaded once."""
    folder = _models_cache()
    return _SHARED.get(folder) or _SHARED.setdefault(folder, minilm.MiniLM(cache=folder))


_SHARED: Final[WeakValueDictionary[Path | None, minilm.MiniLM]] = WeakValueDictionary()
os.register_at_fork(after_in_child=_SHARED.clear)  # its libraries do not survive a fork


def _own_folder(setting: str, value: str) -> Path:
    """Return the folder that a setting names. Raises ``ConfigError`` for a relative path.

    A relative one would depend on the current folder, which may come from a stranger.
    """
    path = Path(value.removeprefix(_FOLDER))
    with suppress(RuntimeError):  # a user without a home
        path = path.expanduser()
    if not path.is_absolute():
        raise ConfigError(f"{setting} names the folder {path}; write its whole path, such as {_FOLDER}~/models/name")
    return path


def _models_cache() -> Path:
    return cache_folder() / "models"


def _endpoint(settings: Settings) -> Embedder:
    if not settings.embed_url or not settings.embed_model:
        raise ConfigError("the endpoint embedder needs a URL and a model: set embed_url and embed_model")
    from promptuary.models.openai_embeddings import EndpointEmbedder  # noqa: PLC0415  (a local model needs no network)

    policy = _post_policy(settings)
    return EndpointEmbedder(
        settings.embed_url, settings.embed_model, key=_key("embed_key", settings.embed_key), policy=policy
    )
