"""Names of folders with files of programs rather than people: the one list, in the parts that its users need."""

from typing import Final

VERSION_CONTROL: Final = frozenset({".git", ".hg", ".svn", ".jj", ".sl"})
"""Never listed, whatever an ignore file says."""

_CACHES: Final = frozenset(
    {
        *(".cache", ".eggs", ".gradle", ".mypy_cache", ".next", ".nox", ".pytest_cache", ".ruff_cache", ".terraform"),
        *(".tox", ".venv"),
    }
)
_PACKAGES: Final = frozenset({"__pycache__", "bower_components", "node_modules"})

HIDDEN_FOLDERS: Final = _CACHES | _PACKAGES | {"venv"}
"""Folders that are hidden outside git, unless a rule of an ignore file matches them."""

VENDORED_FOLDERS: Final = _PACKAGES | {"site-packages", "__snapshots__"}
"""Folders with files that were generated, or written elsewhere."""

TOOL_FOLDERS: Final = (
    VERSION_CONTROL
    | _CACHES
    | {
        *(".obsidian", ".trash", ".trashes", ".recycle", ".stversions", ".logseq", ".smart-env", ".makemd"),
        *(".idea", ".vs", ".fleet", ".settings", ".ipynb_checkpoints", ".hypothesis"),
        *(".nuxt", ".svelte-kit", ".parcel-cache", ".turbo", ".yarn", ".dart_tool"),
    }
)
"""Folders in which programs store their own files. People write in others with a dot, such as ``.github``."""
