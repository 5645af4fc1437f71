"""The person's own folders on this machine, outside every workspace: state that lasts and caches that need not."""

import os
from pathlib import Path


def state_folder() -> Path:
    """Return the folder for what Promptuary remembers outside workspaces."""
    base = os.environ.get("XDG_STATE_HOME", "")
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  (unlike Path.home, it does not fail for a user without one)
    return (Path(base) if base.startswith("/") else home / ".local" / "state") / "promptuary"


def cache_folder() -> Path:
    """Return the folder for what can be made again at any time."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  (as above)
    return (Path(base) if base.startswith("/") else home / ".cache") / "promptuary"
