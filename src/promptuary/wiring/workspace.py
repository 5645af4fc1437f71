"""Opens a workspace as the settings say: what may be read there, and what may be fetched."""

from pathlib import Path

from promptuary.config.settings import Settings
from promptuary.workspace.disk.policy import ReadPolicy
from promptuary.workspace.web.policy import FetchPolicy
from promptuary.workspace.workspace import Workspace, open_workspace


def open_door(folder: Path, settings: Settings, current_folder: Path | None = None) -> Workspace:
    """Return the door of ``folder`` as ``settings`` open it; a person's paths count from ``current_folder`` first."""
    extensions = {
        one if one.startswith((".", "*")) else f".{one}" for one in map(str.lower, settings.allowed_extensions)
    }
    policy = ReadPolicy(
        max_bytes=settings.max_file_size,
        also=frozenset(extensions),
        allow_sensitive=frozenset(settings.allow_sensitive),
    )
    fetching = FetchPolicy(
        allow_hosts=frozenset(host.lower() for host in settings.allow_hosts), timeout=settings.fetch_timeout
    )
    return open_workspace(
        folder, policy, fetching, follow_symlinks=settings.follow_symlinks, current_folder=current_folder
    )
