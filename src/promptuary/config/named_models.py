"""The named chat models: ``[models.NAME]`` in the person's own configuration. Pure.

Other settings refer to a model by name (``writeback_model = "fast"``). A model gets the person's texts and a key, so no
file of a workspace can define one. A program may pass its own ``ChatModel`` under a name instead of a table. The models
of a few providers need no table: their own names are enough (``gpt-5``, ``ollama/llama3.2``).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from promptuary.base.errors import ConfigError
from promptuary.base.values import shown_without
from promptuary.config.api_keys import KeyPlace
from promptuary.config.prices import Price, price_of
from promptuary.config.values import convert, cut, nearest

NO_MODEL: Final = (
    'no model is configured to answer: write answer_model = "NAME" into your own configuration, with the name of a '
    "model such as gpt-5-mini or ollama/llama3.2, or set PROMPTUARY_ANSWER_MODEL"
)
"""The advice if no model is configured."""


def how_to_configure(path: Path | None) -> tuple[str, str]:
    """Return the two lines that configure an answering model; ``path`` is the person's own configuration."""
    return (
        'export OPENAI_API_KEY="..."            # or ANTHROPIC_API_KEY, GEMINI_API_KEY; none for ollama/NAME',
        f'answer_model = "gpt-5-mini"           # in {path or "your configuration"}; or --model NAME, this once',
    )


_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class NamedModel(Struct, frozen=True):
    """A chat model with a name: a service, prepared replies, or an object.

    ``provider`` says which protocol the service speaks. ``base_url`` is where it is; ``model`` is the service's name
    for it; ``key_env`` names the environment variable that holds the key, ``keyring`` says that the keyring has it
    under the name. ``timeout`` is in seconds: how long the service may be silent. ``max_tokens`` replaces the length
    that a caller requests: reasoning models need more. ``window`` is in tokens, the prices are in dollars for a million
    of them; both are known for many models. ``scripted`` replies are given in order, the last one repeatedly; nothing
    is sent anywhere.
    """

    name: str
    provider: str = "openai"
    base_url: str = ""
    model: str = ""
    key_env: str = ""
    keyring: bool = False
    timeout: float = 60.0
    max_tokens: int = 0
    window: int = 0
    input_price: float = 0.0
    output_price: float = 0.0
    cached_price: float = 0.0
    scripted: tuple[str, ...] = ()
    given: object = None
    """A ``ChatModel`` that a program passed; importing the type would slow down every start."""

    def __repr__(self) -> str:
        return shown_without(self, "given")

    @property
    def key(self) -> KeyPlace:
        """Where its key is, and how to configure that."""
        table = f"[models.{self.name}]" if _NAME.fullmatch(self.name) else "a table of its own ([models.NAME])"
        setting = f'write key_env = "NAME_OF_A_VARIABLE" or keyring = true into {table} of your own configuration'
        return KeyPlace(self.key_env, self.name if self.keyring else "", setting)

    @property
    def price(self) -> Price | None:
        """What its tokens cost: as configured, else as listed; ``None`` if unknown."""
        if self.input_price or self.output_price:
            return Price(self.input_price, self.output_price, self.cached_price or self.input_price)
        return price_of(self.model)


_DEFAULTS: Final[Mapping[str, object]] = {
    "provider": "openai",
    "base_url": "",
    "model": "",
    "key_env": "",
    "keyring": False,
    "timeout": 60.0,
    "max_tokens": 0,
    "window": 0,
    "input_price": 0.0,
    "output_price": 0.0,
    "cached_price": 0.0,
    "scripted": (),
}


class _Service(Struct, frozen=True):
    """A provider whose models need no table: its protocol, where it is, and where its key usually is."""

    provider: str
    base_url: str
    key_env: str = ""
    prefixes: tuple[str, ...] = ()
    """The prefixes of its models' names that identify the provider."""


