"""Promptuary: the context and memory engine.

A message points at files, folders, diffs, commits, pages and symbols; Promptuary fetches exactly these, safely, fits
them into the model's window and says what went in, what was cut and why.

The names below are all there is to use; each is imported when first asked for, so that importing the package is free.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from promptuary._version import __version__

if TYPE_CHECKING:
    from promptuary.config import Settings
    from promptuary.core.blocks import Block, Detail, Source, Trust
    from promptuary.core.errors import Code, ConfigError, PromptuaryError, SourceError
    from promptuary.core.expansion import Expansion, Outcome, Spend
    from promptuary.core.messages import Message
    from promptuary.core.references import LineRange, Reference, format_reference
    from promptuary.engine import Completion, Item, Promptuary
    from promptuary.references.scan import scan
    from promptuary.tokens import Counter

_HOMES = {
    "Block": "core.blocks",
    "Code": "core.errors",
    "Completion": "engine",
    "ConfigError": "core.errors",
    "Counter": "tokens",
    "Detail": "core.blocks",
    "Expansion": "core.expansion",
    "Item": "engine",
    "LineRange": "core.references",
    "Message": "core.messages",
    "Outcome": "core.expansion",
    "Promptuary": "engine",
    "PromptuaryError": "core.errors",
    "Reference": "core.references",
    "Settings": "config",
    "Source": "core.blocks",
    "SourceError": "core.errors",
    "Spend": "core.expansion",
    "Trust": "core.blocks",
    "format_reference": "core.references",
    "scan": "references.scan",
}

__all__ = [
    "Block",
    "Code",
    "Completion",
    "ConfigError",
    "Counter",
    "Detail",
    "Expansion",
    "Item",
    "LineRange",
    "Message",
    "Outcome",
    "Promptuary",
    "PromptuaryError",
    "Reference",
    "Settings",
    "Source",
    "SourceError",
    "Spend",
    "Trust",
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
