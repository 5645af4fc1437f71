"""Opens the models that the person fetched."""

from promptuary.base.errors import ConfigError
from promptuary.config.settings import Settings
from promptuary.models.named.catalogue import CATALOGUE
from promptuary.models.named.store import FetchedModel, ModelStore
from promptuary.workspace.user_folders import data_folder


def model_store(settings: Settings) -> ModelStore:
    """Return the models that the person fetched."""
    hosts = frozenset(host.lower() for host in settings.allow_hosts)
    return ModelStore(data_folder() / "models", url=settings.model_url, allow_hosts=hosts)


def fetched_model(settings: Settings, name: str) -> FetchedModel | None:
    """Return the model with this name, if it was fetched.

    Raises ``ConfigError``, which says how to fetch it, if it is missing and the name can only be that of a model.
    """
    found = model_store(settings).find(name)
    if found is None and (name in CATALOGUE or "/" in name):
        raise ConfigError(f"the model {name} is not fetched yet; run `promptuary model add {name}`")
    return found
