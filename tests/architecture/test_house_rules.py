"""The rules of the house that a linter does not know."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import promptuary

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MAX_LINES = 600
MAX_FUNCTION = 60


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src" / "promptuary")))
def test_a_module_is_small_and_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]

    assert text.count("\n") <= MAX_LINES
    assert ast.get_docstring(tree)
    assert [node.name for node in functions if (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src" / "promptuary")))
def test_our_own_modules_are_imported_at_the_top(path: Path) -> None:
    """The exceptions are for start-up: pages load when one is fetched, threads when one is used."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = [
        node.module
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("promptuary")
    ]

    pages = {f"promptuary.workspace.web.{name}" for name in ("fetch", "http", "pages", "convert")}
    used_by_some = {
        "promptuary.wiring.threads",
        "promptuary.wiring.search",
        "promptuary.search.updater",
        "promptuary.plugins",
    }
    used_by_some |= {"promptuary.references", "promptuary.references.completion.sources"}
    used_by_some |= {
        "promptuary.search.chunks.chunker",
        "promptuary.workspace.git.repository",
        "promptuary.workspace.changes.watcher",
    }
    assert set(inner) <= pages | used_by_some | {"promptuary.models.openai_embeddings", "promptuary.workspace.web.post"}


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
    for path in SOURCES:
        name = str(path.relative_to(ROOT / "src" / "promptuary"))
        if name.startswith(("workspace/", "testing/")) or name in allowed:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
