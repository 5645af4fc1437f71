"""The kinds of references: one module for each, imported when a message names it, and the table of all."""

from collections.abc import Mapping, Sequence
from importlib import import_module

from promptuary.base.blocks import Source
from promptuary.base.references import Reference
from promptuary.references.resolve_context import Kind, ResolveContext


def _kind(module: str, function: str = "resolve") -> Kind:
    """Return a kind that imports its module when called: most messages use one or two kinds, or none."""

    def resolve(reference: Reference, context: ResolveContext) -> Sequence[Source]:
        resolver: Kind = getattr(import_module(f"{__name__}.{module}"), function)
        return resolver(reference, context)

    return resolve


KINDS: Mapping[str, Kind] = {
    "clipboard": _kind("clipboard"),
    "commit": _kind("git", "commit"),
    "diff": _kind("git", "diff"),
    "file": _kind("file"),
    "folder": _kind("folder"),
    "git": _kind("git", "history"),
    "glob": _kind("glob"),
    "memory": _kind("memory"),
    "search": _kind("search"),
    "staged": _kind("git", "staged"),
    "status": _kind("git", "status"),
    "symbol": _kind("symbol"),
    "url": _kind("url"),
}

SERVER: Kind = _kind("server")
"""The kind of every MCP server of the person, whose name is that of the kind."""

__all__ = ["KINDS", "SERVER"]
