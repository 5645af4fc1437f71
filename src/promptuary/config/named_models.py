"""The chat models that the person gave names to: ``[models.NAME]`` in their own configuration. Pure.

A name is what other settings take (``writeback_model = "fast"``). A model gets the person's texts and a key, so no file
of a workspace can define one. A program may pass a ``ChatModel`` of its own under a name instead of a table.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from promptuary.config.values import converted, cut, nearest
from promptuary.core.errors import ConfigError

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A chat model with a name: an endpoint that speaks OpenAI's protocol, prepared replies, or an object.

    ``base_url`` goes up to ``/chat/completions``; ``model`` is the service's name for it; ``key_env`` names the
    environment variable that holds the key. ``timeout`` is in seconds and covers all attempts of one request.
    ``max_tokens`` replaces the length that a caller asks for: models that think before they answer need more.
    ``scripted`` replies are given in order, the last one again and again; nothing is sent anywhere.
    """

    name: str
    base_url: str = ""
    model: str = ""
    key_env: str = ""
    timeout: float = 60.0
    max_tokens: int = 0
    scripted: tuple[str, ...] = ()
    given: object = field(default=None, repr=False)
    """A ``ChatModel`` that a program passed; importing the type would slow down every start."""


_DEFAULTS: Final[Mapping[str, object]] = {
    "base_url": "",
    "model": "",
    "key_env": "",
    "timeout": 60.0,
    "max_tokens": 0,
    "scripted": (),
}


def named_models(tables: object, where: str) -> tuple[NamedModel, ...]:
    """Return the models of a table of tables. Raises ``ConfigError``, whose message begins with ``where``."""
    if not isinstance(tables, Mapping):
        raise ConfigError(f"{where} must be a table of models, such as [models.fast]")
    return tuple(_named_model(str(name), given, where) for name, given in tables.items())


def _named_model(name: str, given: object, where: str) -> NamedModel:
    if _NAME.fullmatch(name) is None:
        raise ConfigError(f"{where}: {cut(name)!r} cannot be a name; use letters, digits, '.', '-' and '_'")
    if not isinstance(given, Mapping):
        if callable(getattr(given, "complete", None)):
            return NamedModel(name, given=given)
        raise ConfigError(f"{where}: {name} must be a table with base_url and model")
    values: dict[str, Any] = {key: _value(key, value, f"{where}: {name}.{cut(key)}") for key, value in given.items()}
    model = NamedModel(name, **values)
    if model.scripted:
        return model
    missing = [key for key in ("base_url", "model") if not values.get(key)]
    if missing:
        raise ConfigError(f"{where}: {name} lacks {' and '.join(missing)}")
    if model.key_env and _VARIABLE.fullmatch(model.key_env) is None:
        # Somebody who pastes the key itself must not find it in an error message.
        raise ConfigError(f"{where}: {name}.key_env must be the name of an environment variable, not the key itself")
    return model


def _value(key: str, value: object, where: str) -> object:
    if key in _DEFAULTS:
        return converted(f"model_{key}", value, where, _DEFAULTS[key])
    meant = nearest(key, _DEFAULTS)
    raise ConfigError(f"{where} is unknown; {f'did you mean {meant}?' if meant else 'use ' + ', '.join(_DEFAULTS)}")
