"""The flags of settings. Imported on every start, so it imports as little as possible.

Only the settings that people change for one command have a flag; ``--set NAME=VALUE`` sets every other one. What they
mean is said once, in ``config.settings``.
"""

import argparse
from collections.abc import Mapping
from typing import Any, Final

_REPEATABLE: Final = {"action": "append"}
_SWITCH: Final = {"action": argparse.BooleanOptionalAction}

SETTING_FLAGS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "model": ("--model", {"metavar": "NAME"}),
    "answer_model": ("--answer-model", {"metavar": "NAME"}),
    "window": ("--window", {"metavar": "TOKENS"}),
    "limit_share": ("--share", {"metavar": "SHARE"}),
    "budget": ("--budget", {"metavar": "TOKENS"}),
    "reply_reserve": ("--reserve", {"metavar": "TOKENS"}),
    "allowed_extensions": ("--allow-extension", {"metavar": ".EXT", **_REPEATABLE}),
    "allow_sensitive": ("--allow-sensitive", {"metavar": "NAME", **_REPEATABLE}),
    "max_file_size": ("--max-file-size", {"metavar": "SIZE"}),
    "follow_symlinks": ("--follow-symlinks", _SWITCH),
    "allow_hosts": ("--allow-host", {"metavar": "HOST", **_REPEATABLE}),
    "embedder": ("--embedder", {"metavar": "NAME"}),
    "reranker": ("--reranker", {"metavar": "NAME"}),
    "recall_tokens": ("--recall", {"metavar": "TOKENS"}),
    "memory_folder": ("--memory-folder", {"metavar": "NAME"}),
    "experiences": ("--experiences", _SWITCH),
}
"""Settings with a flag of their own, and its arguments for argparse."""

TURN: Final = tuple(SETTING_FLAGS)
"""What a message and a turn depend on: everything."""
ANSWERED_TURN: Final = tuple(name for name in TURN if name not in {"model", "answer_model"})
"""What a turn depends on whose answering model determines the window and the vocabulary."""
READING: Final = ("allowed_extensions", "allow_sensitive", "max_file_size", "follow_symlinks")
INDEX: Final = (*READING, "embedder", "allow_hosts")
SEARCH: Final = (*INDEX, "reranker")
FILE_KINDS: Final = ("markdown", "code", "text", "data")
"""A copy of ``core.search.FILE_KINDS``, because importing that takes longer than parsing the arguments."""
