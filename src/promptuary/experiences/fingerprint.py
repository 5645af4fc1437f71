"""Decides when two experiences are equal: nearly the same words of intent, and the same shape of solution. Pure.

The order of words counts and small words do not: "fix the failing tests" is "Fix failing tests!", and "json to yaml" is
not "yaml to json". Solutions that differ only in the arguments of tools are the same.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from promptuary.base.values import Json
from promptuary.memory.writeback.wording import telling_wording, wording

_ARGUMENTS: Final = frozenset({"arguments", "args", "input", "parameters", "result", "output"})
"""Fields whose values differ between runs: only the names of their fields are compared."""


def fingerprint(type_: str, outcome: str, intent: str, solution: Json) -> str:
    """Return a hash that is the same for equal experiences."""
    said = telling_wording(intent) or wording(intent) or intent.strip()
    return _hash(type_, outcome, said, json.dumps(_shape(solution), ensure_ascii=False, sort_keys=True))


def preference_fingerprint(category: str, value: str) -> str:
    """Return the same for a preference, from its category and value."""
    return _hash("preference", topic(category), wording(value) or value.strip())


def topic(category: str) -> str:
    """Return a hash that is the same for preferences of one category."""
    return _hash("topic", wording(category) or category.strip())


def _shape(value: Json) -> Json:
    match value:
        case str():
            return wording(value) or value.strip()
        case Mapping():
            return {
                name: sorted(one) if name in _ARGUMENTS and isinstance(one, Mapping) else _leaf(name, one)
                for name, one in value.items()
            }
        case Sequence():
            return [_shape(element) for element in value]
        case _:
            return value


def _leaf(name: str, value: Json) -> Json:
    return None if name in _ARGUMENTS else _shape(value)


def _hash(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
