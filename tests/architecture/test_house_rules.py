"""The rules of the house that a linter does not know."""

import ast
import re
import subprocess
import sys
import tomllib

import pytest

import promptuary
from tests.architecture.source import ROOT, modules

LOADED_ON_USE = {
    "promptuary.core.json",
    "promptuary.core.references",
    "promptuary.models.openai_embeddings",
    "promptuary.plugins",
    "promptuary.references",
    "promptuary.references.completion.sources",
    "promptuary.search.chunks.chunker",
    "promptuary.search.updater",
    "promptuary.wiring.search",
    "promptuary.wiring.threads",
    "promptuary.workspace.changes.watcher",
    "promptuary.workspace.git.repository",
    "promptuary.workspace.web.fetch",
    "promptuary.workspace.web.http",
    "promptuary.workspace.web.pages",
    "promptuary.workspace.web.post",
}
"""What is imported inside a function, because most starts of the program do without it."""


def test_every_module_says_what_it_is() -> None:
    assert [one.name for one in modules() if not ast.get_docstring(one.tree)] == []


def test_our_own_modules_are_imported_at_the_top() -> None:
    """The exceptions are for start-up: pages load when one is fetched, threads when one is used."""
    inner = {
        node.module
        for one in modules()
        for function in ast.walk(one.tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("promptuary")
    }

    assert inner == LOADED_ON_USE


def test_what_can_be_used_is_what_is_declared_and_every_name_exists() -> None:
    assert promptuary.__all__ == sorted(promptuary.__all__)
    assert set(promptuary.__all__) - {"__version__"} == set(promptuary._HOMES)
    for name in promptuary.__all__:
        assert getattr(promptuary, name) is not None
    assert dir(promptuary) == promptuary.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = promptuary.Nothing


def test_the_version_is_told_without_loading_anything_heavy() -> None:
    program = "import sys; from promptuary.cli.main import main\ntry: main(['--version'])\nexcept SystemExit: pass\n"
    program += "print(*sorted(name for name in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()

    heavy = {"asyncio", "splintr", "frizbee", "httpcore2", "ssl", "selectolax", "pathspec", "subprocess", "tomllib"}
    assert not heavy & set(loaded)
    assert not [name for name in loaded if name.startswith(("promptuary.workspace", "promptuary.engine"))]


def test_only_the_door_touches_files_programs_and_sockets() -> None:
    """The configuration reads the user's own file; the command line reads its own streams."""
    forbidden = {"open", "subprocess", "socket", "shutil", "tempfile", "httpcore2"}
    allowed = {"cli/main.py"}  # points stdout at nothing when the pipe is closed
    found = []
    for module in modules():
        name = module.place
        if name.startswith(("workspace/", "testing/")) or name in allowed:
            continue
        for node in ast.walk(module.tree):
            used = {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
            if isinstance(node, ast.ImportFrom):
                used = {node.module or ""}
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                used = {node.func.id}
            found += [(name, one) for one in used & forbidden]

    assert found == []


def test_every_direct_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    explained = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    names = [*project["dependencies"], *project["optional-dependencies"]["languages"][:1]]
    names += project["optional-dependencies"]["embeddings"]

    assert [name for name in names if f"`{re.split('[>=]', name)[0]}`" not in explained] == []
