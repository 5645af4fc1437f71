"""A port is what callers are typed on: it has callers, two implementations and a suite that both pass.

Ports are the Protocols of ``core/ports``. A class implements one if it has every public member of it; whether the types
fit is for mypy to say where one is passed as the port.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, Module, modules

OWN_ROOMS = {"core", "storage", "testing"}
"""Rooms that are no callers of a port: they declare it, implement it or try it."""

ONE_IMPLEMENTATION: dict[str, str] = {}
"""Shrinks: ports with a single implementation, and why."""
NO_SUITE = {
    "NoteView": "it is made by a journal, whose suite asks it everything",
}
"""Shrinks: ports without a suite, and why."""
NO_CALLER: dict[str, str] = {}
"""Shrinks: ports that no caller is typed on, and why."""


Member = tuple[str, tuple[str, ...] | None]
"""A name, and the names of what it takes if it is called."""


@cache
def ports() -> dict[str, frozenset[Member]]:
    """Return the public members of every port."""
    return {
        node.name: frozenset(one for one in members(node) if not one[0].startswith("_"))
        for one in modules()
        if one.name.startswith("promptuary.core.ports.")
        for node in one.tree.body
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Protocol" for base in node.bases)
    }


def members(node: ast.ClassDef) -> Iterator[Member]:
    """Yield what a class has: methods, properties, and what it sets in itself."""
    for part in ast.walk(node):
        match part:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                is_property = any(ast.unparse(one) == "property" for one in part.decorator_list)
                taken = [*part.args.posonlyargs, *part.args.args, *part.args.kwonlyargs]
                yield part.name, None if is_property else tuple(one.arg for one in taken)
            case ast.Attribute(ast.Name("self"), name, ast.Store()):
                yield name, None
            case ast.AnnAssign(ast.Name(name)) | ast.Assign([ast.Name(name)]):
                yield name, None
            case _:
                pass


@cache
def classes() -> dict[str, tuple[Module, frozenset[Member]]]:
    """Return every class that is no Protocol, with what it has and inherits."""
    nodes = {
        node.name: (one, node)
        for one in modules()
        for node in one.tree.body
        if isinstance(node, ast.ClassDef) and not any(ast.unparse(base) == "Protocol" for base in node.bases)
    }

    def everything(node: ast.ClassDef) -> set[Member]:
        bases = [nodes[name][1] for base in node.bases if (name := ast.unparse(base).partition("[")[0]) in nodes]
        return {*members(node), *(one for base in bases for one in everything(base))}

    return {name: (one, frozenset(everything(node))) for name, (one, node) in nodes.items()}


def implementations(port: str) -> set[str]:
    return {name for name, (_, has) in classes().items() if ports()[port] <= has}


def callers(port: str) -> set[str]:
    """Return the modules that have the port in an annotation."""
    return {one.name for one in modules() if room_of(one) not in OWN_ROOMS and port in annotated(one.tree)}


def room_of(module: Module) -> str:
    return f"{module.name}.".split(".")[1]


def annotated(tree: ast.AST) -> set[str]:
    """Return every name in an annotation."""
    found: set[str] = set()
    for node in ast.walk(tree):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.expr):
                said = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
                found |= {one.id for one in ast.walk(ast.parse(str(said))) if isinstance(one, ast.Name)}
    return found


def suites(port: str) -> set[str]:
    """Return the classes of ``testing`` whose tests get an object of the port."""
    return {
        node.name
        for one in modules()
        if one.name.startswith("promptuary.testing.")
        for node in one.tree.body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Conformance") and port in annotated(node)
    }


def runs(suite: str) -> set[str]:
    """Return the classes of tests that inherit a suite, and are collected."""
    nodes = {
        node.name: [ast.unparse(base) for base in node.bases]
        for path in sorted((ROOT / "tests" / "conformance").glob("test_*.py"))
        for node in ast.parse(Path(path).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }

    def inherits(name: str) -> bool:
        return name == suite or any(inherits(base) for base in nodes.get(name, ()))

    return {name for name in nodes if name.startswith("Test") and inherits(name)}


@pytest.mark.parametrize("port", ports())
def test_a_port_is_what_callers_are_typed_on(port: str) -> None:
    assert bool(callers(port)) != (port in NO_CALLER)


@pytest.mark.parametrize("port", ports())
def test_a_port_has_two_implementations(port: str) -> None:
    assert (len(implementations(port)) >= 2) != (port in ONE_IMPLEMENTATION), implementations(port)


@pytest.mark.parametrize("port", ports())
def test_a_port_has_a_suite_that_two_implementations_run(port: str) -> None:
    ran = {suite: runs(suite) for suite in suites(port)}

    assert any(len(one) >= 2 for one in ran.values()) != (port in NO_SUITE), ran


def test_the_lists_of_what_is_missing_name_ports() -> None:
    assert {*ONE_IMPLEMENTATION, *NO_SUITE, *NO_CALLER} <= set(ports())
