"""The kinds of references: one module for each, and the table of all."""

from collections.abc import Mapping

from promptuary.references.kinds import file, folder, git, glob, search, symbol, url
from promptuary.references.resolve_context import Kind

KINDS: Mapping[str, Kind] = {
    "commit": git.commit,
    "diff": git.diff,
    "file": file.resolve,
    "folder": folder.resolve,
    "git": git.history,
    "glob": glob.resolve,
    "memory": search.memory,
    "search": search.resolve,
    "staged": git.staged,
    "status": git.status,
    "symbol": symbol.resolve,
    "url": url.resolve,
}

__all__ = ["KINDS"]
