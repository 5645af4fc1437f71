"""What people type to find a file, generated from the paths of a repository: six families of queries, seeded.

A query is made from its target alone, so that no matcher is favoured: from the name, or from one folder above it and
the name. Names that a tree has in more than a few places are no targets: no matcher can know which of them is meant.
"""

import random
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

QUERIES = 800
_LONGEST_NAME = 40
_MOST_NAMESAKES = 3


@dataclass(frozen=True, slots=True)
class TypedPath:
    """A query, and the path that was meant."""

    family: str
    query: str
    target: str


def typed_paths(paths: Sequence[str], *, seed: int, queries: int = QUERIES) -> list[TypedPath]:
    """Return ``queries`` queries in equal shares of the families."""
    rng = random.Random(seed)
    namesakes = Counter(_stem(path) for path in paths)
    targets = [path for path in sorted(paths) if _is_target(path) and namesakes[_stem(path)] <= _MOST_NAMESAKES]
    families = list(FAMILIES)
    return [
        TypedPath(family, FAMILIES[family](target, rng), target)
        for number in range(queries)
        for family, target in [(families[number % len(families)], rng.choice(targets))]
    ]


def _is_target(path: str) -> bool:
    """Return whether a person could be looking for ``path``: a name of a few letters, in a folder with a few."""
    stem, folder = _stem(path), path.rpartition("/")[0].rpartition("/")[2]
    return len(_letters(stem)) >= 4 and len(stem) <= _LONGEST_NAME and len(_letters(folder)) >= 3


def _stem(path: str) -> str:
    """Return the name without its extension, in small letters: people do not type capitals."""
    return path.rpartition("/")[2].partition(".")[0].lower()


def _letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", text.lower())


def _folder(path: str, rng: random.Random) -> str:
    """Return one of the folders above, one with at least three letters."""
    above = [part.lower() for part in path.split("/")[:-1] if len(_letters(part)) >= 3]
    return rng.choice(above)


def _beginning(text: str, rng: random.Random, least: int) -> str:
    return text[: rng.randint(min(least, len(text)), len(text))]


def _name(path: str, rng: random.Random) -> str:
    return rng.choice([_stem(path), path.rpartition("/")[2].lower(), _beginning(_stem(path), rng, 4)])


def _with_slash(path: str, rng: random.Random) -> str:
    return f"{_beginning(_folder(path, rng), rng, 3)}/{_beginning(_stem(path), rng, 4)}"


def _without_slash(path: str, rng: random.Random) -> str:
    return _beginning(_folder(path, rng), rng, 3) + _beginning(_stem(path), rng, 4)


def _swapped_letters(path: str, rng: random.Random) -> str:
    return _swap(_beginning(_stem(path), rng, 6), rng)


def _missing_or_wrong(path: str, rng: random.Random) -> str:
    return rng.choice([_drop, _replace])(_beginning(_stem(path), rng, 6), rng)


def _folder_typo(path: str, rng: random.Random) -> str:
    slip = rng.choice([_swap, _drop, _replace])
    return f"{slip(_folder(path, rng), rng)}/{_beginning(_stem(path), rng, 4)}"


def _swap(text: str, rng: random.Random) -> str:
    places = [at for at in range(len(text) - 1) if text[at] != text[at + 1]]
    at = rng.choice(places)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def _drop(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text))
    return text[:at] + text[at + 1 :]


def _replace(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(string.ascii_lowercase.replace(text[at], "")) + text[at + 1 :]


FAMILIES: dict[str, Callable[[str, random.Random], str]] = {
    "name": _name,
    "folder and name with a slash": _with_slash,
    "folder and name without a slash": _without_slash,
    "swapped letters": _swapped_letters,
    "missing or wrong letter": _missing_or_wrong,
    "typo in the folder": _folder_typo,
}
