"""The shapes of JSON are written in one place: ``core/json`` makes and reads them, everybody else passes values."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.source import modules

HOME = "promptuary.core.json"
PRINTS = {"print_json", "print_json_line"}
"""Functions that print a shape, and make none."""
OWN_FILES = (
    "promptuary.workspace.",
    "promptuary.layers.",
    "promptuary.hooks.",
    "promptuary.memory.writeback.",
    "promptuary.models.",
    "promptuary.core.ports.",
    "promptuary.testing.",
    "promptuary.context.compact.summary",
    "promptuary.mcp.transports.early",
    "promptuary.threads.exchange",
    "promptuary.threads.pending",
)
"""Rooms with files, states and questions to a model that nobody else reads, or in the shapes of other programs."""


def shapes(tree: ast.Module) -> Iterator[str]:
    """Yield functions that are called after JSON, and objects that are put together where they are printed."""
    objects = {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and _makes_object(node.value, set())
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and re.search(r"(^|_)json($|_)", node.name):
            yield node.name
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {*PRINTS, "dumps"}:
            yield from ["an object"] if any(_makes_object(one, objects) for one in node.args) else []


def _makes_object(value: ast.expr, objects: set[str]) -> bool:
    if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("_json"):
        return False  # made where shapes are made
    return any(
        isinstance(part, (ast.Dict, ast.DictComp))
        or (isinstance(part, ast.Name) and part.id in objects)
        or (isinstance(part, ast.Call) and ast.unparse(part.func).endswith("asdict"))
        for part in ast.walk(value)
    )


def test_shapes_are_made_in_one_place() -> None:
    found = {
        one.name: made
        for one in modules()
        if not f"{one.name}.".startswith((f"{HOME}.", *OWN_FILES)) and (made := set(shapes(one.tree)) - PRINTS)
    }

    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "def to_json(value): ...",
        "async def as_json(value): ...",
        "def _json_of(value): ...",
        "print_json({'a': 1})",
        "common.print_json([{'a': one} for one in found])",
        "json.dumps({name: one for one in found})",
        "print_json(value | {'a': 1})",
        "value = {'a': 1}\nprint_json(value)",
        "print_json([asdict(one) for one in found])",
    ],
)
def test_a_shape_is_seen_however_it_is_made(source: str) -> None:
    assert list(shapes(ast.parse(source)))
