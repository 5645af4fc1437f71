"""When two experiences are one: the same intent in nearly the same words, with a solution of the same shape. Pure.

The order of words counts and small words do not: "fix the failing tests" is "Fix failing tests!", and "json to yaml" is
not "yaml to json". What only the arguments of tools tell apart is the same solution.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from promptuary.core.layers import Json
from promptuary.memory.writeback.wording import telling_wording, wording

_ARGUMENTS: Final = frozenset({"arguments", "args", "input", "parameters", "result", "output"})
"""Fields whose values differ from one time to the next; which fields they have counts, and what they say does not."""


def fingerprint(type_: str, outcome: str, intent: str, solution: Json) -> str:
    """Return a hash that is equal for experiences that are one."""
    said = telling_wording(intent) or wording(intent) or intent.strip()
    return _hash(type_, outcome, said, json.dumps(_shape(solution), ensure_ascii=False, sort_keys=True))


def preference_fingerprint(category: str, value: str) -> str:
    """Return the same for a preference: what is preferred, of what."""
    return _hash("preference", topic(category), wording(value) or value.strip())


def topic(category: str) -> str:
    """Return a hash that is equal for preferences of one category."""
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
            return [_shape(one) for one in value]
        case _:
            return value


def _leaf(name: str, value: Json) -> Json:
    return None if name in _ARGUMENTS else _shape(value)


def _hash(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
