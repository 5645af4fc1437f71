"""The models that the person had fetched, and the chat models that the person gave names to."""

from typing import cast

from promptuary.config.settings import Settings
from promptuary.config.values import cut
from promptuary.core.errors import ConfigError
from promptuary.core.ports.models import ChatModel, JsonChatModel
from promptuary.models.named.catalogue import CATALOGUE
from promptuary.models.named.store import FetchedModel, ModelStore
from promptuary.workspace.user_folders import data_folder


def model_store(settings: Settings) -> ModelStore:
    """Return the models that the person had fetched."""
    hosts = frozenset(host.lower() for host in settings.allow_hosts)
    return ModelStore(data_folder() / "models", url=settings.model_url, allow_hosts=hosts)


def fetched_model(settings: Settings, name: str) -> FetchedModel | None:
    """Return the model of this name if it is there.

    Raises ``ConfigError``, which says how to fetch it, if it is not there and the name can only be that of a model.
    """
    found = model_store(settings).find(name)
    if found is None and (name in CATALOGUE or "/" in name):
        raise ConfigError(f"the model {name} is not fetched yet; run `promptuary model add {name}`")
    return found


def chat_model(settings: Settings, name: str) -> ChatModel | JsonChatModel:
    """Return the chat model that the person called ``name``.

    Raises ``ConfigError``, which says how to configure one, if there is none of this name.
    """
    found = next((one for one in settings.models if one.name == name), None)
    if found is None:
        known = ", ".join(one.name for one in settings.models)
        there = f"there is {known}" if known else "none is configured"
        raise ConfigError(
            f"no chat model is called {cut(name)!r} ({there}): "
            f"write [models.{cut(name)}] with base_url and model into your own configuration"
        )
    if found.given is not None:
        return cast("ChatModel", found.given)
    if found.scripted:
        from promptuary.models.chat.scripted_replies import ScriptedReplies  # noqa: PLC0415  (one of them is needed)

        return ScriptedReplies(found.scripted)
    from promptuary.models.chat.openai_chat import EndpointChatModel  # noqa: PLC0415
    from promptuary.workspace.web.post import PostPolicy  # noqa: PLC0415

    hosts = frozenset(host.lower() for host in settings.allow_hosts)
    policy = PostPolicy(allow_hosts=hosts, timeout=found.timeout)
    return EndpointChatModel(
        found.base_url, found.model, key_variable=found.key_env, max_tokens=found.max_tokens, policy=policy
    )