_SERVICES: Final[Mapping[str, _Service]] = {
    "openai": _Service("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", ("gpt-", "chatgpt-", "o1", "o3", "o4")),
    "anthropic": _Service("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", ("claude-",)),
    "gemini": _Service(
        "openai", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", ("gemini-",)
    ),
    "openrouter": _Service("openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "ollama": _Service("openai", "http://127.0.0.1:11434/v1"),
    "lmstudio": _Service("openai", "http://127.0.0.1:1234/v1"),
    "llamacpp": _Service("openai", "http://127.0.0.1:8080/v1"),
    "vllm": _Service("openai", "http://127.0.0.1:8000/v1"),
}
_BASE_URLS: Final = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
"""The variables that redirect the official clients of these providers."""


def named_models(tables: object, where: str) -> tuple[NamedModel, ...]:
    """Return the models of a table of tables. Raises ``ConfigError``, whose message begins with ``where``."""
    if not isinstance(tables, Mapping):
        raise ConfigError(f"{where} must be a table of models, such as [models.fast]")
    return tuple(_named_model(str(name), given, where) for name, given in tables.items())


def find_model(name: str, models: Sequence[NamedModel], environment: Mapping[str, str]) -> NamedModel:
    """Return the chat model called ``name``: one of ``models``, or a provider's model that needs no table.

    Raises ``ConfigError``, which says how to configure one, if there is none with this name.
    """
    found = next((model for model in models if model.name == name), None) or _of_a_provider(name, environment)
    if found is None:
        known = ", ".join(model.name for model in models)
        there = f"there is {known}" if known else "none is configured"
        raise ConfigError(
            f"no chat model is called {cut(name)!r} ({there}): write [models.{cut(name)}] with base_url and model into "
            f"your own configuration, or put its provider before it ({', '.join(_SERVICES)}), as in ollama/{cut(name)}"
        )
    return found


def _of_a_provider(name: str, environment: Mapping[str, str]) -> NamedModel | None:
    first, slash, rest = name.partition("/")
    whose = first if slash and first in _SERVICES else None
    model = rest if whose else name
    if whose is None:
        whose = next((one for one, service in _SERVICES.items() if name.lower().startswith(service.prefixes)), None)
    if whose is None or not model:
        return None
    service = _SERVICES[whose]
    base_url = environment.get(_BASE_URLS.get(whose, ""), "").strip() or service.base_url
    return NamedModel(name, service.provider, base_url, model, service.key_env)


def _named_model(name: str, given: object, where: str) -> NamedModel:
    if _NAME.fullmatch(name) is None:
        raise ConfigError(f"{where}: {cut(name)!r} cannot be a name; use letters, digits, '.', '-' and '_'")
    if not isinstance(given, Mapping):
        if callable(getattr(given, "complete", None)) or callable(getattr(given, "stream", None)):
            return NamedModel(name, given=given)
        raise ConfigError(f"{where}: {name} must be a table with base_url and model")
    values: dict[str, Any] = {key: _value(key, value, f"{where}: {name}.{cut(key)}") for key, value in given.items()}
    if values.get("provider") == "anthropic" and not values.get("base_url"):
        values["base_url"] = _SERVICES["anthropic"].base_url
    model = NamedModel(name, **values)
    if model.scripted:
        return model
    missing = [key for key in ("base_url", "model") if not values.get(key) and (key, model.provider) not in _NOT_NEEDED]
    if missing:
        raise ConfigError(f"{where}: {name} lacks {' and '.join(missing)}")
    unused = [key for key in ("base_url", "key_env", "keyring") if values.get(key)]
    if model.provider == "pydantic-ai" and unused:
        raise ConfigError(f"{where}: {name}.{unused[0]} has no effect: pydantic-ai reads the variables of the provider")
    if model.key_env and _VARIABLE.fullmatch(model.key_env) is None:
        # Somebody who pastes the key itself must not find it in an error message.
        raise ConfigError(f"{where}: {name}.key_env must be the name of an environment variable, not the key itself")
    return model


_NOT_NEEDED: Final = {("base_url", "pydantic-ai")}


def _value(key: str, value: object, where: str) -> object:
    if key in _DEFAULTS:
        return convert(f"model_{key}", value, where, _DEFAULTS[key])
    meant = nearest(key, _DEFAULTS)
    raise ConfigError(f"{where} is unknown; {f'did you mean {meant}?' if meant else 'use ' + ', '.join(_DEFAULTS)}")


def key_variables(models: Iterable[NamedModel]) -> list[str]:
    """Return the names of the environment variables that may hold keys of models: named by a table, or usual."""
    named = [model.key_env for model in models if model.key_env]
    return sorted({*named, *(one.key_env for one in _SERVICES.values() if one.key_env)})
