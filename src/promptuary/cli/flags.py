"""The flags of the settings, in groups. Imported on every start, so it imports as little as possible."""

import argparse
from collections.abc import Mapping
from typing import Any, Final

Flag = tuple[str, Mapping[str, Any]]
"""A flag and its keyword arguments for argparse."""

WINDOW_FLAGS: Final[Mapping[str, Flag]] = {
    "window": (
        "--window",
        {"metavar": "TOKENS", "help": "the model's context window (default: 128000)"},
    ),
    "model": ("--model", {"metavar": "NAME", "help": "use the window and vocabulary of this model: gpt-4o"}),
    "answer_model": (
        "--answer-model",
        {"metavar": "NAME", "help": "use the window and vocabulary of this configured chat model (default: none)"},
    ),
    "vocabulary": (
        "--vocabulary",
        {"metavar": "NAME", "help": "count tokens with this vocabulary (default: o200k_base)"},
    ),
    "warn_share": (
        "--warn",
        {"metavar": "SHARE", "help": "warn if attachments use more than this share of the window (default: 25%%)"},
    ),
    "limit_share": (
        "--share",
        {"metavar": "SHARE", "help": "limit attachments to this share of the window (default: 50%%)"},
    ),
    "budget": (
        "--budget",
        {"metavar": "TOKENS", "help": "fit what is attached into this many tokens (default: --share)"},
    ),
    "reply_reserve": (
        "--reserve",
        {"metavar": "TOKENS", "help": "in a thread: reserve this many tokens for the reply (default: 4096)"},
    ),
}
COMPACTION_FLAGS: Final[Mapping[str, Flag]] = {
    "history_share": (
        "--history",
        {
            "metavar": "SHARE",
            "help": "give the history at least this share of the unreserved window (default: 40%%)",
        },
    ),
    "compact_share": (
        "--compact",
        {"metavar": "SHARE", "help": "compact the history if it exceeds this share of the window (default: 70%%)"},
    ),
    "compact_goal_share": (
        "--compact-goal",
        {"metavar": "SHARE", "help": "compact it to this share of the window (default: 35%%)"},
    ),
    "compact_keep": (
        "--compact-keep",
        {"metavar": "COUNT", "help": "leave this many of the newest messages unchanged (default: 6)"},
    ),
    "shorten_over": (
        "--shorten-over",
        {"metavar": "TOKENS", "help": "shorten tool results and attachments over this size (default: 400)"},
    ),
    "shorten_to": ("--shorten-to", {"metavar": "TOKENS", "help": "shorten them to this size (default: 160)"}),
    "summary_tokens": ("--summary-tokens", {"metavar": "TOKENS", "help": "maximum size of a summary (default: 1500)"}),
    "summary_least": (
        "--summary-least",
        {"metavar": "TOKENS", "help": "size that a summary may have even above the goal (default: 300)"},
    ),
    "summary_input": (
        "--summary-input",
        {"metavar": "TOKENS", "help": "maximum input of the model that writes summaries (default: 32000)"},
    ),
    "summary_timeout": (
        "--summary-timeout",
        {"metavar": "SECONDS", "help": "timeout of the model that writes summaries (default: 30)"},
    ),
    "summary_model": (
        "--summary-model",
        {"metavar": "NAME", "help": "chat model that summarises a long history (default: none)"},
    ),
}
FETCHING_FLAGS: Final[Mapping[str, Flag]] = {
    "allow_hosts": (
        "--allow-host",
        {
            "metavar": "HOST",
            "action": "append",
            "help": "fetch from this host even if its address is private; repeatable",
        },
    ),
    "timeout": ("--timeout", {"metavar": "SECONDS", "help": "timeout of one reference (default: 30)"}),
    "fetch_timeout": ("--fetch-timeout", {"metavar": "SECONDS", "help": "timeout of one web page (default: 15)"}),
}
READING_FLAGS: Final[Mapping[str, Flag]] = {
    "allowed_extensions": (
        "--allow-extension",
        {"metavar": ".EXT", "action": "append", "help": "also read files with this extension; repeatable"},
    ),
    "allow_sensitive": (
        "--allow-sensitive",
        {
            "metavar": "NAME",
            "action": "append",
            "help": "read this file even if its name suggests secrets; repeatable",
        },
    ),
    "max_file_size": ("--max-file-size", {"metavar": "SIZE", "help": "maximum size of a file (default: 1MB)"}),
    "follow_symlinks": (
        "--follow-symlinks",
        {
            "action": argparse.BooleanOptionalAction,
            "help": "follow symlinks that stay inside the workspace (default: no)",
        },
    ),
}
INDEX_FLAGS: Final[Mapping[str, Flag]] = {
    "chunk_tokens": (
        "--chunk-tokens",
        {"metavar": "TOKENS", "help": "maximum size of an indexed chunk (default: 256)"},
    ),
    "chunk_overlap": (
        "--chunk-overlap",
        {"metavar": "TOKENS", "help": "overlap of neighbouring chunks (default: 32)"},
    ),
    "index_hidden": (
        "--index-hidden",
        {
            "action": argparse.BooleanOptionalAction,
            "help": "index hidden and generated files: .obsidian, lock files, minified code (default: no)",
        },
    ),
    "embedder": (
        "--embedder",
        {
            "metavar": "NAME",
            "help": "embed with auto, none, minilm, a model, onnx:FOLDER, endpoint or a plug-in (default: auto)",
        },
    ),
    "embed_url": ("--embed-url", {"metavar": "URL", "help": "OpenAI-compatible embedding endpoint, up to /embeddings"}),
    "embed_model": ("--embed-model", {"metavar": "NAME", "help": "model of the embedding endpoint"}),
    "embed_key": ("--embed-key", {"metavar": "VARIABLE", "help": "environment variable with its API key"}),
}
MODEL_FLAGS: Final[Mapping[str, Flag]] = {
    "model_url": ("--model-url", {"metavar": "URL", "help": "host to fetch models from, or a mirror of it"}),
}
RERANK_FLAGS: Final[Mapping[str, Flag]] = {
    "reranker": (
        "--reranker",
        {"metavar": "NAME", "help": "rerank with auto, none, a model, onnx:FOLDER or endpoint (default: auto)"},
    ),
    "rerank_url": ("--rerank-url", {"metavar": "URL", "help": "rerank endpoint, up to /rerank"}),
    "rerank_model": ("--rerank-model", {"metavar": "NAME", "help": "model of the rerank endpoint"}),
    "rerank_key": ("--rerank-key", {"metavar": "VARIABLE", "help": "environment variable with its API key"}),
    "rerank_timeout": (
        "--rerank-timeout",
        {"metavar": "SECONDS", "help": "skip the reranker if it takes longer (default: 5)"},
    ),
}
WATCH_FLAGS: Final[Mapping[str, Flag]] = {
    "watch_debounce": (
        "--watch-debounce",
        {"metavar": "SECONDS", "help": "wait for this long without changes before indexing (default: 0.2)"},
    ),
}
RECALL_FLAGS: Final[Mapping[str, Flag]] = {
    "recall_tokens": (
        "--recall",
        {"metavar": "TOKENS", "help": "in a thread: tokens for recalled passages, 0 for none (default: 2000)"},
    ),
}
FILE_KINDS: Final = ("markdown", "code", "text", "data")
"""A copy of ``core.search.FILE_KINDS``, because importing that takes longer than parsing the arguments."""
MEMORY_FLAGS: Final[Mapping[str, Flag]] = {
    "memory_folder": (
        "--memory-folder",
        {"metavar": "NAME", "help": "subfolder of the agent's notes; may contain {user} and {thread} (default: none)"},
    ),
    "memory_tokens": (
        "--memory-tokens",
        {"metavar": "N", "help": "maximum tokens of notes in a turn; 0 disables memory (default: 15360)"},
    ),
    "recall_mode": (
        "--recall-mode",
        {
            "metavar": "MODE",
            "help": "hybrid_async, or legacy_blocking to wait for recalled notes (default: hybrid_async)",
        },
    ),
    "recall_model": ("--recall-model", {"metavar": "NAME", "help": "chat model that selects notes (default: none)"}),
    "recall_timeout_ms": (
        "--recall-timeout-ms",
        {"metavar": "MS", "help": "timeout for selecting notes, in milliseconds (default: 1500)"},
    ),
    "recall_max_selected": (
        "--recall-max-selected",
        {"metavar": "COUNT", "help": "include at most this many full notes in a turn (default: 5)"},
    ),
    "recall_prompt": ("--recall-prompt", {"metavar": "TEXT", "help": "instructions for the model that selects notes"}),
    "writeback_wait_policy": (
        "--writeback-wait-policy",
        {"metavar": "POLICY", "help": "never_wait, or soft_drain to wait briefly for writeback (default: never_wait)"},
    ),
    "writeback_model": (
        "--writeback-model",
        {"metavar": "NAME", "help": "chat model that writes notes after a turn (default: none)"},
    ),
    "writeback_qa_prompt": (
        "--writeback-qa-prompt",
        {"metavar": "TEXT", "help": "instructions for its notes on the work"},
    ),
    "writeback_profile_prompt": (
        "--writeback-profile-prompt",
        {"metavar": "TEXT", "help": "instructions for its notes on the person"},
    ),
    "experiences": (
        "--experiences",
        {"action": argparse.BooleanOptionalAction, "help": "record experiences of finished turns (default: yes)"},
    ),
    "experience_tokens": (
        "--experience-tokens",
        {"metavar": "N", "help": "maximum tokens of experiences in a turn; 0 disables them (default: 400)"},
    ),
    "experience_model": (
        "--experience-model",
        {"metavar": "NAME", "help": "chat model that extracts experiences from turns (default: none)"},
    ),
}
LAYER_FLAGS: Final[Mapping[str, Flag]] = {
    "file_reference_base_dir": (
        "--files-base-dir",
        {"metavar": "FOLDER", "help": "base folder of paths after # (default: the workspace)"},
    ),
    "file_reference_slot": ("--files-slot", {"metavar": "N", "help": "slot of the tracked files (default: 350)"}),
    "file_reference_max_file_size": (
        "--files-max-size",
        {"metavar": "SIZE", "help": "maximum size of a tracked file (default: --max-file-size)"},
    ),
    "file_reference_follow_symlinks": (
        "--files-follow-symlinks",
        {"action": argparse.BooleanOptionalAction, "help": "track targets of symlinks (default: --follow-symlinks)"},
    ),
    "file_reference_allowed_extensions": (
        "--files-extension",
        {"metavar": ".EXT", "action": "append", "help": "track only files with this extension or name; repeatable"},
    ),
    "file_reference_scoring_model": (
        "--files-scoring-model",
        {"metavar": "NAME", "help": "chat model that scores the relevance of tracked files (default: none)"},
    ),
    "file_reference_max_files": (
        "--files-max",
        {"metavar": "COUNT", "help": "track at most this many files (default: 100)"},
    ),
    "instructions_folder": (
        "--instructions-folder",
        {"metavar": "FOLDER", "help": "read instruction files down to this folder (default: the workspace only)"},
    ),
    "instructions_slot": ("--instructions-slot", {"metavar": "N", "help": "slot of the instructions (default: 105)"}),
    "instructions_max_bytes": (
        "--instructions-max-bytes",
        {"metavar": "SIZE", "help": "maximum size of all instruction files (default: 32KB)"},
    ),
    "instructions_max_file_bytes": (
        "--instructions-max-file-bytes",
        {"metavar": "SIZE", "help": "maximum size of one instruction file (default: 32KB)"},
    ),
    "instructions_tag": (
        "--instructions-tag",
        {"metavar": "TAG", "help": "tag around each instruction file (default: instructions)"},
    ),
    "instructions_budget": (
        "--instructions-budget",
        {"metavar": "TOKENS", "help": "maximum tokens of instructions; 0 means what fits (default: 0)"},
    ),
}
SEARCH_FLAGS: Final[Mapping[str, Flag]] = {**INDEX_FLAGS, **MODEL_FLAGS, **RERANK_FLAGS, **WATCH_FLAGS, **RECALL_FLAGS}
SETTING_FLAGS: Final[Mapping[str, Flag]] = {
    **WINDOW_FLAGS,
    **COMPACTION_FLAGS,
    **FETCHING_FLAGS,
    **READING_FLAGS,
    **SEARCH_FLAGS,
    **MEMORY_FLAGS,
    **LAYER_FLAGS,
}
"""The flag of every setting."""
