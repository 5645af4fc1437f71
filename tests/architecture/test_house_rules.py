"""The rules of the house that a linter does not know."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import promptuary
from tests.architecture.source import ROOT, modules, walk

REASONS = {
    "each command loads its own surface": (
        "chat.chat chat.options chat.prompt.line_prompt chat.prompt.menu_prompt chat.session chat.terminal "
        "cli.agents.mcp_servers "
        "cli.main cli.terminal gateways.running hooks.hook mcp.transports "
        "server server.guard server.routes server.tokens"
    ),
    "a bot loads the client of its own platform": ("gateways.discord gateways.slack gateways.telegram"),
    "the current folder is first taken off the path": ("hooks.flags workspace.programs.utf8_mode"),
    "a message without references needs neither these nor JSON": ("base.table present.expansions present.search"),
    "only settings that name some have these": (
        "config.gateways config.named_models config.settings config.static_layers config.tool_servers"
    ),
    "a store is loaded when it is asked": "threads.store.forgetting",
    "a hook with notes and experiences needs no threads, no writeback and no import of notes": (
        "hooks.answers memory.transfer.transfer memory.writeback.statements "
        "threads.store.history_cache threads.store.store"
    ),
    "one model of many is chosen": (
        "models.named.fetched models.chat.anthropic_chat models.chat.openai_chat "
        "models.chat.pydantic_ai_chat models.chat.scripted_replies models.openai_embeddings "
        "models.rerank_endpoint models.onnx_folder models.onnx_reranker models.paired models.plugins"
    ),
    "only indexing and watching need these": ("search.chunks.chunker search.updater workspace.changes.watcher"),
    "most messages need neither git, nor a list of the files, nor the clipboard, nor documents": (
        "workspace.documents.chat_exports workspace.git.locate workspace.git.repository workspace.git.tracked "
        "workspace.listing.ignore workspace.listing.listing workspace.listing.walk workspace.matching.usage "
        "workspace.programs.clipboard workspace.documents.documents"
    ),
    "ssl and a client for HTTP load when something is fetched": (
        "workspace.web.fetch workspace.web.http workspace.documents.pages models.http"
    ),
    "the package of MCP is an extra, and heavy": "server.mcp_sessions tool_servers.connection",
    "most commands have no server": "cli.at_server",
    "the driver of PostgreSQL is an extra": "database.tenant search.index.postgres.index",
}
LOADED_ON_USE = {f"promptuary.{module}": reason for reason, found in REASONS.items() for module in found.split()}
"""What is imported inside a function, and why. Shrinks."""

MODULES_THAT_TOUCH = {"httpcore2", "shutil", "socket", "subprocess", "tempfile", "urllib.request"}
CALLS_THAT_TOUCH = {
    *(
        "chmod",
        "link",
        "listdir",
        "makedirs",
        "mkdir",
        "open",
        "popen",
        "posix_spawn",
        "remove",
        "removedirs",
        "rename",
    ),
    *("replace", "rmdir", "scandir", "symlink", "system", "truncate", "unlink", "utime", "walk"),
}
"""Functions of ``os``."""
METHODS_THAT_TOUCH = {
    *("glob", "hardlink_to", "iterdir", "mkdir", "read_bytes", "read_text", "rglob", "rmdir", "symlink_to"),
    *("unlink", "write_bytes", "write_text"),
}
"""Methods of a path."""
TOUCHING = {
    "cli/main.py": {"open", "os.open"},  # points a closed stream at nothing
    "models/file_hashes.py": {".mkdir", ".read_bytes"},  # the user's cache
    "models/named/local_files.py": {".glob", ".mkdir"},  # a folder of the user, copied to the user's models
    "models/named/store.py": {".glob", ".mkdir", ".read_bytes", ".rglob", ".rmdir", ".unlink"},  # the user's models
    "models/onnx_cache.py": {".glob", ".mkdir", ".read_bytes", ".read_text", ".unlink"},  # the user's cache
    "models/onnx_folder.py": {".glob"},  # a folder of the user with a model
    "models/onnx_session.py": {".read_bytes"},  # the weights of a package or of such a folder
    "server/page/static.py": {".read_bytes"},  # files of this package
}
"""What is outside of every workspace, and who touches it."""


def test_our_own_modules_are_imported_at_the_top() -> None:
    inner = {
        node.module
        for one in modules()
        if one.name != "promptuary.app"  # opens each service on first use
        for function in walk(one.tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("promptuary")
    }

    assert inner == set(LOADED_ON_USE)


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


NOT_FOR_EVERY_MESSAGE = (
    "asyncio",
    "promptuary.experiences.values",
    "promptuary.base.messages",
    "promptuary.memory.values",
    "promptuary.search.values",
    "promptuary.engine",
    "promptuary.layers",
    "promptuary.references.completion",
    "promptuary.search.index",
    "promptuary.memory.store",
    "promptuary.database",
    "promptuary.threads",
    "promptuary.workspace.git",
    "promptuary.workspace.listing.ignore",
    "promptuary.workspace.listing.listing",
    "promptuary.workspace.listing.walk",
    "promptuary.workspace.web.fetch",
    "shutil",
    "sqlite3",
    "subprocess",
    "tomllib",
)
NOT_WITHOUT_REFERENCES = (
    "json",
    "promptuary.references.render",
    "promptuary.base.table",
    "promptuary.references.kinds",
    "promptuary.references.resolve",
    "promptuary.workspace.matching",
    "splintr",
)


@pytest.mark.parametrize(
    ("message", "spared"),
    [("hello", NOT_FOR_EVERY_MESSAGE + NOT_WITHOUT_REFERENCES), ("@file:note.txt", NOT_FOR_EVERY_MESSAGE)],
)
def test_an_expansion_loads_only_what_its_message_needs(message: str, spared: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("one line\n")
    program = f"import sys; from promptuary.cli.main import main; main(['expand', {message!r}])\n"
    program += "print(*sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True)

    loaded = set(done.stderr.splitlines()[-1].split())
    assert "promptuary.blocking" in loaded
    assert sorted(name for name in loaded for one in spared if name == one or name.startswith(f"{one}.")) == []


def touching(tree: ast.Module) -> Iterator[str]:
    """Yield what opens files, starts programs or connects, by the names that it has in the standard library."""
    for node in walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in MODULES_THAT_TOUCH)
        if isinstance(node, ast.ImportFrom):
            yield from [node.module] if node.module in MODULES_THAT_TOUCH else []
            yield from (one.name for one in node.names if node.module == "os" and one.name in CALLS_THAT_TOUCH)
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            owner, _, last = name.rpartition(".")
            yield from [name] if name == "open" or (owner == "os" and last in CALLS_THAT_TOUCH) else []
            yield from [f".{last}"] if owner and last in METHODS_THAT_TOUCH else []


def test_only_the_door_touches_files_programs_and_sockets() -> None:
    """``test_the_door.py`` holds this by what happens; this also sees what no test runs."""
    found = {
        one.place: names
        for one in modules()
        if not one.place.startswith(("workspace/", "testing/", "database/", "memory/store/", "search/index/"))
        and one.place != "base/durable.py"
        if (names := set(touching(one.tree)))
    }

    assert found == TOUCHING


@pytest.mark.parametrize(
    "source",
    [
        "open(path)",
        "import subprocess",
        "from socket import socket",
        "import os\nos.open(path, 0)",
        "from os import listdir",
        "os.system('true')",
        "path.read_text()",
        "Path(path).iterdir()",
        "path.unlink()",
    ],
)
def test_what_touches_is_seen_by_its_name(source: str) -> None:
    assert list(touching(ast.parse(source)))


def test_every_direct_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    explained = (ROOT / "docs" / "decisions" / "dependencies.md").read_text(encoding="utf-8")
    names = [*project["dependencies"], *project["optional-dependencies"]["languages"][:1]]
    names += project["optional-dependencies"]["embeddings"]

    assert [name for name in names if f"`{re.split('[>=]', name)[0]}`" not in explained] == []
