"""Promptuary: the context and memory engine.

A message points at files, folders, diffs, commits, pages and symbols; Promptuary fetches exactly these, safely, fits
them into the model's window and says what went in, what was cut and why.

The names below are the public interface. Each is imported when it is first used, so importing the package is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from promptuary._version import __version__

if TYPE_CHECKING:
    from promptuary.config.settings import Settings
    from promptuary.context.history import Stats
    from promptuary.core.blocks import Block, Detail, Source, Trust
    from promptuary.core.errors import Code, ConfigError, ConflictError, PromptuaryError, SourceError, StorageError
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
    from promptuary.core.messages import Attachment, Item, Message, Prompt, Replacement, ToolCall
    from promptuary.core.ports.models import ChatModel, Embedder
    from promptuary.core.ports.threads import ThreadInfo, TurnRecord
    from promptuary.core.principals import Principal
    from promptuary.core.receipts import Failure, HookRun, Receipt, ReceiptEntry
    from promptuary.core.references import Completion, LineRange, MenuItem, Reference, format_reference
    from promptuary.core.search import Filters, Folder, Hit, SearchQuery, SearchResult, Why
    from promptuary.engine import AsyncSearch, AsyncThreads, Promptuary
    from promptuary.layers.static import StaticContent
    from promptuary.layers.tracked.layer import Line
    from promptuary.references.scan import scan
    from promptuary.threads.attachments import AttachmentList
    from promptuary.threads.ledger import Drift, Replay
    from promptuary.threads.turn import Turn
    from promptuary.tokens import Counter

_HOMES = {
    "AsyncSearch": "engine",
    "AsyncThreads": "engine",
    "Attachment": "core.messages",
    "AttachmentList": "threads.attachments",
    "Between": "core.layers",
    "Block": "core.blocks",
    "Changed": "core.layers",
    "ChatModel": "core.ports.models",
    "Code": "core.errors",
    "Completion": "core.references",
    "ConfigError": "core.errors",
    "ConflictError": "core.errors",
    "Counter": "tokens",
    "Detail": "core.blocks",
    "Drift": "threads.ledger",
    "Embedder": "core.ports.models",
    "Expansion": "core.expansion",
    "Failure": "core.receipts",
    "Filters": "core.search",
    "Folder": "core.search",
    "Hit": "core.search",
    "HookRun": "core.receipts",
    "Incoming": "core.layers",
    "Item": "core.messages",
    "Layer": "core.layers",
    "LayerContext": "core.layers",
    "Line": "layers.tracked.layer",
    "LineRange": "core.references",
    "MenuItem": "core.references",
    "Message": "core.messages",
    "Omitted": "core.layers",
    "Outcome": "core.expansion",
    "Principal": "core.principals",
    "Prompt": "core.messages",
    "Promptuary": "engine",
    "PromptuaryError": "core.errors",
    "Recall": "core.layers",
    "RecallRequest": "core.layers",
    "Receipt": "core.receipts",
    "ReceiptEntry": "core.receipts",
    "Reference": "core.references",
    "Replacement": "core.messages",
    "Replay": "threads.ledger",
    "Reply": "core.layers",
    "SearchQuery": "core.search",
    "SearchResult": "core.search",
    "Settings": "config.settings",
    "Slot": "core.layers",
    "Source": "core.blocks",
    "SourceError": "core.errors",
    "Spend": "core.expansion",
    "StaticContent": "layers.static",
    "Stats": "context.history",
    "StorageError": "core.errors",
    "ThreadInfo": "core.ports.threads",
    "ToolCall": "core.messages",
    "Trust": "core.blocks",
    "Turn": "threads.turn",
    "TurnRecord": "core.ports.threads",
    "Why": "core.search",
    "format_reference": "core.references",
    "scan": "references.scan",
}

__all__ = [
    "AsyncSearch",
    "AsyncThreads",
    "Attachment",
    "AttachmentList",
    "Between",
    "Block",
    "Changed",
    "ChatModel",
    "Code",
    "Completion",
    "ConfigError",
    "ConflictError",
    "Counter",
    "Detail",
    "Drift",
    "Embedder",
    "Expansion",
    "Failure",
    "Filters",
    "Folder",
    "Hit",
    "HookRun",
    "Incoming",
    "Item",
    "Layer",
    "LayerContext",
    "Line",
    "LineRange",
    "MenuItem",
    "Message",
    "Omitted",
    "Outcome",
    "Principal",
    "Prompt",
    "Promptuary",
    "PromptuaryError",
    "Recall",
    "RecallRequest",
    "Receipt",
    "ReceiptEntry",
    "Reference",
    "Replacement",
    "Replay",
    "Reply",
    "SearchQuery",
    "SearchResult",
    "Settings",
    "Slot",
    "Source",
    "SourceError",
    "Spend",
    "StaticContent",
    "Stats",
    "StorageError",
    "ThreadInfo",
    "ToolCall",
    "Trust",
    "Turn",
    "TurnRecord",
    "Why",
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
