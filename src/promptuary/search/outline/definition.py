"""The type of a definition, and the lookup of definitions by name. Pure."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from msgspec import Struct

Role = Literal["definition", "constant", "declaration"]
"""A ``definition`` has a body or is a method of an interface: it is part of an outline. A ``constant`` (also a field, a
member of an enumeration, an alias) and a ``declaration`` (a prototype in C and C++) are only found by their names."""


class Definition(Struct, frozen=True):
    """One definition. ``name`` is qualified (``Class.method``); ``first`` and ``last`` are line numbers, from 1 on.

    ``above`` is the first line of the comments, decorators and attributes right above; ``first`` if there are none.
    """

    name: str
    signature: str
    first: int
    last: int
    depth: int
    above: int
    role: Role = "definition"


_T = TypeVar("_T")


def plain_name(written: str) -> str:
    """Return a name in normal form: ``Point::new``, ``Point#new`` and ``Point.new()`` are ``Point.new``."""
    name = written.replace("::", ".").replace("#", ".").strip(".")
    return name if name.endswith("operator()") else name.removesuffix("()")


def best_named(found: Sequence[_T], name: str, definition: Callable[[_T], Definition]) -> list[_T]:
    """Return those of ``found`` that ``name`` means: with exactly this name, else those whose name ends in it.

    Of each, definitions come before constants and declarations.
    """
    fitting = [one for one in found if f".{definition(one).name}".endswith(f".{name}")]

    def distance(one: _T) -> tuple[bool, bool]:
        known = definition(one)
        return known.name != name, known.role != "definition"

    nearest = min(map(distance, fitting), default=None)
    return [one for one in fitting if distance(one) == nearest]
