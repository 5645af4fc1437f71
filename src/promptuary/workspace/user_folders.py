"""The person's own folders on this machine, outside every workspace: for state, for data and for caches."""

import hashlib
import os
from pathlib import Path


def state_folder() -> Path:
    """Return the folder for state that Promptuary keeps outside workspaces."""
    return _base("XDG_STATE_HOME", ".local/state") / "promptuary"


def data_folder() -> Path:
    """Return the folder for what the person had Promptuary fetch, such as models."""
    return _base("XDG_DATA_HOME", ".local/share") / "promptuary"


def cache_folder() -> Path:
    """Return the folder for caches, which can be rebuilt at any time."""
    return _base("XDG_CACHE_HOME", ".cache") / "promptuary"


def workspace_file(folder: Path, workspace: Path) -> Path:
    """Return the JSON file in ``folder`` that belongs to the workspace at ``workspace``."""
    return folder / f"{hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]}.json"


def _base(variable: str, fallback: str) -> Path:
    chosen = os.environ.get(variable, "")
    # Unlike Path.home, it does not fail for a user without a home folder.
    return Path(chosen) if chosen.startswith("/") else Path(os.path.expanduser("~")) / fallback  # noqa: PTH111
