"""Promptuary: the context and memory engine.

A message points at files, folders, diffs, commits, pages and symbols; Promptuary fetches exactly these, safely, fits
them into the model's window and says what went in, what was cut and why.

The names below are all there is to use; each is imported when first asked for, so that importing the package is free.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from promptuary._version import __version__

if TYPE_CHECKING:
    from promptuary.config.settings import Settings
    from promptuary.core.blocks import Block, Detail, Source, Trust
    from promptuary.core.errors import Code, ConfigError, PromptuaryError, SourceError
    from promptuary.core.expansion import Expansion, Outcome, Spend
    from promptuary.core.layers import (
        Between,
        Changed,
        Incoming,
        Layer,
        LayerContext,
        Omitted,
        Recall,
        RecallRequest,
        Reply,
        Slot,
    )
    from promptuary.core.messages import Message
    from promptuary.core.ports.models import ChatModel, Embedder
    from promptuary.core.receipts import Receipt
    from promptuary.core.references import Completion, LineRange, MenuItem, Reference, format_reference
    from promptuary.core.search import Filters, Hit, SearchQuery, SearchResult
    from promptuary.engine import Promptuary
    from promptuary.layers.static import StaticContent
    from promptuary.references.scan import scan
    from promptuary.threads.turn import Turn
    from promptuary.tokens import Counter

_HOMES = {
    "Between": "core.layers",
    "Block": "core.blocks",
    "Changed": "core.layers",
    "ChatModel": "core.ports.models",
    "Code": "core.errors",
    "Completion": "core.references",
    "ConfigError": "core.errors",
    "Counter": "tokens",
    "Detail": "core.blocks",
    "Embedder": "core.ports.models",
    "Expansion": "core.expansion",
    "Filters": "core.search",
    "SearchResult": "core.search",
    "Hit": "core.search",
    "Incoming": "core.layers",
    "Layer": "core.layers",
    "LayerContext": "core.layers",
    "LineRange": "core.references",
    "MenuItem": "core.references",
    "Message": "core.messages",
    "Omitted": "core.layers",
    "Outcome": "core.expansion",
    "Promptuary": "engine",
    "PromptuaryError": "core.errors",
    "SearchQuery": "core.search",
    "Recall": "core.layers",
    "RecallRequest": "core.layers",
    "Receipt": "core.receipts",
    "Reference": "core.references",
    "Reply": "core.layers",
    "Settings": "config.settings",
    "Slot": "core.layers",
    "Source": "core.blocks",
    "SourceError": "core.errors",
    "Spend": "core.expansion",
    "StaticContent": "layers.static",
    "Trust": "core.blocks",
    "Turn": "threads.turn",
    "format_reference": "core.references",
    "scan": "references.scan",
}

__all__ = [
    "Between",
    "Block",
    "Changed",
    "ChatModel",
    "Code",
    "Completion",
    "ConfigError",
    "Counter",
    "Detail",
    "Embedder",
    "Expansion",
    "Filters",
    "Hit",
    "Incoming",
    "Layer",
    "LayerContext",
    "LineRange",
    "MenuItem",
    "Message",
    "Omitted",
    "Outcome",
    "Promptuary",
    "PromptuaryError",
    "Recall",
    "RecallRequest",
    "Receipt",
    "Reference",
    "Reply",
    "SearchQuery",
    "SearchResult",
    "Settings",
    "Slot",
    "Source",
    "SourceError",
    "Spend",
    "StaticContent",
    "Trust",
    "Turn",
    "__version__",
    "format_reference",
    "scan",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
