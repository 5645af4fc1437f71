"""Who imports whom: the contracts of import-linter, and what it does not see."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

import promptuary
from promptuary.cli.command_table import COMMANDS
from promptuary.layers.plugins import GROUP
from promptuary.models.plugins import EMBEDDERS
from tests.architecture.source import ROOT, SRC, modules, names, walk

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

BY_STRING = {
    "promptuary": {f"promptuary.{home}" for home in promptuary._HOMES.values()},
    "promptuary.cli.main": {
        "promptuary.search.preload",
        *(command.module for command in COMMANDS),
    },
    "promptuary.references.kinds": {
        f"promptuary.references.kinds.{kind}"
        for kind in ("file", "folder", "git", "glob", "memory", "search", "server", "symbol", "url")
    },
    "promptuary.database.queries": set(),  # finds the SQL of the package that asks
    # These load packages of others.
    "promptuary.base.concurrency": set(),
    "promptuary.search.outline.syntax_tree": set(),
}
"""Modules that import others by strings, which the linter does not see, and which ones of ours those are."""

NO_MODULES = {
    *(GROUP, EMBEDDERS, "promptuary.toml", "promptuary.json"),
    *("promptuary.absolute", "promptuary.page", "promptuary.request", "promptuary.session", "promptuary.token"),
    "promptuary.typed",
}
"""Groups of entry points, files and keys of a request's scope, which only look like modules."""


IMPORTED_BY = {
    "chat/": "prompt_toolkit rich",
    "config/api_keys.py": "keyring",
    "database/listening.py": "psycopg",
    "database/postgres.py": "psycopg psycopg_pool",
    "database/tenant.py": "psycopg",
    "gateways/": "aiohttp discord httpx markdown_it slack_bolt slack_sdk telegram yarl",
    "integrations/": "agents anthropic langchain langchain_core langgraph llm pydantic_ai",
    "mcp/": "mcp mcp_types pydantic uvicorn",
    "models/": "numpy pydantic_ai tokenizers",
    "present/why.py": "rich",
    "server/mcp_sessions.py": "mcp",
    "server/page/layout.py": "jinja2 markdown_it markupsafe nh3",
    "server/serve.py": "uvicorn uvloop",
    "search/index/": "numpy tantivy turbovec",
    "search/outline/": "tree_sitter",
    "search/vectors/": "numpy",
    "tokens": "splintr",
    "tool_servers/": "anyio httpx2 mcp mcp_types pydantic",
    "workspace/": "charset_normalizer frizbee html_to_markdown httpcore2 httptools pypdfium2 selectolax watchfiles",
    "": "msgspec promptuary",
}
"""Who imports which package, for the type checker as well: an extra is known to its adapter alone."""


def test_a_package_is_imported_only_by_who_adapts_it() -> None:
    found = {
        f"{one.place} imports {package}"
        for one in modules()
        for package in packages(one.tree) - sys.stdlib_module_names
        if not any(one.place.startswith(place) and package in known.split() for place, known in IMPORTED_BY.items())
    }

    assert found == set()


def packages(tree: ast.Module) -> set[str]:
    """Return the packages from which a module imports, anywhere in it."""
    nodes = walk(tree)
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {
        name.partition(".")[0]
        for name in plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    }


def test_every_contract_of_the_linter_is_kept() -> None:
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    program = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    done = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def private_imports(tree: ast.Module) -> Iterator[str]:
    """Yield private names of other modules of ours that are imported, or reached through their module."""
    ours: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "promptuary":
            yield from (one.name for one in node.names if _is_private(one.name))
            ours |= {one.asname or one.name for one in node.names if f"{node.module}.{one.name}" in names()}
        if isinstance(node, ast.Import):
            ours |= {one.asname for one in node.names if one.asname and one.name.startswith("promptuary.")}
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from [node.attr] if node.value.id in ours and _is_private(node.attr) else []


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_no_private_name_is_imported_from_another_module() -> None:
    assert {one.name: found for one in modules() if (found := list(private_imports(one.tree)))} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from promptuary.base.text import _width", ["_width"]),
        ("from promptuary.base import text\ntext._width('')", ["_width"]),
        ("import promptuary.base.text as words\nwords._width('')", ["_width"]),
        ("from promptuary import __version__, _version\nself._width()", ["_version"]),
    ],
)
def test_a_private_name_is_seen_however_it_is_taken(source: str, found: list[str]) -> None:
    assert list(private_imports(ast.parse(source))) == found


def test_only_the_listed_modules_import_by_string_and_what_they_import_exists() -> None:
    importing = {
        one.name
        for one in modules()
        for node in walk(one.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {"import_module", "__import__"}
    }

    assert importing == set(BY_STRING)
    assert set().union(*BY_STRING.values()) <= names()


def test_every_string_that_is_the_name_of_a_module_names_one() -> None:
    strings = {
        node.value
        for one in modules()
        for node in walk(one.tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"promptuary(\.[a-z_]+)+", node.value)
    }

    assert strings - NO_MODULES <= names()
    assert "promptuary.search.preload" in strings


def test_the_program_starts_where_the_package_says() -> None:
    for target in PROJECT["project"]["scripts"].values():
        module, _, function = target.partition(":")

        assert find_spec(module)
        assert function in {
            node.name
            for one in modules()
            if one.name == module
            for node in one.tree.body
            if isinstance(node, ast.FunctionDef)
        }
