"""Promptuary: the context and memory engine.

A message points at files, folders, diffs, commits, pages and symbols; Promptuary fetches exactly these, safely, fits
them into the model's window and says what went in, what was cut and why.

The names below are the public interface. Each is imported when it is first used, so importing the package is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from promptuary._version import __version__

if TYPE_CHECKING:
    from promptuary.config.settings import Settings, SettingsOptions
    from promptuary.core.blocks import Block, Detail, Passage, Source, Trust
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
    from promptuary.core.search import (
        ChunksEmbedded,
        FilesSkipped,
        FilesSynced,
        FilesUnparsed,
        Filters,
        Folder,
        FolderHeld,
        FolderStatus,
        Hit,
        IgnoreRulesCut,
        IndexBusy,
        IndexCounts,
        IndexRebuilt,
        IndexStatus,
        IndexUpdate,
        NotReranked,
        SearchedByWordsOnly,
        SearchNote,
        SearchQuery,
        SearchResult,
        SyncReport,
        UpdateFailed,
        WatchModeChanged,
        Why,
        note_text,
    )
    from promptuary.core.threads import AttachmentList, Drift, HistoryStats, Replay, TrackedFile
    from promptuary.engine import AsyncSearch, AsyncThreads, Promptuary
    from promptuary.layers.static import StaticContent
    from promptuary.references.scan import scan
    from promptuary.threads.turn import Turn
    from promptuary.tokens import Counter

_HOMES = {
    "AsyncSearch": "engine",
    "AsyncThreads": "engine",
    "Attachment": "core.messages",
    "AttachmentList": "core.threads",
    "Between": "core.layers",
    "Block": "core.blocks",
    "Changed": "core.layers",
    "ChatModel": "core.ports.models",
    "ChunksEmbedded": "core.search",
    "Code": "core.errors",
    "Completion": "core.references",
    "ConfigError": "core.errors",
    "ConflictError": "core.errors",
    "Counter": "tokens",
    "Detail": "core.blocks",
    "Drift": "core.threads",
    "Embedder": "core.ports.models",
    "Expansion": "core.expansion",
    "Failure": "core.receipts",
    "FilesSkipped": "core.search",
    "FilesSynced": "core.search",
    "FilesUnparsed": "core.search",
    "Filters": "core.search",
    "Folder": "core.search",
    "FolderHeld": "core.search",
    "FolderStatus": "core.search",
    "Hit": "core.search",
    "HookRun": "core.receipts",
    "Incoming": "core.layers",
    "IgnoreRulesCut": "core.search",
    "IndexBusy": "core.search",
    "IndexCounts": "core.search",
    "IndexRebuilt": "core.search",
    "IndexStatus": "core.search",
    "IndexUpdate": "core.search",
    "Item": "core.messages",
    "Layer": "core.layers",
    "LayerContext": "core.layers",
    "LineRange": "core.references",
    "MenuItem": "core.references",
    "Message": "core.messages",
    "Omitted": "core.layers",
    "Outcome": "core.expansion",
    "Passage": "core.blocks",
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
    "Replay": "core.threads",
    "Reply": "core.layers",
    "SearchNote": "core.search",
    "SearchQuery": "core.search",
    "SearchResult": "core.search",
    "NotReranked": "core.search",
    "SearchedByWordsOnly": "core.search",
    "Settings": "config.settings",
    "SettingsOptions": "config.settings",
    "Slot": "core.layers",
    "Source": "core.blocks",
    "SourceError": "core.errors",
    "Spend": "core.expansion",
    "StaticContent": "layers.static",
    "HistoryStats": "core.threads",
    "StorageError": "core.errors",
    "SyncReport": "core.search",
    "ThreadInfo": "core.ports.threads",
    "ToolCall": "core.messages",
    "TrackedFile": "core.threads",
    "Trust": "core.blocks",
    "Turn": "threads.turn",
    "TurnRecord": "core.ports.threads",
    "UpdateFailed": "core.search",
    "WatchModeChanged": "core.search",
    "Why": "core.search",
    "format_reference": "core.references",
    "note_text": "core.search",
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
    "ChunksEmbedded",
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
    "FilesSkipped",
    "FilesSynced",
    "FilesUnparsed",
    "Filters",
    "Folder",
    "FolderHeld",
    "FolderStatus",
    "HistoryStats",
    "Hit",
    "HookRun",
    "IgnoreRulesCut",
    "Incoming",
    "IndexBusy",
    "IndexCounts",
    "IndexRebuilt",
    "IndexStatus",
    "IndexUpdate",
    "Item",
    "Layer",
    "LayerContext",
    "LineRange",
    "MenuItem",
    "Message",
    "NotReranked",
    "Omitted",
    "Outcome",
    "Passage",
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
    "SearchNote",
    "SearchQuery",
    "SearchResult",
    "SearchedByWordsOnly",
    "Settings",
    "SettingsOptions",
    "Slot",
    "Source",
    "SourceError",
    "Spend",
    "StaticContent",
    "StorageError",
    "SyncReport",
    "ThreadInfo",
    "ToolCall",
    "TrackedFile",
    "Trust",
    "Turn",
    "TurnRecord",
    "UpdateFailed",
    "WatchModeChanged",
    "Why",
    "__version__",
    "format_reference",
    "note_text",
    "scan",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
