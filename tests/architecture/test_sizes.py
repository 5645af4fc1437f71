"""Sizes and repetitions. They are a ratchet: cut where a noun ends, not where a number does."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, modules

MAX_LINES = 600
MAX_FUNCTION = 60
MAX_ENTRIES = 12
MANY_ENTRIES = {"core": 25, "cli": 20}
MAX_MODULES_AT_THE_TOP = 8
NOT_COUNTED = {"__init__.py", "__main__.py", "_version.py", "py.typed", "__pycache__"}
"""Every package has some of these, and nobody looks for anything in them."""
MAX_EQUAL_LINES = 5

SAME_NAME = {"Promptuary"}
"""A class that is there twice on purpose: with and without ``async``."""


def test_a_module_is_at_most_600_lines_and_a_function_under_60() -> None:
    functions = [
        (one.name, node.name)
        for one in modules()
        for node in ast.walk(one.tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION
    ]

    assert [one.name for one in modules() if one.text.count("\n") > MAX_LINES] == []
    assert functions == []


def entries(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if one.name not in NOT_COUNTED)


def test_a_folder_has_few_entries() -> None:
    folders = {one.path.parent for one in modules()} - {PACKAGE}
    counts = {str(folder.relative_to(PACKAGE)): len(entries(folder)) for folder in folders}

    assert {name: count for name, count in counts.items() if count > MANY_ENTRIES.get(name, MAX_ENTRIES)} == {}


def test_few_modules_stand_at_the_top() -> None:
    loose = [name for name in entries(PACKAGE) if name.endswith(".py")]

    assert len(loose) <= MAX_MODULES_AT_THE_TOP, loose


def test_a_public_class_name_means_one_thing() -> None:
    homes = defaultdict(list)
    for one in modules():
        for node in one.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(one.name)

    assert {name: places for name, places in homes.items() if len(places) > 1 and name not in SAME_NAME} == {}


Line = tuple[int, str]
"""The number of a line, and the line without its indentation."""


def code_lines(text: str) -> list[Line]:
    """Return the lines that say something: neither blank, nor comment, docstring or import, nor a lone bracket.

    A signature counts as one line, however many it takes: equal ones are promised, and hold no rule that could differ.
    """
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and _says_nothing(node):
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            left_out |= set(range(node.lineno + 1, node.body[0].lineno))
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        said = line.strip()
        if number not in left_out and said and not said.startswith("#") and said.strip("()[]{},:"):
            found.append((number, said))
    return found


def _says_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant(str())):
            return True
        case ast.Assign([ast.Name("__all__")]):
            return True
        case _:
            return False


def repeated(texts: Mapping[str, str], most: int = MAX_EQUAL_LINES) -> list[str]:
    """Return where more than ``most`` equal lines follow one another in two places."""
    seen: dict[tuple[str, ...], tuple[str, int, int]] = {}
    found: dict[tuple[str, str, int], tuple[int, int, int]] = {}
    for name, text in texts.items():
        lines = code_lines(text)
        for at in range(len(lines) - most):
            run = tuple(said for _, said in lines[at : at + most + 1])
            first = seen.setdefault(run, (name, at, lines[at][0]))
            if first[:2] == (name, at) or (first[0] == name and at - first[1] <= most):
                continue
            # Of a long run only the beginning is told: what follows has the same distance.
            found.setdefault((first[0], name, at - first[1]), (first[2], lines[at][0], most + 1))
    return [f"{one}:{here} = {other}:{there}" for (one, other, _), (here, there, _) in found.items()]


def test_no_run_of_six_lines_stands_twice() -> None:
    """The two facades have equal signatures, which another test demands of them; their bodies differ."""
    found = repeated({one.place: one.text for one in modules()})

    assert [one for one in found if not re.fullmatch(r"blocking\.py:\d+ = engine\.py:\d+", one)] == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda lines: lines, ["a:1 = b:2"]),
        (lambda lines: [f"  {line}" for line in lines], ["a:1 = b:2"]),
        (lambda lines: [*lines[:3], "", "# why", *lines[3:]], ["a:1 = b:2"]),
        (lambda lines: [*lines[:3], "other = 1", *lines[3:]], []),
        (lambda lines: lines[:5], []),
        (lambda lines: [f"import {line[0]}" for line in lines], []),
    ],
)
def test_a_repetition_is_seen_whatever_its_indentation(change: object, found: Sequence[str]) -> None:
    lines = [f"{name} = {number}" for number, name in enumerate("pqrstu")]
    assert callable(change)
    copied: Iterable[str] = change(lines)

    assert repeated({"a": "\n".join(lines), "b": "\n".join(["if x:", *(f"    {one}" for one in copied)])}) == found


def test_what_repeats_within_a_module_is_seen_too() -> None:
    lines = [f"{name} = {number}" for number, name in enumerate("pqrstu")]

    assert repeated({"a": "\n".join([*lines, *lines])}) == ["a:1 = a:7"]
