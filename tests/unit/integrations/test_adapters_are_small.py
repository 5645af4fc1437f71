"""An adapter is a thin layer: what it needs is in the public API, and little is left to do."""

import ast
from pathlib import Path

import pytest

from promptuary import integrations

ADAPTERS = sorted(Path(integrations.__file__).parent.glob("*.py"))
MOST_LINES = 160
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.stem)
def test_an_adapter_has_few_lines_of_code(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = {number for number, line in enumerate(text.splitlines(), 1) if line.strip() and line.strip()[0] != "#"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            said = node.body[0]
            lines -= set(range(said.lineno, (said.end_lineno or said.lineno) + 1))

    assert len(lines) <= MOST_LINES
