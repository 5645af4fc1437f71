"""The public interface has docstrings, and what a docstring names exists: modules, and words that can only be names.

Only what stands in double backticks is looked at. A single word must be a name in its own module, a module's name or a
word of the language; so a docstring does not outlive a rename.
"""

import ast
import builtins
import inspect
import keyword
import re
from collections.abc import Collection, Iterator
from functools import cache
from types import ModuleType

import pytest

import promptuary
from promptuary import blocking, engine
from tests.architecture.source import Module, modules, names, rooms, walk

NO_MODULES = {
    "context.state",  # the layer's context
    "core.fileMode",  # settings of git
    "server.db",  # files
    "state.db",
    "core.quotePath",
    "core.worktree",
    "promptuary.embedders",  # groups of entry points
    "promptuary.layers",
    "promptuary.toml",
}
"""What looks like a module of ours and is something else."""

WORDS = {
    *(
        "conf",
        "configurat",
        "configuration",
        "debug",
        "debugging",
        "polici",
        "policies",
        "releas",
        "releases",
        "releasing",
    ),
    *("developer", "message", "parse_url", "py", "snake_case", "system", "uc", "withheld", "xml"),
}
"""Words that stand for themselves: examples, roles, formats."""


def undocumented(home: ModuleType) -> Iterator[str]:
    """Yield the public names of a module, and those of its classes, that have no docstring."""
    for name in home.__all__:
        value = getattr(home, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield from [name] if not value.__doc__ or value.__doc__.startswith(f"{name}(") else []
        for attribute, member in vars(value).items() if inspect.isclass(value) else ():
            function = getattr(member, "__func__", getattr(member, "fget", member))
            if not attribute.startswith("_") and inspect.isfunction(function) and not function.__doc__:
                yield f"{name}.{attribute}"


@pytest.mark.parametrize("home", [promptuary, engine, blocking])
def test_everything_public_has_a_docstring(home: ModuleType) -> None:
    assert list(undocumented(home)) == []


def test_every_module_and_name_in_a_docstring_exists() -> None:
    assert sorted({(one.name, token) for one in modules() for token in missing(one)}) == []


def missing(module: Module) -> Iterator[str]:
    """Yield what the docstrings of a module name and is nowhere."""
    named = [token for text in docstrings(module.tree) for token in re.findall(r"``([^`]+)``", text)]
    unknown = [token for token in named if not _exists(token, everywhere())]
    own = identifiers(module.tree) if unknown else set()
    yield from (token for token in unknown if not _exists(token, own))


def _exists(token: str, known: Collection[str]) -> bool:
    plain = token.removesuffix("()").removesuffix("/")
    if token in NO_MODULES:
        return True
    if re.fullmatch(r"[a-z_]+", plain) and "/" not in token:
        return plain in known or hasattr(builtins, plain) or keyword.iskeyword(plain)
    if re.fullmatch(r"[A-Za-z_]+([./][A-Za-z_0-9]+)*", plain):
        parts = re.split(r"[./]", plain.removeprefix("promptuary.").removeprefix("promptuary/"))
        ours = plain.startswith(("promptuary.", "promptuary/")) or parts[0] in rooms()
        return not ours or is_there([one for one in parts if one != "py"])
    return True


def is_there(parts: list[str]) -> bool:
    """Tell whether these lead to a module, or to something that one defines."""
    for length in range(len(parts), -1, -1):
        name = ".".join(["promptuary", *parts[:length]])
        if name in names():
            return length == len(parts) or parts[length] in defined(name)
    return False


def defined(name: str) -> set[str]:
    """Return what a module has at its top."""
    tree = trees()[name]
    found = set(promptuary.__all__) if name == "promptuary" else set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            found |= {target.id} if isinstance(target, ast.Name) else set()
    return found


@cache
def trees() -> dict[str, ast.Module]:
    """Return every module by its name."""
    return {one.name: one.tree for one in modules()}


@cache
def everywhere() -> frozenset[str]:
    """Return what may be named in any module: modules, what they have at their tops, and words."""
    tops = {name for one in modules() for name in defined(one.name)}
    return frozenset(tops | {one.rpartition(".")[2] for one in names()} | WORDS)


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield every text that stands alone: of modules, classes, functions, and below constants and fields."""
    for node in walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def identifiers(tree: ast.Module) -> set[str]:
    """Return every name that a module uses or makes, and every text in it that is a name."""
    found: set[str] = set()
    said = {id(node.value) for node in walk(tree) if isinstance(node, ast.Expr)}
    for node in walk(tree):
        match node:
            case ast.Name(name) | ast.Attribute(attr=name) | ast.arg(name) | ast.keyword(str(name)):
                found.add(name)
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                found.add(name)
            case ast.alias(name, other):
                found |= {*name.split("."), other or name}
            case ast.Constant(str(name)) if id(node) not in said:
                found.add(name)
            case _:
                pass
    return found


@pytest.mark.parametrize(
    ("token", "there"),
    [
        ("base.text", True),
        ("promptuary.base.text", True),
        ("base/text", True),
        ("base/", True),
        ("base.text.one_line", True),
        ("base.text.two_lines", False),
        ("promptuary.Promptuary", True),
        ("promptuary.Nothing", False),
        ("workspace.pages", False),
        ("value", True),
        ("tracked_reading", False),
        ("os.path.join", True),
        ("src/app.py", True),
        ("len", True),
        ("a b", True),
    ],
)
def test_a_name_is_found_where_it_is(token: str, there: bool) -> None:
    source = f'"""See ``{token}``."""\nvalue = 1\n'
    module = Module("m", "m.py", modules()[0].path, source, ast.parse(source))

    assert list(missing(module)) == ([] if there else [token])
