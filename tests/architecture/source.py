"""The source of the package, parsed once: what the tests of the house look at."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
PACKAGE = SRC / "promptuary"


class Module(NamedTuple):
    """A module of the package; ``place`` is its path in the package."""

    name: str
    place: str
    path: Path
    text: str
    tree: ast.Module


@cache
def modules() -> tuple[Module, ...]:
    """Return every module, ordered by name."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        found.append(Module(name, str(path.relative_to(PACKAGE)), path, text, ast.parse(text)))
    return tuple(found)


@cache
def names() -> frozenset[str]:
    """Return the names of every module and package."""
    return frozenset(one.name for one in modules())


@cache
def walk(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return every node of a module: a tree is walked once, however many tests look at it."""
    return tuple(ast.walk(tree))


@cache
def rooms() -> frozenset[str]:
    """Return what stands at the top of the package: folders and modules."""
    return frozenset(one.name.split(".")[1] for one in modules() if "." in one.name)
