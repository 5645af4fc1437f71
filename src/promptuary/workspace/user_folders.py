"""The person's own folders on this machine, outside every workspace: for state, for data and for caches."""

import hashlib
import os
from pathlib import Path


def state_folder() -> Path:
    """Return the folder for state outside workspaces."""
    return _base("XDG_STATE_HOME", ".local/state") / "promptuary"


def data_folder() -> Path:
    """Return the folder for the person's data: fetched models, and notes that follow the person."""
    return _base("XDG_DATA_HOME", ".local/share") / "promptuary"


def notes_folder() -> Path:
    """Return the folder of the notes about the person, which follow the person into every workspace."""
    return data_folder() / "memory"


def served_notes_folder(user: str) -> Path:
    """Return the folder of the notes about a user of the server, who is not the person that runs it."""
    name = hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return state_folder() / "people" / name / notes_folder().name


def cache_folder() -> Path:
    """Return the folder for caches, which can be rebuilt at any time."""
    return _base("XDG_CACHE_HOME", ".cache") / "promptuary"


def runtime_folder() -> Path:
    """Return the folder for sockets, which last as long as processes do."""
    chosen = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(chosen) / "promptuary" if chosen.startswith("/") else state_folder() / "run"


def make_folder(folder: Path) -> Path:
    """Return one of these folders, or one below, creating it with access for the user alone."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def workspace_file(folder: Path, workspace: Path) -> Path:
    """Return the JSON file in ``folder`` that belongs to the workspace at ``workspace``."""
    return folder / f"{hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]}.json"


def _base(variable: str, fallback: str) -> Path:
    chosen = os.environ.get(variable, "")
    # Unlike Path.home, it does not fail for a user without a home folder.
    return Path(chosen) if chosen.startswith("/") else Path(os.path.expanduser("~")) / fallback  # noqa: PTH111
