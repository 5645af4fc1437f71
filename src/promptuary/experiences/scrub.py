"""Removes secrets from what is about to be stored as an experience. Pure and linear.

Secrets in texts are recognised as in notes. The arguments of tools also have fields whose name says that they are a
secret. A mark replaces the value, since an experience is useful without it.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from promptuary.base.values import Json
from promptuary.memory.secret_texts import FIELD_NAMES, MASK, is_placeholder, without_secrets

_NAME_LENGTH: Final = 30
_FIELD: Final = rf"(?:.*[_.\- ])?(?:{FIELD_NAMES})"
_WORDS: Final = r"(?<=[a-z0-9])(?=[A-Z])"


def scrub(text: str) -> str:
    """Return a text in which everything that looks like a secret is masked."""
    if text.replace("_", "").isalpha() and len(text) <= _NAME_LENGTH:  # a name, as most texts in a solution are
        return text
    return without_secrets(text)


def scrub_value(value: Json) -> Json:
    """Return JSON with the same done to every text in it, names of fields included.

    A field whose name says that it is a secret loses its value, whatever that looks like.
    """
    match value:
        case str():
            return scrub(value)
        case Mapping():
            return _scrub_fields(value)
        case Sequence():
            return [scrub_value(element) for element in value]
        case _:
            return value


def _scrub_fields(fields: Mapping[str, Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, value in fields.items():
        plain = key = scrub(name)
        while key in found:  # two names may become one
            key = f"{plain} {len(found)}"
        found[key] = _hide(value) if _names_secret(name) else scrub_value(value)
    return found


def _hide(value: Json) -> Json:
    """Return what replaces the value of a secret field: it shows whether there was one, and its shape."""
    match value:
        case bool() | None:
            return value
        case str() if is_placeholder(value):
            return value
        case Mapping():
            return {name: _hide(one) for name, one in _scrub_fields(value).items()}
        case str():
            return MASK
        case Sequence():
            return [_hide(element) for element in value]
        case _:
            return MASK


@lru_cache(maxsize=256)
def _names_secret(name: str) -> bool:
    words = _camel().sub("_", name[:200])
    return _field().fullmatch(words) is not None


@cache
def _field() -> re.Pattern[str]:
    return re.compile(_FIELD, re.IGNORECASE)


@cache
def _camel() -> re.Pattern[str]:
    return re.compile(_WORDS)
