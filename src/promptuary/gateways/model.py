"""Checks whether a model can answer for a gateway, as far as the settings tell."""

from typing import Final

from promptuary.base.errors import ConfigError
from promptuary.config.gateways import NamedGateway
from promptuary.config.settings import Settings

_NO_MODEL: Final = "set answer_model, or model of the gateway"


def model_trouble(config: NamedGateway, settings: Settings) -> str:
    """Return why no model can answer, and what to do; empty if one can."""
    if not (name := config.model or settings.answer_model):
        return f"no model is set; {_NO_MODEL}"
    try:
        settings.chat(name).key.read("chat")
    except ConfigError as error:
        return f"the model {name} cannot be used: {error}"
    return ""
