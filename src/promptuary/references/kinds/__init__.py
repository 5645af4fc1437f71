"""One module a kind of reference: each turns a reference into sources, or raises ``SourceError``.

A kind is a plain function. It may take its time (callers run it in a thread, with a deadline) and knows nothing of
budgets, details or other references.
"""

from collections.abc import Callable, Mapping, Sequence

from promptuary.core.blocks import Source
from promptuary.core.references import Reference
from promptuary.references.kinds import file, folder, git, glob, search, symbol, url
from promptuary.references.resolve_context import Desk

Kind = Callable[[Reference, Desk], Sequence[Source]]
"""Fetches what a reference points at."""

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

__all__ = ["KINDS", "Kind"]
