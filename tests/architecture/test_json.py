"""The shapes of JSON are written in one place: ``core/json`` makes and reads them, everybody else passes values."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.source import modules

HOME = "promptuary.core.json"
PRINTS = {"print_json", "print_json_line"}
"""Functions that print a shape, and make none."""
OWN_FILES = ("promptuary.workspace.", "promptuary.layers.", "promptuary.testing.")
"""Rooms with files and states that nobody else reads: their shapes are their own."""

ELSEWHERE = {
    "promptuary.cli.watch": {"an object"},
}
"""Shrinks: shapes that are not in ``core/json`` yet."""


def shapes(tree: ast.Module) -> Iterator[str]:
    """Yield functions that are called after JSON, and objects that are put together where they are printed."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and re.search(r"(^|_)json($|_)", node.name):
            yield node.name
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {*PRINTS, "dumps"}:
            parts = [part for argument in node.args for part in ast.walk(argument)]
            yield from ["an object"] if any(isinstance(part, (ast.Dict, ast.DictComp)) for part in parts) else []


def test_shapes_are_made_in_one_place() -> None:
    found = {
        one.name: made
        for one in modules()
        if one.name != HOME and not one.name.startswith(OWN_FILES) and (made := set(shapes(one.tree)) - PRINTS)
    }

    assert {name: made for name, made in found.items() if not made <= ELSEWHERE.get(name, set())} == {}


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
    ],
)
def test_a_shape_is_seen_however_it_is_made(source: str) -> None:
    assert list(shapes(ast.parse(source)))
