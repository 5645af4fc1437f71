"""The kinds of references: one module for each, and the table of all."""

from collections.abc import Mapping, Sequence

from promptuary.core.blocks import Source
from promptuary.core.references import Reference
from promptuary.references.kinds import file, folder, git, glob, memory, symbol, url
from promptuary.references.resolve_context import Kind, ResolveContext


def _search(reference: Reference, context: ResolveContext) -> Sequence[Source]:
    from promptuary.references.kinds import search  # noqa: PLC0415  (few messages search)

    return search.resolve(reference, context)


KINDS: Mapping[str, Kind] = {
    "commit": git.commit,
    "diff": git.diff,
    "file": file.resolve,
    "folder": folder.resolve,
    "git": git.history,
    "glob": glob.resolve,
    "memory": memory.resolve,
    "search": _search,
    "staged": git.staged,
    "status": git.status,
    "symbol": symbol.resolve,
    "url": url.resolve,
}

__all__ = ["KINDS"]
