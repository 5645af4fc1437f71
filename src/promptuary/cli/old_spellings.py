"""Spellings of earlier versions: each exits with 2, and names the one that replaced it."""

from collections.abc import Mapping
from typing import Final

OLD_COMMANDS: Final[Mapping[str, str]] = {
    "abandon": "thread abandon",
    "adopt": "doctor --adopt",
    "context tokens": "context list",
    "memory restore": "memory archive --undo ID",
    "session create": "thread create NAME",
    "session list": "thread limits",
    "session show": "thread limits NAME",
    "session refresh": "thread refresh NAME",
    "session archive": "thread archive NAME",
    "session restore": "thread archive --undo NAME",
    "session rm": "thread rm NAME",
    "session audit": "thread audit SOURCE",
    "session replay": "thread replay --thread NAME",
    "session prune": "thread prune --older-than AGE",
    "session forget": "thread forget FILE",
    "session": "thread --help",
}
"""Commands and actions."""

OLD_FLAGS: Final[Mapping[str, str]] = {
    "watch --once": "promptuary index",
    "complete --max": "--limit N",
    "search --per-file": "--passages N",
    "expand --limit": "--share SHARE",
    "ask --limit": "--share SHARE",
    "chat --limit": "--share SHARE",
    "context --limit": "--share SHARE",
    "--warn": "--set warn_share=VALUE",
    "--history": "--set history_share=VALUE",
    "--compact": "--set compact_share=VALUE",
    "--compact-goal": "--set compact_goal_share=VALUE",
    "--files-base-dir": "--set file_reference_base_dir=VALUE",
    "--files-slot": "--set file_reference_slot=VALUE",
    "--files-max-size": "--set file_reference_max_file_size=VALUE",
    "--files-follow-symlinks": "--set file_reference_follow_symlinks=VALUE",
    "--files-extension": "--set file_reference_allowed_extensions=VALUE",
    "--files-scoring-model": "--set file_reference_scoring_model=VALUE",
    "--files-max": "--set file_reference_max_files=VALUE",
}
"""Flags, of one command or of all that had them. One that was spelled like its setting needs no row."""
